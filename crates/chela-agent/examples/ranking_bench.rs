//! How well words find their skill: `cargo xtask ranking-bench FOLDER [--misses] [--half dev|held]`
//!
//! FOLDER holds skills of other people, as a clone of any public collection does; nothing of it is
//! kept here. The questions are taken from the skills themselves: what people are quoted as saying
//! in the text of a SKILL.md, which no index has. Of a name that is there twice the first counts.
//! Authors are split into two halves by a hash of their folder's name; weights are chosen on `dev`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement talks"
)]

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chela_agent::skill_ranker::{DESCRIBED_PER_MESSAGE, skill_card};
use chela_core::{ContentHash, Host, tokens};
use chela_memory::{CardIndex, IndexCard};
use chela_skills::{
    ListingRequest, SKILL_FILE, Skill, SkillLibrary, SkillLimits, SkillPlaces, SkillRanking,
    SkillSource, SkillUses, SkillsSettings, list, read_skill_text,
};

/// How many skills there are beside the one that is wanted.
const SIZES: [usize; 4] = [60, 500, 1_800, 5_000];
/// Questions of one skill: a skill with many must not decide alone.
const PER_SKILL: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let shows_misses = args.iter().any(|arg| arg == "--misses");
    args.retain(|arg| arg != "--misses");
    let half = match args.iter().position(|arg| arg == "--half") {
        Some(at) => args.drain(at..).nth(1),
        None => None,
    };
    let [folder] = args.as_slice() else {
        eprintln!("usage: ranking-bench FOLDER [--misses] [--half dev|held]");
        return Err("a folder with skills is needed".into());
    };
    let found = PublicSkills::read(Path::new(folder))?;
    println!(
        "{} skills with different names, {} questions",
        found.skills.len(),
        found.questions.len()
    );
    for name in ["dev", "held"] {
        if half.as_ref().is_none_or(|only| only == name) {
            for size in SIZES.into_iter().filter(|size| *size <= found.skills.len()) {
                found.measure(name, size, shows_misses)?;
            }
        }
    }
    let most = SIZES.into_iter().rfind(|size| *size <= found.skills.len());
    if let Some(most) = most {
        found.print_listing(most);
    }
    Ok(())
}

struct PublicSkills {
    _home: tempfile::TempDir,
    /// In an order that depends on their names alone, and not alphabetical.
    skills: Vec<Skill>,
    questions: Vec<Question>,
}

struct Question {
    text: String,
    wanted: String,
    is_held_out: bool,
}

impl PublicSkills {
    fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        skill_files(folder, 0, &mut files);
        files.sort();
        let home = tempfile::tempdir()?;
        let root = home.path().join(".agents/skills");
        let mut names: HashSet<String> = HashSet::new();
        let mut authors: BTreeMap<String, String> = BTreeMap::new();
        for file in &files {
            let bytes = fs::read(file)?;
            let Ok(text) = read_skill_text(&bytes) else {
                continue;
            };
            let Some(name) = text.front.name.clone() else {
                continue;
            };
            if names.insert(name.to_lowercase()) {
                let to = root.join(format!("s{:05}", names.len()));
                fs::create_dir_all(&to)?;
                fs::write(to.join(SKILL_FILE), &bytes)?;
                let author = file.strip_prefix(folder)?.iter().next().unwrap_or_default();
                authors.insert(name, author.to_string_lossy().into_owned());
            }
        }
        let mut skills = skills_of(home.path());
        skills.sort_by_key(|skill| ContentHash::of(&skill.name).to_string());
        let questions = skills
            .iter()
            .flat_map(|skill| {
                let author = authors.get(&skill.name).map_or("", String::as_str);
                let owner = author.split("--").next().unwrap_or(author);
                let hash = ContentHash::of(owner);
                let is_held_out = hash.as_bytes().first().is_some_and(|byte| byte & 1 == 1);
                let text = fs::read_to_string(&skill.file).unwrap_or_default();
                let questions = questions_in(&text, skill).into_iter();
                questions.map(move |text| Question {
                    text,
                    wanted: skill.name.clone(),
                    is_held_out,
                })
            })
            .collect();
        Ok(Self {
            _home: home,
            skills,
            questions,
        })
    }

    fn measure(&self, half: &str, size: usize, shows_misses: bool) -> Result<(), Box<dyn Error>> {
        let cards: Vec<IndexCard> = self.skills.iter().take(size).map(skill_card).collect();
        let names: HashSet<&str> = cards.iter().map(|card| card.name.as_str()).collect();
        let mut index = CardIndex::new(&cards)?;
        let (mut asked, mut described, mut first) = (0usize, 0usize, 0usize);
        let began = Instant::now();
        let of_half = |question: &&Question| question.is_held_out == (half == "held");
        for question in self.questions.iter().filter(of_half) {
            if !names.contains(question.wanted.as_str()) {
                continue;
            }
            let found = index.find(&question.text, DESCRIBED_PER_MESSAGE)?;
            asked += 1;
            first += usize::from(found.first() == Some(&question.wanted));
            if found.contains(&question.wanted) {
                described += 1;
            } else if shows_misses {
                println!("    {} <- {:?} {found:?}", question.wanted, question.text);
            }
        }
        println!(
            "{half:5} {size:5} skills: {:5.1} % of {asked:4} among the {DESCRIBED_PER_MESSAGE} described, {:5.1} % first, {:.2} ms each",
            share(described, asked),
            share(first, asked),
            began.elapsed().as_secs_f64() * 1e3 / asked.max(1) as f64,
        );
        Ok(())
    }

    /// What the list costs, and that nobody is lost.
    fn print_listing(&self, size: usize) {
        let skills: Vec<&Skill> = self.skills.iter().take(size).collect();
        let listing = list(&ListingRequest {
            skills: &skills,
            limits: &SkillLimits::default(),
            ranking: SkillRanking::default(),
            uses: &SkillUses::default(),
            now: 0,
        });
        println!(
            "{size} skills listed in {} tokens: {} described, {} named, {} found by skills_search",
            tokens::count(&listing.text),
            listing.report.described.len(),
            listing.report.names_only.len(),
            listing.report.left_out.len()
        );
    }
}

