//! Files that changed after a session began.
//!
//! The prompt of a session does not move, or every edit would make the whole conversation be read
//! again. What changed since is told once, with the newest message; at the next reset or
//! compaction it is part of the prompt.

use chela_core::cut::{CutRequest, Limit, cut};
use chela_core::{ContentHash, Origin, Trust, Zone};
use chela_ledger::SectionMark;
use chela_prompt::{PartKind, PartSpan, Prompt};

use super::tail::{Block, BlockKind};

/// Most characters of one changed file that are told.
const PER_FILE: usize = 4_000;

/// What the prompt would say now that the session's does not; `None` when nothing changed.
pub fn changes(frozen: &[SectionMark], now: &Prompt) -> Option<Block> {
    let mut told = Vec::new();
    let mut trust = Trust::Operator;
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
        told.push(format!(
            "{path} was changed. It now reads:\n{}",
            shortened(path, text)
        ));
    }
    for path in gone(frozen, now) {
        told.push(format!("{path} is no longer there."));
    }
    let text = told.join("\n\n");
    (!text.is_empty()).then_some(Block {
        kind: BlockKind::Changes,
        text,
        origin: Origin::Runtime,
        trust,
    })
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
        limit: Limit::Chars(PER_FILE),
        pinned_headings: &[],
    };
    cut(&request).text.into_owned()
}
