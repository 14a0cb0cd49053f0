//! Everything the config is made of: the file, what it includes, and the environment.
//!
//! [`gather`] reads the config file, puts included files in place, reads the `.env` files and
//! fills in `${VAR}`. The state folder's `.env` is the operator's and part of the environment; the
//! current folder's may be anybody's and gives credentials to `${VAR}` alone. It never fails: whatever is wrong becomes a [`ConfigDiagnostic`] with a place,
//! and a file that cannot be used leaves an empty config behind. Messages name files, keys and
//! variables, never values.

mod dotenv;
mod folder_env;
mod include;
mod read;
mod substitute;

pub(crate) use read::{ReadProblem, read_text};

use std::path::PathBuf;

use chela_core::{Host, HostEnv};
use serde_json::Value;

use folder_env::FolderEnv;

use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::node::{ConfigNode, FileId, NodeKind, NodeMember, NodeSpan};
use crate::text::{self, LineIndex};

/// The config as written by the operator, put together from all its files.
#[derive(Debug, Clone)]
pub struct GatheredConfig {
    /// Always an object; empty when the file is missing or unusable.
    pub root: ConfigNode,
    /// The config file first, then what it includes, in the order read.
    pub files: Vec<LoadedFile>,
    pub diagnostics: Vec<ConfigDiagnostic>,
    /// The environment with what `.env` of the state folder adds to it.
    pub env: HostEnv,
    pub main: MainFile,
}

/// What was found at the path of the config file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainFile {
    /// Nothing: a fresh machine.
    Missing,
    Read,
    /// Something that cannot be read as a config; the diagnostics say why.
    Unusable,
}

/// A file that took part.
#[derive(Debug, Clone)]
pub struct LoadedFile {
    pub path: PathBuf,
    pub source: String,
    pub lines: LineIndex,
}

impl LoadedFile {
    fn new(path: PathBuf, source: String) -> Self {
        let lines = LineIndex::new(&source);
        Self {
            path,
            source,
            lines,
        }
    }

    /// The place of a byte offset.
    pub fn place(&self, offset: usize) -> SourcePlace {
        let (line, column) = self.lines.position(&self.source, offset);
        SourcePlace {
            file: self.path.clone(),
            line,
            column,
        }
    }
}

/// Reads the config of this machine.
pub fn gather(host: &Host) -> GatheredConfig {
    let path = host.config_file();
    match read_text(&path) {
        Ok(source) => gather_text(host, &source),
        Err(ReadProblem::Missing) => {
            let mut gathered = GatheredConfig::start(host);
            gathered.main = MainFile::Missing;
            gathered.substitute(host);
            gathered
        }
        Err(problem) => {
            let mut gathered = GatheredConfig::start(host);
            gathered.main = MainFile::Unusable;
            let (line, column) = match problem {
                ReadProblem::NotUtf8 { line, column } => (line, column),
                _ => (1, 1),
            };
            let place = SourcePlace {
                file: path,
                line,
                column,
            };
            gathered
                .diagnostics
                .push(problem.to_diagnostic("the config file", Some(place)));
            gathered
        }
    }
}

/// The config as it would be if the config file held this text; for checking an edit before it
/// is written.
pub fn gather_text(host: &Host, source: &str) -> GatheredConfig {
    let mut gathered = GatheredConfig::start(host);
    let file = LoadedFile::new(host.config_file(), source.to_owned());
    if let Some(root) = gathered.add(file) {
        gathered.root = include::resolve(host, &mut gathered, root);
        gathered.expect_object();
        gathered.substitute(host);
    }
    gathered
}

/// A config that is already one piece and lies at `pick` inside a text, such as the copy of the
/// last good one: places point into that text, nothing is included.
pub(crate) fn gather_piece(
    host: &Host,
    path: PathBuf,
    source: String,
    pick: &str,
) -> GatheredConfig {
    let mut gathered = GatheredConfig::start(host);
    if let Some(mut whole) = gathered.add(LoadedFile::new(path, source)) {
        gathered.root = match whole.get_mut(pick) {
            Some(piece) => std::mem::replace(piece, ConfigNode::empty_object()),
            None => ConfigNode::empty_object(),
        };
        gathered.expect_object();
        gathered.substitute(host);
    }
    gathered
}

