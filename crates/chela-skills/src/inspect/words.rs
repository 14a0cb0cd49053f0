//! The words that make a line worth a closer look, found all at once.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::tables::{RuleTable, rule_table};

/// Kinds of words, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct WordKinds(u32);

macro_rules! kinds {
    ($($bit:literal $name:ident;)+) => {
        impl WordKinds {
            $(pub(super) const $name: Self = Self(1 << $bit);)+
        }
        const KINDS: &[(WordKinds, &str)] = &[$((WordKinds::$name, stringify!($name))),+];
    };
}

/// The words of each kind, in lower case: lines are lowered before they are searched.
static TABLE: RuleTable = rule_table!("words.txt");

kinds! {
    0 FETCH;
    1 SHELL;
    2 DECODE;
    3 RUN;
    4 LINK;
    5 SECRET;
    6 POST;
    7 ARCHIVE;
    8 PASSWORD;
    9 REQUIRE;
    10 TERMINAL;
    11 COPY;
    12 PERSIST;
    13 AGENT_FILE;
    14 WRITE;
    15 STRIP;
    16 BACKDOOR;
    17 ORDER;
    18 UPLOAD;
    19 GARBLED;
    21 BAD_HOST;
    22 DESTROY;
    23 MINE;
    24 LOOP;
    25 AUTORUN;
    26 TURN;
    27 ACT;
    20 ALWAYS;
}

static FINDER: LazyLock<Option<(AhoCorasick, Vec<WordKinds>)>> = LazyLock::new(|| {
    let all = || {
        let words = |(kind, name): &(WordKinds, &str)| {
            let words = TABLE.items(name).into_iter().flatten();
            let kind = *kind;
            words.map(move |word| (kind, word))
        };
        KINDS.iter().flat_map(words)
    };
    let finder = AhoCorasick::new(all().map(|(_, word)| word)).ok()?;
    Some((finder, all().map(|(kind, _)| kind).collect()))
});

impl WordKinds {
    /// The kinds of words in a line in lower case. Should the finder not build, every kind counts
    /// as present: then everything is looked at, only slower.
    pub(super) fn of(line: &str) -> Self {
        let Some((finder, kinds)) = FINDER.as_ref() else {
            return Self(u32::MAX);
        };
        let mut found = Self::default();
        for hit in finder.find_overlapping_iter(line) {
            found.0 |= kinds.get(hit.pattern().as_usize()).map_or(0, |kind| kind.0);
        }
        found
    }

    /// Whether all of these kinds are present.
    pub(super) fn have(self, kinds: Self) -> bool {
        self.0 & kinds.0 == kinds.0
    }

    pub(super) fn have_any(self, kinds: Self) -> bool {
        self.0 & kinds.0 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl std::ops::BitOr for WordKinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[cfg(test)]
#[test]
fn every_kind_has_words_and_every_word_a_kind() {
    let heads: Vec<&str> = TABLE.blocks().iter().map(|block| block.head).collect();
    let kinds: Vec<&str> = KINDS.iter().map(|(_, name)| *name).collect();
    assert_eq!(heads, kinds);
    for block in TABLE.blocks() {
        assert!(!block.lines.is_empty(), "{}", block.head);
        for word in block.lines {
            assert_eq!(word.to_lowercase(), word);
        }
    }
}
