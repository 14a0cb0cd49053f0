//! Context files: which come first, and on which side of the boundary.

use std::borrow::Cow;

use chela_core::Zone;

use crate::input::base_at;
use crate::out::{PromptWriter, SpanSource, one_line};
use crate::{ContextFile, FileCompleteness, PartKind, TruncationNotice};

/// The files of one zone in prompt order.
pub(crate) struct FileList<'a> {
    files: Vec<Placed<'a>>,
    notice: TruncationNotice,
}

struct Placed<'a> {
    file: &'a ContextFile,
    path: Cow<'a, str>,
    /// Where the base name begins in the path.
    base: usize,
    rank: u8,
}

impl<'a> FileList<'a> {
    /// The stable and the dynamic files.
    pub(crate) fn both(files: &'a [ContextFile], notice: TruncationNotice) -> (Self, Self) {
        let mut files: Vec<Placed<'a>> = files
            .iter()
            .map(|file| {
                let path = one_line(&file.path);
                let base = base_at(&path);
                let rank = rank(&path[base..]);
                Placed {
                    file,
                    path,
                    base,
                    rank,
                }
            })
            .filter(|placed| !placed.path.is_empty())
            .collect();
        files.sort_by(|a, b| {
            (a.rank.cmp(&b.rank))
                .then_with(|| a.base().cmp(b.base()))
                .then_with(|| a.slashed().cmp(b.slashed()))
        });
        let (stable, dynamic) = files
            .into_iter()
            .partition(|placed| placed.zone() == Zone::Stable);
        (
            Self {
                files: stable,
                notice,
            },
            Self {
                files: dynamic,
                notice,
            },
        )
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the persona is among them.
    pub(crate) fn has_soul(&self) -> bool {
        let is_persona = |placed: &Placed<'_>| {
            placed.rank == SOUL && placed.file.completeness != FileCompleteness::Absent
        };
        self.files.iter().any(is_persona)
    }

    /// The paths of the files that are not whole, unless nobody is to be told.
    pub(crate) fn cut(&self) -> impl Iterator<Item = &str> {
        let told = self.notice == TruncationNotice::Shown;
        self.files
            .iter()
            .filter(move |placed| told && placed.file.completeness == FileCompleteness::Cut)
            .map(|placed| placed.path.as_ref())
    }

    pub(crate) fn write(&self, out: &mut PromptWriter) {
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
            let source = SpanSource {
                audience: file.audience,
                ..SpanSource::new(&file.origin, file.trust)
            };
            out.part_at(kind, source, start..out.len());
        }
    }
}

impl Placed<'_> {
    /// The base name in lower case.
    fn base(&self) -> impl Iterator<Item = char> {
        self.path[self.base..].chars().flat_map(char::to_lowercase)
    }

    /// The path with every slash forward.
    fn slashed(&self) -> impl Iterator<Item = u8> {
        self.path
            .bytes()
            .map(|byte| if byte == b'\\' { b'/' } else { byte })
    }

    fn zone(&self) -> Zone {
        let heartbeat = self.path[self.base..].eq_ignore_ascii_case("heartbeat.md");
        let usual = if heartbeat {
            Zone::Volatile
        } else {
            Zone::Stable
        };
        self.file.zone.unwrap_or(usual)
    }
}

const SOUL: u8 = 20;
const OTHERS: u8 = 100;

const RANKS: [(&str, u8); 7] = [
    ("agents.md", 10),
    ("soul.md", SOUL),
    ("identity.md", 30),
    ("user.md", 40),
    ("tools.md", 50),
    ("bootstrap.md", 60),
    ("memory.md", 70),
];

fn rank(base: &str) -> u8 {
    RANKS
        .iter()
        .find(|(name, _)| base.eq_ignore_ascii_case(name))
        .map_or(OTHERS, |(_, rank)| *rank)
}
