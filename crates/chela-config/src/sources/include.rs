//! `$include`: other files put in the place of an object.
//!
//! `{ $include: "a.json5" }` is the content of that file. A list of names is merged in order:
//! objects key by key, lists end to end, otherwise the later one counts. Keys beside `$include`
//! are merged over the result in the same way. Names are relative to the including file and may
//! not leave the folder of the config file or the folders in `CHELA_INCLUDE_ROOTS`.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use chela_core::{Host, vars};

use super::read::read_text;
use super::{GatheredConfig, LoadedFile};
use crate::diagnostic::{ConfigDiagnostic, Severity};
use crate::key_path::{KeyPath, PathSegment};
use crate::node::{ConfigNode, FileId, INCLUDE, NodeKind, NodeMember, NodeSpan};
use crate::text::{MAX_BYTES, MAX_DEPTH};

const MAX_LEVELS: usize = 10;
const MAX_PATH: usize = 4096;
/// How many times a file may be put in place, all levels together.
const MAX_INCLUDES: usize = 512;

/// Puts the included files in place, in the whole tree.
pub(crate) fn resolve(host: &Host, gathered: &mut GatheredConfig, root: ConfigNode) -> ConfigNode {
    if !mentions_include(&root) {
        return root;
    }
    let config = host.config_file();
    let real = config.canonicalize().unwrap_or_else(|_| config.clone());
    let mut includer = Includer {
        host,
        roots: roots(host, &config, &real),
        gathered,
        open: vec![OpenFile {
            shown: config,
            real,
        }],
        done: 0,
        bytes: 0,
        path: Vec::new(),
    };
    includer.node(root)
}

/// The folders included files may lie in: where the config file is named, where it really is,
/// and what the operator added. The `.env` files have no say in this.
fn roots(host: &Host, config: &Path, real: &Path) -> Vec<PathBuf> {
    let added = host.var(vars::INCLUDE_ROOTS).map(std::env::split_paths);
    let added = added
        .into_iter()
        .flatten()
        .filter(|path| !path.as_os_str().is_empty());
    [config.parent(), real.parent()]
        .into_iter()
        .flatten()
        .map(Path::to_path_buf)
        .chain(added.map(|path| host.expand(&path.to_string_lossy())))
        .filter_map(|folder| folder.canonicalize().ok())
        .collect()
}

fn mentions_include(node: &ConfigNode) -> bool {
    match &node.kind {
        NodeKind::Object(members) => members
            .iter()
            .any(|member| member.key == INCLUDE || mentions_include(&member.value)),
        NodeKind::Array(items) => items.iter().any(mentions_include),
        _ => false,
    }
}

struct Includer<'a> {
    host: &'a Host,
    roots: Vec<PathBuf>,
    gathered: &'a mut GatheredConfig,
    /// The files being read, outermost first.
    open: Vec<OpenFile>,
    done: usize,
    bytes: usize,
    /// Where in the config we are.
    path: Vec<PathSegment>,
}

struct OpenFile {
    /// As the including file named it.
    shown: PathBuf,
    /// With all links followed.
    real: PathBuf,
}

