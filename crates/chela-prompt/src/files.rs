//! Context files: which come first, and on which side of the boundary.

use std::borrow::Cow;

use chela_core::Zone;

use crate::input::base_name;
use crate::out::{Out, one_line};
use crate::template::Values;
use crate::{Completeness, ContextFile, PartKind, TruncationNotice};

/// The files of one zone in prompt order.
pub(crate) struct FileList<'a> {
    files: Vec<Placed<'a>>,
    notice: TruncationNotice,
}

struct Placed<'a> {
    file: &'a ContextFile,
    path: Cow<'a, str>,
    base: String,
}

impl<'a> FileList<'a> {
    pub(crate) fn new(files: &'a [ContextFile], zone: Zone, notice: TruncationNotice) -> Self {
        let mut files: Vec<Placed<'a>> = files
            .iter()
            .map(|file| {
                let path = one_line(&file.path);
                let base = base_name(&path);
                Placed { file, path, base }
            })
            .filter(|placed| !placed.path.is_empty() && placed.zone() == zone)
            .collect();
        files.sort_by_cached_key(|placed| {
            (
                rank(&placed.base),
                placed.base.clone(),
                placed.path.replace('\\', "/"),
            )
        });
        Self { files, notice }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The paths of the files that are not whole, unless nobody is to be told.
    fn cut(&self) -> impl Iterator<Item = &str> {
        let told = self.notice == TruncationNotice::Shown;
        self.files
            .iter()
            .filter(move |placed| told && placed.file.completeness == Completeness::Cut)
            .map(|placed| placed.path.as_ref())
    }

    fn write_files(&self, out: &mut Out) {
        for (at, Placed { file, path, .. }) in self.files.iter().enumerate() {
            if at > 0 {
                out.push("\n\n");
            }
            let start = out.len();
            out.push("## ");
            out.push(path);
            let mut content = out.len();
            if !file.content.is_empty() {
                out.push("\n\n");
                content = out.len();
                out.push(file.content.as_str());
            }
            let kind = PartKind::File {
                path: path.clone().into_owned(),
                content,
            };
            let ContextFile {
                origin,
                trust,
                audience,
                ..
            } = file;
            out.part_at(kind, origin.clone(), *trust, *audience, start..out.len());
        }
    }
}

impl Values for FileList<'_> {
    fn flag(&self, name: &str) -> Option<bool> {
        match name {
            "soul" => Some(self.files.iter().any(|placed| placed.base == "soul.md")),
            "cut_files" => Some(self.cut().next().is_some()),
            _ => None,
        }
    }

    fn write(&self, name: &str, out: &mut Out) -> bool {
        match name {
            "files" => self.write_files(out),
            "cut_files" => out.push_list(self.cut()),
            _ => return false,
        }
        true
    }
}

impl Placed<'_> {
    fn zone(&self) -> Zone {
        self.file.zone.unwrap_or(match self.base.as_str() {
            "heartbeat.md" => Zone::Volatile,
            _ => Zone::Stable,
        })
    }
}

fn rank(base: &str) -> u8 {
    match base {
        "agents.md" => 10,
        "soul.md" => 20,
        "identity.md" => 30,
        "user.md" => 40,
        "tools.md" => 50,
        "bootstrap.md" => 60,
        "memory.md" => 70,
        _ => u8::MAX,
    }
}
