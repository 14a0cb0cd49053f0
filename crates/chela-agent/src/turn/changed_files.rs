//! Files that changed after a session began.
//!
//! The prompt of a session does not move, or every edit would make the whole conversation be read
//! again. What changed since is told once, with the newest message; at the next reset or
//! compaction it is part of the prompt.

use chela_core::cut::{CutLimit, CutRequest, cut};
use chela_core::{ContentHash, Origin, Trust, Zone};
use chela_ledger::SectionMark;
use chela_prompt::{PartKind, PartSpan, Prompt};

use crate::runtime_blocks::{BlockKind, RuntimeBlock, SentBlock};

const SAME: &str = include_str!("../../text/changes-none.md");

/// Most characters of one changed file that are told.
const PER_FILE: usize = 4_000;

/// What is to be told, and how far it is trusted.
pub(super) struct ToldChanges {
    pub texts: Vec<String>,
    pub trust: Trust,
    /// The files nobody answers for.
    pub foreign: Vec<Origin>,
}

impl Default for ToldChanges {
    fn default() -> Self {
        Self {
            texts: Vec::new(),
            trust: Trust::Operator,
            foreign: Vec::new(),
        }
    }
}

impl ToldChanges {
    /// All of it as one block. Where nothing differs any more from what the session began with,
    /// and something else was said before, that is said.
    pub fn block_with(self, other: Self, sent: &[SentBlock]) -> Option<RuntimeBlock> {
        let trust = self.trust.join(other.trust);
        let origin = self.one_foreign_file(&other);
        let mut texts = self.texts;
        texts.extend(other.texts);
        let was_told = sent.iter().any(|block| block.kind == BlockKind::Changes);
        if texts.is_empty() && was_told {
            texts.push(SAME.trim().to_owned());
        }
        (!texts.is_empty()).then(|| RuntimeBlock {
            kind: BlockKind::Changes,
            text: texts.join("\n\n"),
            origin,
            trust,
        })
    }

    /// A file that nobody answers for is named, where it is the only thing: the owner may say yes
    /// to it later.
    fn one_foreign_file(&self, other: &Self) -> Origin {
        let is_unnamed = |told: &Self| told.trust < Trust::Agent && told.foreign.is_empty();
        let mut foreign = self.foreign.iter().chain(&other.foreign);
        match (foreign.next(), foreign.next()) {
            (Some(file), None) if !is_unnamed(self) && !is_unnamed(other) => file.clone(),
            _ => Origin::Runtime,
        }
    }
}

/// What the prompt would say now of files that the session's does not.
pub(super) fn file_changes(frozen: &[SectionMark], now: &Prompt) -> ToldChanges {
    let mut told = Vec::new();
    let mut trust = Trust::Operator;
    let mut foreign = Vec::new();
    for part in &now.parts {
        let PartKind::File { path, .. } = &part.kind else {
            continue;
        };
        let zone = now.section(part.section).map(|section| section.zone);
        let text = now.slice(&part.range);
        if zone != Some(Zone::Stable) || is_known(frozen, path, part, text) {
            continue;
        }
        trust = trust.join(part.trust);
        if part.trust < Trust::Agent {
            foreign.push((*part.origin).clone());
        }
        told.push(format!(
            "{path} was changed. It now reads:\n{}",
            shortened(path, text)
        ));
    }
    for path in gone(frozen, now) {
        told.push(format!("{path} is no longer there."));
    }
    ToldChanges {
        texts: told,
        trust,
        foreign,
    }
}

/// What an extension brought is known by its origin, which is no file's.
fn is_known(frozen: &[SectionMark], path: &str, part: &PartSpan, text: &str) -> bool {
    let hash = ContentHash::of(text);
    frozen.iter().any(|mark| {
        mark.hash == hash && (file_of(mark) == Some(path) || mark.origin == *part.origin)
    })
}

fn gone<'m>(frozen: &'m [SectionMark], now: &Prompt) -> Vec<&'m str> {
    frozen
        .iter()
        .filter_map(file_of)
        .filter(|path| {
            !now.parts
                .iter()
                .any(|part| matches!(&part.kind, PartKind::File { path: here, .. } if here == path))
        })
        .collect()
}

fn file_of(mark: &SectionMark) -> Option<&str> {
    match &mark.origin {
        Origin::File { path, .. } => Some(path),
        _ => None,
    }
}

fn shortened(path: &str, text: &str) -> String {
    let request = CutRequest {
        name: path,
        first_line: 1,
        text: text.trim(),
        limit: CutLimit::Chars(PER_FILE),
        pinned_headings: &[],
    };
    cut(&request).text.into_owned()
}