impl GatheredConfig {
    fn start(host: &Host) -> Self {
        let mut diagnostics = Vec::new();
        let env = dotenv::effective_env(host, &mut diagnostics);
        Self {
            root: ConfigNode::empty_object(),
            files: Vec::new(),
            diagnostics,
            env,
            main: MainFile::Read,
        }
    }

    /// Where something was written, as people count.
    pub fn place(&self, at: NodeSpan) -> Option<SourcePlace> {
        Some(
            self.files
                .get(usize::from(at.file.0))?
                .place(at.start as usize),
        )
    }

    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The whole config in one piece, includes in place, but with `${VAR}` as written: what can
    /// be kept on disk without copying secrets out of the environment.
    pub fn unsubstituted(&self) -> Value {
        self.as_written(&self.root)
    }

    fn as_written(&self, node: &ConfigNode) -> Value {
        match &node.kind {
            NodeKind::String(text) if node.vars.is_empty() && !text.contains("${") => {
                Value::String(text.clone())
            }
            NodeKind::String(text) => {
                let file = self.files.get(usize::from(node.at.file.0));
                let span = node.at.start as usize..node.at.end as usize;
                let literal = file.and_then(|file| file.source.get(span));
                let written = literal.and_then(|literal| text::parse(literal, FileId(0)).root);
                match written.map(|node| node.kind) {
                    Some(NodeKind::String(written)) => Value::String(written),
                    _ => Value::String(text.clone()),
                }
            }
            NodeKind::Array(items) => items.iter().map(|item| self.as_written(item)).collect(),
            NodeKind::Object(members) => members
                .iter()
                .map(|NodeMember { key, value, .. }| (key.clone(), self.as_written(value)))
                .collect(),
            NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => node.to_json(),
        }
    }

    /// Takes a file in: its root if it can be read, its problems in any case.
    fn add(&mut self, file: LoadedFile) -> Option<ConfigNode> {
        let id = FileId(u16::try_from(self.files.len()).unwrap_or(u16::MAX));
        let parsed = text::parse(&file.source, id);
        let problems = parsed.problems.iter();
        self.diagnostics.extend(
            problems.map(|problem| problem.to_diagnostic(&file.path, &file.source, &file.lines)),
        );
        self.files.push(file);
        if parsed.root.is_none() && id == FileId(0) {
            self.main = MainFile::Unusable;
        }
        parsed.root
    }

    fn expect_object(&mut self) {
        if matches!(self.root.kind, NodeKind::Object(_)) {
            return;
        }
        self.main = MainFile::Unusable;
        let root = std::mem::replace(&mut self.root, ConfigNode::empty_object());
        let kind = root.type_name();
        let message = format!("the config is {kind}; it must be an object");
        let hint = "the whole config is one `{ … }`";
        self.diagnostics.push(ConfigDiagnostic {
            place: self.place(root.at),
            ..ConfigDiagnostic::whole(Severity::Error, "not-an-object", message, hint)
        });
    }

    fn substitute(&mut self, host: &Host) {
        let mut root = std::mem::replace(&mut self.root, ConfigNode::empty_object());
        let folder = FolderEnv::read(host, &root, &mut self.diagnostics);
        let missing = substitute::fill_in(&mut root, &self.env, &folder);
        self.diagnostics.extend(folder.notice());
        for substitute::MissingVar { name, path, at } in missing {
            let message =
                format!("the variable {name} is not set, so `${{{name}}}` stays as it is");
            let hint = format!(
                "set {name} in the environment or in .env of the state folder, or write `$${{{name}}}` to mean the text itself"
            );
            self.diagnostics.push(ConfigDiagnostic {
                path,
                place: self.place(at),
                ..ConfigDiagnostic::whole(Severity::Warning, "missing-variable", message, &hint)
            });
        }
        self.root = root;
    }
}
