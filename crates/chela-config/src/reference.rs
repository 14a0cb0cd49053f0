//! The reference page of all keys, written from the shape of the config.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::explain::kind;
use crate::migrate::MIGRATIONS;
use crate::model::Config;
use crate::shape::{FieldShape, HasShape, ObjectShape, ValueShape};

const HEAD: &str = "\
# The config file

<!-- Made from the types of chela-config by `cargo xtask docs`. Do not edit. -->

`~/.chela/chela.json` is JSON5: comments, trailing commas and unquoted keys are fine. Every key
is optional. `${VAR}` is filled in from the environment (`$${VAR}` stays as it is), `$include`
includes other files, and keys that start with `x-` are left to other programs. Relative
paths are relative to the folder of the config file; `~` is the home folder.

`chela config validate` checks the file strictly and names every problem with line and column. A
start is tolerant: what cannot be used is skipped with a warning.

";

const KEPT: &str = "\
## Accepted, but not used yet

These keys are read, checked and kept for features to come, or for other programs that read the
file. Setting one changes nothing; `chela config validate` says so.

| key | type | default | |
|---|---|---|---|
";

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut writer = Writer {
        seen: BTreeMap::new(),
        page: &mut page,
        kept: Some(Vec::new()),
    };
    if let Some(root) = Config::SHAPE.as_object() {
        for field in root.fields {
            writer.area(field);
        }
    }
    writer.kept_keys();
    page.push_str(
        "## Older forms\n\nThese are read as their current form; the file is not changed.\n\n",
    );
    page.push_str("| name | read as |\n|---|---|\n");
    for migration in MIGRATIONS {
        page.push_str(&format!("| `{}` | {} |\n", migration.id, migration.does));
    }
    page
}

struct Writer<'p> {
    /// Objects that were written already, and where.
    seen: BTreeMap<&'static str, String>,
    page: &'p mut String,
    /// Keys that nothing uses, for the end of the page. `None`: the end is reached.
    kept: Option<Vec<(&'static FieldShape, String)>>,
}

impl Writer<'_> {
    fn area(&mut self, field: &'static FieldShape) {
        if self.puts_off(field, field.key) {
            return;
        }
        self.page
            .push_str(&format!("## `{}`\n\n{}\n\n", field.key, field.doc()));
        self.page
            .push_str("| key | type | default | |\n|---|---|---|---|\n");
        if !self.inside(field.shape, field.key) {
            self.row(field, field.key);
        }
        self.page.push('\n');
    }

    /// Writes the keys of whatever object a shape leads to; says whether there was one.
    fn inside(&mut self, shape: &'static ValueShape, path: &str) -> bool {
        match shape {
            ValueShape::Object(object) => {
                self.object(object, path);
                true
            }
            ValueShape::List(item) => self.inside(item, &format!("{path}[]")),
            ValueShape::Map(entry) => self.inside(entry, &format!("{path}.<name>")),
            ValueShape::OneOf(branches) => branches
                .iter()
                .filter(|branch| !matches!(branch, ValueShape::List(_)))
                .any(|branch| branch.as_object().is_some() && self.inside(branch, path)),
            _ => false,
        }
    }

    fn object(&mut self, object: &'static ObjectShape, path: &str) {
        if let Some(first) = self.seen.get(object.name) {
            self.page
                .push_str(&format!("| `{path}.*` | | | as `{first}.*` |\n"));
            return;
        }
        self.seen.insert(object.name, path.to_owned());
        for field in object.fields {
            let inner = format!("{path}.{}", field.key);
            if self.puts_off(field, &inner) {
                continue;
            }
            self.row_and_inside(field, &inner);
        }
        match object.rest {
            None | Some(ValueShape::Anything) => {}
            Some(rest) => {
                self.inside(rest, &format!("{path}.<name>"));
            }
        }
    }

    /// A key that nothing uses is written at the end.
    fn puts_off(&mut self, field: &'static FieldShape, path: &str) -> bool {
        match &mut self.kept {
            Some(kept) if field.rules.later => {
                kept.push((field, path.to_owned()));
                true
            }
            _ => false,
        }
    }

    fn kept_keys(&mut self) {
        let kept = self.kept.take().unwrap_or_default();
        self.page.push_str(KEPT);
        for (field, path) in kept {
            self.row_and_inside(field, &path);
        }
        self.page.push('\n');
    }

    fn row_and_inside(&mut self, field: &'static FieldShape, path: &str) {
        self.row(field, path);
        // A secret's reference has the same form everywhere.
        if !field.shape.is_secret() {
            self.inside(field.shape, path);
        }
    }

    fn row(&mut self, field: &'static FieldShape, path: &str) {
        let kind = kind(field.shape, &field.rules);
        let required = if field.rules.required {
            " **Required.**"
        } else {
            ""
        };
        let default = field
            .default_value()
            .map_or_else(String::new, |value| shown(&value));
        let doc = field.doc().replace('|', "\\|").replace("\n\n", " ");
        self.page.push_str(&format!(
            "| `{path}` | {} | {default} | {doc}{required} |\n",
            kind.replace('|', "\\|")
        ));
    }
}

fn shown(default: &Value) -> String {
    match default {
        Value::String(text) => format!("`{text}`"),
        Value::Array(items) if items.is_empty() => String::new(),
        value => format!("`{value}`"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_key_has_a_row() {
        let page = super::page();
        for row in [
            "| `agents.defaults.bootstrapMaxChars` | whole number, from 1 | `20000` | Maximum characters of one workspace file that enter the prompt. |",
            "| `agents.list[].heartbeat.*` | | | as `agents.defaults.heartbeat.*` |",
            "| `bindings[].match.channel` | text |  | Channel. **Required.** |",
            "| `agents.list[].tools.exec.mode` | `deny`, `allowlist`, `ask`, `auto`, `full` | `auto` |",
            "| `models.providers.<name>.apiKey` | secret |  | API key. |",
        ] {
            assert!(page.contains(row), "{row}");
        }
        assert!(page.lines().filter(|line| line.starts_with("| `")).count() > 600);
    }

    #[test]
    fn what_nothing_uses_stands_at_the_end() {
        let page = super::page();
        let (used, kept) = page.split_once("## Accepted, but not used yet").unwrap();
        for key in ["`cron.failureAlert`", "`cron.store`"] {
            assert!(!used.contains(key) && kept.contains(key), "{key}");
        }
        assert!(used.contains("`agents.defaults.workspace`"));
    }
}
