//! Reading the sets.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use chela_core::{Audience, ContentHash, Trust};
use serde_json::Value;

use super::runner::{BenchError, BenchRequest};
use crate::chunk::{self, NoteChunk};
use crate::day::CalendarDay;
use crate::index::{PreparedFile, write_prepared};
use crate::source::{FileSource, FoundFile};
use crate::store::{IndexStore, StoreError};

pub struct Set {
    pub name: String,
    pub questions: Vec<Question>,
    pub texts: Texts,
}

pub enum Texts {
    Files {
        root: PathBuf,
    },
    Docs {
        by_group: BTreeMap<String, Vec<Doc>>,
    },
}

pub struct Question {
    pub group: String,
    pub text: String,
    pub gold: Vec<String>,
    pub grades: HashMap<String, f64>,
}

pub struct Doc {
    pub date: Option<CalendarDay>,
    pub covers: Vec<String>,
    pub text: String,
}

/// The folders with sets: the folder itself, or those in it.
pub fn find(dir: &Path) -> Result<Vec<PathBuf>, BenchError> {
    let is_set = |path: &Path| path.join("queries.jsonl").is_file();
    if is_set(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let entries = std::fs::read_dir(dir).map_err(|source| BenchError::Read {
        path: dir.to_owned(),
        source,
    })?;
    let mut sets: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| is_set(path))
        .collect();
    sets.sort();
    if sets.is_empty() {
        Err(BenchError::NoSet {
            path: dir.to_owned(),
        })
    } else {
        Ok(sets)
    }
}

/// A line of a note, as gold names it.
pub fn place(label: &str, line: u32) -> String {
    format!("{label}#{line}")
}

impl Set {
    pub fn read(path: &Path) -> Result<Self, BenchError> {
        let questions = lines(&path.join("queries.jsonl"), |value| {
            let gold = value
                .get("gold")?
                .as_array()?
                .iter()
                .filter_map(gold)
                .collect();
            let grades = value
                .get("grades")
                .and_then(Value::as_object)
                .map(|grades| {
                    grades
                        .iter()
                        .filter_map(|(id, g)| Some((id.clone(), g.as_f64()?)))
                        .collect()
                })
                .unwrap_or_default();
            Some(Question {
                group: text(value, "group").unwrap_or_else(|| "all".into()),
                text: text(value, "question")?,
                gold,
                grades,
            })
        })?;
        let docs = path.join("docs.jsonl");
        let texts = if docs.is_file() {
            let mut by_group: BTreeMap<String, Vec<Doc>> = BTreeMap::new();
            let list = lines(&docs, |value| {
                let covers: Vec<String> = match value.get("covers").and_then(Value::as_array) {
                    Some(covers) => covers.iter().filter_map(gold).collect(),
                    None => vec![text(value, "id")?],
                };
                let doc = Doc {
                    date: text(value, "date").and_then(|date| CalendarDay::find(&date)),
                    covers,
                    text: text(value, "text")?,
                };
                Some((text(value, "group").unwrap_or_else(|| "all".into()), doc))
            })?;
            for (group, doc) in list {
                by_group.entry(group).or_default().push(doc);
            }
            Texts::Docs { by_group }
        } else {
            Texts::Files {
                root: path.to_owned(),
            }
        };
        let name = path
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Ok(Self {
            name,
            questions,
            texts,
        })
    }
}

/// An id, a number or a line of a file.
fn gold(value: &Value) -> Option<String> {
    match value {
        Value::String(id) => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        Value::Object(_) => {
            let line = u32::try_from(value.get("line")?.as_u64()?).ok()?;
            Some(place(&text(value, "path")?, line))
        }
        _ => None,
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn lines<T>(path: &Path, read: impl Fn(&Value) -> Option<T>) -> Result<Vec<T>, BenchError> {
    let content = std::fs::read_to_string(path).map_err(|source| BenchError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mut list = Vec::new();
    for (at, line) in content
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let bad = |reason: String| BenchError::Format {
            path: path.to_owned(),
            line: at + 1,
            reason,
        };
        let value: Value = serde_json::from_str(line).map_err(|error| bad(error.to_string()))?;
        list.push(read(&value).ok_or_else(|| bad("a field is missing".into()))?);
    }
    Ok(list)
}

/// Puts texts that come cut into an index. Those of one day are one daily note, undated messages
/// one conversation; any other text without a date is a note of its own. Returns what each line of
/// each note holds.
pub fn write(
    store: &mut IndexStore,
    docs: &[Doc],
    request: &BenchRequest<'_>,
) -> Result<HashMap<(String, u32), Vec<String>>, StoreError> {
    let mut units: Vec<NoteChunk> = (1..).zip(docs).map(|(line, doc)| unit(line, doc)).collect();
    chunk::mark_speakers(&mut units);
    chunk::mark_languages(&mut units);
    let messages = units.iter().filter(|unit| unit.speaker.is_some()).count();
    let is_chat = messages * 2 > units.len();
    let mut covers = HashMap::new();
    let mut notes: BTreeMap<String, Vec<NoteChunk>> = BTreeMap::new();
    for (unit, doc) in units.into_iter().zip(docs) {
        let line = unit.start_line;
        let label = match doc.date {
            Some(day) => format!("memory/{day}.md"),
            None if is_chat => "memory/chat.md".to_owned(),
            None => format!("note-{line:07}.md"),
        };
        covers.insert((label.clone(), line), doc.covers.clone());
        notes.entry(label).or_default().push(unit);
    }
    let files: Vec<(FoundFile, Vec<NoteChunk>)> = notes
        .into_iter()
        .map(|(label, units)| (found(label), units))
        .collect();
    for some in files.chunks(2048) {
        let batch: Vec<PreparedFile<'_>> = some
            .iter()
            .map(|(file, units)| PreparedFile::Content {
                file,
                hash: ContentHash::of(&file.label),
                cut: String::new(),
                units: units.clone(),
                audience: file.audience,
                now: 0,
            })
            .collect();
        write_prepared(store, request.embedder, &batch)?;
    }
    Ok(covers)
}

fn unit(line: u32, doc: &Doc) -> NoteChunk {
    NoteChunk {
        start_line: line,
        end_line: line,
        date: doc.date,
        text: doc.text.clone(),
        ..NoteChunk::default()
    }
}

fn found(label: String) -> FoundFile {
    FoundFile {
        path: PathBuf::from(&label),
        label,
        source: FileSource::Memory,
        size: 0,
        modified: 0,
        trust: Trust::Agent,
        audience: Audience::Private,
        page: None,
    }
}
