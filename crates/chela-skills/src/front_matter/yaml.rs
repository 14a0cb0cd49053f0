//! Full YAML, within bounds that no honest head comes near.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Why a head is no YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlFault {
    /// From 1, within the head.
    pub line: u32,
    pub message: String,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Malformed,
    /// It would take more than a head may: aliases that multiply, nesting without end.
    Exhausting,
}

pub(super) fn read(head: &str) -> Result<Value, YamlFault> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 20_000,
            max_aliases: 64,
            max_anchors: 64,
            max_depth: 32,
            max_nodes: 10_000,
            max_total_scalar_bytes: 512 * 1024,
            max_documents: 1,
            max_merge_keys: 16,
            flow_nesting_limit: 32,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 4_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 64,
        },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(head, options).map_err(|error| fault(&error))
}

fn fault(error: &serde_saphyr::Error) -> YamlFault {
    let line = error
        .location()
        .map_or(1, |location| u32::try_from(location.line()).unwrap_or(1));
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // The place is told by the caller, in lines of the whole file.
    let message = match first
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "))
    {
        Some((_, message)) => message,
        None => first,
    };
    let exhausting = ["budget", "limit", "replay", "nesting", "recursion", "depth"];
    let kind = if exhausting.iter().any(|word| message.contains(word)) {
        FaultKind::Exhausting
    } else {
        FaultKind::Malformed
    };
    YamlFault {
        line: line.max(1),
        message: shown(message),
        kind,
    }
}

/// A parser's words, fit to be shown: one line, not endless.
fn shown(message: &str) -> String {
    let clean = chela_core::sanitize::literal(message);
    clean
        .chars()
        .take(160)
        .collect::<String>()
        .trim_end_matches([',', ' '])
        .to_owned()
}
