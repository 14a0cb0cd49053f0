//! The keys as `chela-config` declares them, and how the view of an agent leads to them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::SourceFile;
use super::{read, rust_files};

/// A key as it is declared.
pub struct ModelKey {
    pub owner: String,
    pub field: String,
    name: String,
    pub later: bool,
    /// The sections its type holds.
    pub leads_to: Vec<String>,
}

/// Every key, and what else of `chela-config` holds a section.
pub struct ConfigModel {
    pub keys: Vec<ModelKey>,
    /// By section, the fields of its type.
    parents: BTreeMap<String, BTreeSet<String>>,
    view: Vec<ViewField>,
}

/// A field of `AgentView`, with the keys it is made of.
struct ViewField {
    name: String,
    /// Each as the section it starts at and the names from there.
    paths: Vec<(&'static str, Vec<String>)>,
}

/// Fields of the view that a function of its own makes, with the keys it looks at.
const MADE: [(&str, &str); 8] = [
    ("is_default", "default"),
    ("workspace", "workspace"),
    ("agent_dir", "agentDir"),
    ("model_aliases", "models.alias"),
    ("params", "params"),
    ("params", "models.params"),
    ("skills_limits", "skillsLimits.maxSkillsPromptChars"),
    ("user_timezone", "userTimezone"),
];

impl ConfigModel {
    pub fn read(source: &Path) -> Self {
        let texts: Vec<String> = rust_files(source)
            .iter()
            .filter(|file| !file.ends_with("tests.rs"))
            .map(|file| read(file))
            .collect();
        let declared: Vec<Declared> = texts.iter().flat_map(|text| declared_keys(text)).collect();
        let sections: BTreeSet<String> = declared.iter().map(|key| key.owner.clone()).collect();
        let wrappers = wrappers(&texts, &sections);
        let leads_to = |of: &str| sections_in(of, &sections, &wrappers);
        let mut parents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (field, of) in texts.iter().flat_map(|text| typed_fields(text)) {
            for section in leads_to(of) {
                let fields = parents.entry(section).or_default();
                fields.insert(field.to_owned());
            }
        }
        Self {
            keys: declared
                .iter()
                .map(|key| ModelKey {
                    owner: key.owner.clone(),
                    field: key.field.clone(),
                    name: key.name.clone(),
                    later: key.later,
                    leads_to: leads_to(&key.of),
                })
                .collect(),
            parents,
            view: view_fields(&read(&source.join("view/build.rs"))),
        }
    }

    /// The fields whose type is this section.
    pub fn fields_of_type(&self, section: &str) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.parents.get(section).unwrap_or(&NONE)
    }

    /// The keys that are read as fields of an agent's view.
    pub fn read_through_view(&self, files: &[SourceFile]) -> BTreeSet<(&str, &str)> {
        let mut found = BTreeSet::new();
        for field in &self.view {
            let is_read = files.iter().any(|file| {
                file.reads(&field.name)
                    && (file.names.contains("view") || file.names.contains("AgentView"))
            });
            for (start, names) in field.paths.iter().filter(|_| is_read) {
                self.follow(start, names, &mut found);
            }
        }
        found
    }

    /// Every key on the way from a section.
    fn follow<'m>(
        &'m self,
        section: &str,
        names: &[String],
        found: &mut BTreeSet<(&'m str, &'m str)>,
    ) {
        let Some((name, rest)) = names.split_first() else {
            return;
        };
        let steps = self
            .keys
            .iter()
            .filter(|key| key.owner == section && key.name == *name);
        for key in steps {
            found.insert((&key.owner, &key.field));
            for inner in &key.leads_to {
                self.follow(inner, rest, found);
            }
        }
    }
}

struct Declared {
    owner: String,
    field: String,
    name: String,
    of: String,
    later: bool,
}