fn skills_of(home: &Path) -> Vec<Skill> {
    let host = Host::fixed(home);
    let places = SkillPlaces {
        workspace: home.join(".chela/workspace"),
        state_dir: home.join(".chela"),
        project: None,
    };
    let library = SkillLibrary::open(&host, places, SkillsSettings::default());
    let entries = library.catalog().entries().iter();
    entries
        .map(|entry| entry.skill.as_ref().clone())
        .filter(|skill| skill.source == SkillSource::Personal)
        .collect()
}

fn skill_files(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    const DEEPEST: usize = 12;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|_| depth < DEEPEST) {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
            continue;
        };
        if kind.is_dir() {
            skill_files(&path, depth + 1, found);
        } else if kind.is_file() && entry.file_name() == SKILL_FILE {
            found.push(path);
        }
    }
}

/// Before what people say, in a line and in a heading.
const SAID_BY_USERS: [&str; 13] = [
    "user says",
    "user asks",
    "user wants",
    "when the user",
    "user:",
    "asks to",
    "asks for",
    "asks about",
    "says \"",
    "trigger",
    "example request",
    "user might say",
    "user request",
];
const ABOUT_USE: [&str; 3] = ["when to use", "when to activate", "example prompt"];

/// What people are quoted as saying when they need a skill. What its name or its description says
/// in the same words is no question.
fn questions_in(text: &str, skill: &Skill) -> Vec<String> {
    let body = read_skill_text(text.as_bytes()).map_or("", |text| text.body);
    let description = skill.description.to_lowercase();
    let name = skill.name.to_lowercase();
    let name_in_words = name.replace(['-', '_'], " ");
    let (mut found, mut in_code, mut is_about_users): (Vec<String>, bool, bool) =
        (Vec::new(), false, false);
    for line in body.lines() {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        let lower = line.to_lowercase();
        let has_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let names_user = has_any(&SAID_BY_USERS);
        if line.starts_with('#') {
            is_about_users = names_user || has_any(&ABOUT_USE);
            continue;
        }
        if !(names_user || is_about_users) {
            continue;
        }
        for quoted in quotes(line) {
            let said = quoted.trim();
            let words = said.split_whitespace().count();
            let said_lower = said.to_lowercase();
            let is_question = (4..=25).contains(&words)
                && !said.contains(['{', '[', '<', '`', '$', '/', '\\', '|', '=', '_'])
                && !said_lower.contains(&name)
                && !said_lower.contains(&name_in_words)
                && !description.contains(&said_lower)
                && !skill
                    .headings
                    .iter()
                    .any(|heading| heading.to_lowercase().contains(&said_lower));
            if is_question && !found.contains(&said.to_owned()) {
                found.push(said.to_owned());
            }
        }
    }
    found.truncate(PER_SKILL);
    found
}

/// What stands in quotation marks.
fn quotes(line: &str) -> Vec<&str> {
    let marks: Vec<(usize, char)> = line
        .char_indices()
        .filter(|(_, c)| matches!(c, '"' | '“' | '”'))
        .collect();
    marks
        .chunks_exact(2)
        .filter_map(|pair| match pair {
            [(from, mark), (to, _)] => line.get(from + mark.len_utf8()..*to),
            _ => None,
        })
        .collect()
}

fn share(part: usize, of: usize) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}
