//! Signs that say little alone and much in a short text.

use std::sync::LazyLock;

use crate::inspect::rules::pattern::LinePattern;
use crate::inspect::tables::{RuleBlock, RuleTable, rule_table};

/// What a sign is, how much it says, and whether a sentence that warns of it counts: an
/// order to hide something is written as a warning.
pub(super) struct BriefHint {
    name: &'static str,
    pub(super) pattern: LinePattern,
    pub(super) says: HintStrength,
    pub(super) counts: HintCounts,
    pub(super) what: &'static str,
}

/// How much a sign says, in points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HintStrength {
    HardlyAnything = 1,
    Little = 2,
    Enough = 4,
}

impl BriefHint {
    /// Whether it is about something that runs by itself.
    pub(super) fn is_stay(&self) -> bool {
        self.name == "STAYS"
    }

    /// `NAME little done: what it is`, and the alternatives of its pattern.
    fn read(block: RuleBlock) -> Option<Self> {
        let (sign, what) = block.head.split_once(": ")?;
        let mut words = sign.split(' ');
        Some(Self {
            name: words.next()?,
            says: match words.next()? {
                "hardly-anything" => HintStrength::HardlyAnything,
                "little" => HintStrength::Little,
                "enough" => HintStrength::Enough,
                _ => return None,
            },
            counts: match words.next()? {
                "done" => HintCounts::Done,
                "ordered" => HintCounts::Ordered,
                _ => return None,
            },
            pattern: LinePattern::given(block.lines.join("|")),
            what,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HintCounts {
    /// Where it is done.
    Done,
    /// Where it is an order to the agent, which may stand in the form of a warning.
    Ordered,
}

static TABLE: RuleTable = rule_table!("hints.txt");

pub(super) static HINTS: LazyLock<Vec<BriefHint>> = LazyLock::new(|| {
    TABLE
        .blocks()
        .into_iter()
        .filter_map(BriefHint::read)
        .collect()
});

#[cfg(test)]
#[test]
fn every_hint_can_be_read_and_compiles() {
    assert_eq!(HINTS.len(), TABLE.blocks().len());
    assert_eq!(HINTS.iter().filter(|hint| hint.is_stay()).count(), 1);
    for hint in HINTS.iter() {
        assert!(hint.pattern.regex().is_some(), "{}", hint.name);
    }
}