/// The keys of the `section!`s of a file.
fn declared_keys(text: &str) -> Vec<Declared> {
    let mut keys = Vec::new();
    let mut owner = String::new();
    let mut later = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("    struct ") {
            owner = name.trim_end_matches(" {").to_owned();
        } else if line == "}" {
            owner.clear();
        } else if line.starts_with("        [") {
            later = line.contains("later");
        } else if let Some((field, name, of)) = declared(line).filter(|_| !owner.is_empty()) {
            keys.push(Declared {
                owner: owner.clone(),
                field,
                name,
                of,
                later: std::mem::take(&mut later),
            });
        }
    }
    keys
}

/// The field of a line such as `action as "do": Option<AllowDeny>,`, its name in the file, and its
/// type.
fn declared(line: &str) -> Option<(String, String, String)> {
    let line = line.strip_prefix("        ")?;
    let (left, of) = line.split_once(": ")?;
    let (field, name) = match left.split_once(" as ") {
        Some((field, name)) => (field, name.trim_matches('"').to_owned()),
        None => (left, camel(left)),
    };
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let of = of.split(" = ").next().unwrap_or(of).to_owned();
    (!field.is_empty() && field.chars().all(is_name)).then(|| (field.to_owned(), name, of))
}

fn camel(snake: &str) -> String {
    let mut parts = snake.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| {
        let (head, tail) = part.split_at(part.len().min(1));
        name + &head.to_uppercase() + tail
    })
}

/// Choices that hold a section, such as a model's name or a chain of models.
fn wrappers(texts: &[String], sections: &BTreeSet<String>) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in texts {
        for part in text.split("pub enum ").skip(1) {
            let Some((name, rest)) = part.split_once(' ') else {
                continue;
            };
            let body = rest.split("\n}").next().unwrap_or_default();
            let held = words(body).filter(|word| sections.contains(*word));
            let name = name.split('<').next().unwrap_or(name).to_owned();
            found
                .entry(name)
                .or_default()
                .extend(held.map(str::to_owned));
        }
    }
    found
}

fn sections_in(
    of: &str,
    sections: &BTreeSet<String>,
    wrappers: &BTreeMap<String, Vec<String>>,
) -> Vec<String> {
    let mut found = Vec::new();
    for word in words(of) {
        if sections.contains(word) {
            found.push(word.to_owned());
        }
        found.extend(wrappers.get(word).into_iter().flatten().cloned());
    }
    found
}

/// Every `field: Type` of a file.
fn typed_fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("pub ");
        let (field, of) = line.split_once(": ")?;
        let field = field.split(" as ").next().unwrap_or(field);
        let is_field =
            !field.is_empty() && field.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        is_field.then(|| (field, of.split(" = ").next().unwrap_or(of)))
    })
}

/// The rows of `agent_view!`.
fn view_fields(text: &str) -> Vec<ViewField> {
    let table = text.split("agent_view! {").nth(1).unwrap_or_default();
    let table = table.split("\n}\n").next().unwrap_or_default();
    let table: String = table
        .lines()
        .filter(|line| !line.trim_start().starts_with("///"))
        .map(|line| format!("{line} "))
        .collect();
    let rows = table.split(';').filter_map(|row| {
        let row = row.rsplit("lookup| ").next().unwrap_or(row);
        let (left, made) = row.split_once(" = ")?;
        let (name, _) = left.trim().split_once(": ")?;
        Some(ViewField {
            name: name.to_owned(),
            paths: paths(name, made),
        })
    });
    rows.collect()
}

fn paths(name: &str, made: &str) -> Vec<(&'static str, Vec<String>)> {
    let mut found = Vec::new();
    let names = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
    let mut add = |path: &str, is_top: bool| match is_top {
        true => found.push(("Config", names(path))),
        false => {
            found.push(("AgentDefaults", names(path)));
            found.push(("AgentEntry", names(path)));
        }
    };
    let texts: Vec<&str> = made.split('"').skip(1).step_by(2).collect();
    for (at, path) in texts.iter().enumerate() {
        add(
            path,
            made.contains(".top(") || (made.contains("find_or_top") && at == 1),
        );
    }
    for (_, path) in MADE.iter().filter(|(field, _)| *field == name) {
        add(path, false);
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}