impl Includer<'_> {
    fn node(&mut self, mut node: ConfigNode) -> ConfigNode {
        match node.kind {
            NodeKind::Object(members) if members.iter().any(|member| member.key == INCLUDE) => {
                self.including(members, node.at)
            }
            NodeKind::Object(members) => {
                node.kind = NodeKind::Object(self.members(members));
                node
            }
            NodeKind::Array(items) => {
                let resolve = |(index, item)| self.inside(PathSegment::Index(index), item);
                node.kind = NodeKind::Array(items.into_iter().enumerate().map(resolve).collect());
                node
            }
            _ => node,
        }
    }

    fn members(&mut self, members: Vec<NodeMember>) -> Vec<NodeMember> {
        members
            .into_iter()
            .map(|NodeMember { key, key_at, value }| {
                let value = self.inside(PathSegment::Key(key.clone()), value);
                NodeMember { key, key_at, value }
            })
            .collect()
    }

    fn inside(&mut self, segment: PathSegment, node: ConfigNode) -> ConfigNode {
        self.path.push(segment);
        let node = if self.path.len() > MAX_DEPTH {
            let message = format!(
                "with its includes, the config is nested more than {MAX_DEPTH} levels deep"
            );
            self.problem(node.at, message, "include the file from further up");
            ConfigNode::new(NodeKind::Null, node.at)
        } else {
            self.node(node)
        };
        self.path.pop();
        node
    }

    /// An object with `$include`: the files in order, then the keys beside it.
    fn including(&mut self, members: Vec<NodeMember>, at: NodeSpan) -> ConfigNode {
        let (include, beside): (Vec<_>, Vec<_>) = members
            .into_iter()
            .partition(|member| member.key == INCLUDE);
        let mut whole: Option<ConfigNode> = None;
        let names: Vec<ConfigNode> = include
            .iter()
            .flat_map(|member| self.names(&member.value))
            .collect();
        for name in names {
            if let Some(part) = self.file(&name) {
                whole = Some(match whole {
                    Some(so_far) => merge(so_far, part),
                    None => part,
                });
            }
        }
        let beside = self.members(beside);
        match whole {
            Some(whole) if beside.is_empty() => whole,
            Some(whole) if matches!(whole.kind, NodeKind::Object(_)) => {
                merge(whole, ConfigNode::new(NodeKind::Object(beside), at))
            }
            Some(whole) => {
                let message = format!(
                    "the included file is {}, so it cannot be merged with the keys beside \
                        `$include`",
                    whole.type_name()
                );
                self.problem(at, message, "include an object, or remove the other keys");
                ConfigNode::new(NodeKind::Object(beside), at)
            }
            None => ConfigNode::new(NodeKind::Object(beside), at),
        }
    }

    fn names(&mut self, value: &ConfigNode) -> Vec<ConfigNode> {
        let named: Vec<&ConfigNode> = match &value.kind {
            NodeKind::String(_) => vec![value],
            NodeKind::Array(items) => items.iter().collect(),
            _ => Vec::new(),
        };
        let all_text = named.iter().all(|name| name.as_str().is_some());
        if !all_text || (named.is_empty() && !matches!(value.kind, NodeKind::Array(_))) {
            let message = format!("`$include` is {}", value.type_name());
            let message = if all_text {
                message
            } else {
                "`$include` lists something that is not a file name".into()
            };
            self.problem(
                value.at,
                message,
                "write a file name, or a list of file names",
            );
        }
        named
            .into_iter()
            .filter(|name| name.as_str().is_some())
            .cloned()
            .collect()
    }

    /// The content of one named file, its own includes in place.
    fn file(&mut self, name: &ConfigNode) -> Option<ConfigNode> {
        let at = name.at;
        let file = self.locate(name.as_str().unwrap_or_default(), at)?;
        if self.open.len() > MAX_LEVELS {
            let message = format!("`$include` goes more than {MAX_LEVELS} levels deep");
            self.problem(at, message, "include the file from further up");
            return None;
        }
        let root = self.read(&file, at)?;
        self.open.push(file);
        let resolved = self.node(root);
        self.open.pop();
        Some(resolved)
    }

    /// Finds the named file and checks that it may be included here.
    fn locate(&mut self, name: &str, at: NodeSpan) -> Option<OpenFile> {
        if name.trim().is_empty() || name.contains('\0') || name.len() >= MAX_PATH {
            let message = format!(
                "the name of the included file is empty, malformed or longer than {MAX_PATH} bytes"
            );
            self.problem(at, message, "write the path of a file");
            return None;
        }
        let base = self
            .open
            .last()
            .and_then(|file| file.shown.parent().map(Path::to_path_buf));
        let shown = self.host.expand_from(name, &base.unwrap_or_default());
        let shown: PathBuf = shown.components().collect();
        let real = match shown.canonicalize() {
            Ok(real) => real,
            Err(error) => {
                self.unreadable(error.into(), &shown, at);
                return None;
            }
        };
        if !self.roots.iter().any(|root| real.starts_with(root)) {
            let message = format!(
                "{} is outside the folders that may be included",
                shown.display()
            );
            let hint = format!(
                "keep included files beside the config file, or add their folder to {}",
                vars::INCLUDE_ROOTS
            );
            self.problem(at, message, &hint);
            return None;
        }
        if self.open.iter().any(|file| file.real == real) {
            let way: Vec<_> = self.open.iter().map(|file| file_name(&file.real)).collect();
            let message = format!(
                "`$include` goes round in a circle: {} → {}",
                way.join(" → "),
                file_name(&real)
            );
            self.problem(at, message, "remove one of these includes");
            return None;
        }
        // With `..` in it, a path has many spellings; the file has one.
        let winding = shown.components().any(|part| part == Component::ParentDir);
        let shown = if winding { real.clone() } else { shown };
        Some(OpenFile { shown, real })
    }

    fn read(&mut self, file: &OpenFile, at: NodeSpan) -> Option<ConfigNode> {
        self.done += 1;
        let source = match read_text(&file.real) {
            Ok(source) => source,
            Err(problem) => {
                self.unreadable(problem, &file.shown, at);
                return None;
            }
        };
        self.bytes += source.len();
        if self.done > MAX_INCLUDES || self.bytes > MAX_BYTES {
            let message = format!(
                "too much is included: at most {MAX_INCLUDES} files and {} MiB in total",
                MAX_BYTES >> 20
            );
            if self.done <= MAX_INCLUDES + 1 {
                self.problem(at, message, "include fewer or smaller files");
            }
            return None;
        }
        // The same file read twice keeps one entry, so that its problems are told once.
        let known = self
            .gathered
            .files
            .iter()
            .position(|known| known.path == file.shown);
        match known {
            Some(id) => {
                let id = FileId(u16::try_from(id).unwrap_or(u16::MAX));
                crate::text::parse(&source, id).root
            }
            None => self
                .gathered
                .add(LoadedFile::new(file.shown.clone(), source)),
        }
    }

    fn unreadable(&mut self, problem: super::ReadProblem, shown: &Path, at: NodeSpan) {
        let place = self.gathered.place(at);
        let mut diagnostic =
            problem.to_diagnostic(&format!("the included file {}", shown.display()), place);
        diagnostic.code = "include";
        diagnostic.path = self.here();
        self.gathered.diagnostics.push(diagnostic);
    }

    fn problem(&mut self, at: NodeSpan, message: impl Into<String>, hint: &str) {
        let diagnostic = ConfigDiagnostic {
            path: self.here(),
            place: self.gathered.place(at),
            ..ConfigDiagnostic::whole(Severity::Error, "include", message, hint)
        };
        self.gathered.diagnostics.push(diagnostic);
    }

    fn here(&self) -> KeyPath {
        self.path
            .iter()
            .cloned()
            .fold(KeyPath::root(), |path, segment| path.with(segment))
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// `over` merged over `base`: objects key by key, lists end to end, otherwise `over` counts.
pub(crate) fn merge(base: ConfigNode, over: ConfigNode) -> ConfigNode {
    let at = over.at;
    match (base.kind, over.kind) {
        (NodeKind::Object(mut members), NodeKind::Object(more)) => {
            let known: HashMap<String, usize> = members
                .iter()
                .enumerate()
                .map(|(index, member)| (member.key.clone(), index))
                .collect();
            for member in more {
                match known
                    .get(&member.key)
                    .and_then(|index| members.get_mut(*index))
                {
                    Some(below) => {
                        let value = std::mem::replace(&mut below.value, ConfigNode::empty_object());
                        below.value = merge(value, member.value);
                        below.key_at = member.key_at;
                    }
                    None => members.push(member),
                }
            }
            ConfigNode::new(NodeKind::Object(members), at)
        }
        (NodeKind::Array(mut items), NodeKind::Array(more)) => {
            items.extend(more);
            ConfigNode::new(NodeKind::Array(items), at)
        }
        (_, kind) => ConfigNode {
            kind,
            at,
            vars: over.vars,
        },
    }
}
