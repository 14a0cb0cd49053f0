//! The scanner's tables: texts under `data/scan/rules` that are compiled in.
//!
//! A line at the margin begins a block and names it; the indented lines under it are what the block
//! holds. `#` at the margin is a remark. In a table of patterns the lines of a block are
//! alternatives; in a table of lists each is an item, in quotes where spaces at its ends count.
//! Nothing is read before it is needed.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::OnceLock;

/// One table.
pub(super) struct RuleTable {
    text: &'static str,
    blocks: OnceLock<HashMap<&'static str, Vec<&'static str>>>,
}

/// A block as it stands in the text.
pub(super) struct RuleBlock {
    pub(super) head: &'static str,
    pub(super) lines: Vec<&'static str>,
}

impl RuleTable {
    pub(super) const fn new(text: &'static str) -> Self {
        Self {
            text,
            blocks: OnceLock::new(),
        }
    }

    /// The blocks in their order.
    pub(super) fn blocks(&self) -> Vec<RuleBlock> {
        let mut blocks: Vec<RuleBlock> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("  "), blocks.last_mut()) {
                (Some(inner), Some(block)) => block.lines.push(inner),
                _ if line.is_empty() || line.starts_with('#') => {}
                _ => blocks.push(RuleBlock {
                    head: line,
                    lines: Vec::new(),
                }),
            }
        }
        blocks
    }

    fn lines(&self, name: &str) -> Option<&[&'static str]> {
        let blocks = self.blocks.get_or_init(|| {
            let blocks = self.blocks().into_iter();
            blocks.map(|block| (block.head, block.lines)).collect()
        });
        blocks.get(name).map(Vec::as_slice)
    }

    /// A block as one pattern.
    pub(super) fn pattern(&self, name: &str) -> Option<String> {
        self.lines(name).map(|lines| lines.join("|"))
    }

    /// A block as a list.
    pub(super) fn items(&self, name: &str) -> Option<Vec<&'static str>> {
        Some(self.lines(name)?.iter().map(|line| item(line)).collect())
    }
}

/// An item without the quotes that keep its spaces.
fn item(line: &'static str) -> &'static str {
    line.strip_prefix('"')
        .and_then(|line| line.strip_suffix('"'))
        .unwrap_or(line)
}

/// A list of a table, read when first needed. A test holds that each is there.
pub(super) struct RuleList {
    table: &'static RuleTable,
    name: &'static str,
    items: OnceLock<Vec<&'static str>>,
}

impl RuleList {
    pub(super) const fn new(table: &'static RuleTable, name: &'static str) -> Self {
        Self {
            table,
            name,
            items: OnceLock::new(),
        }
    }
}

impl Deref for RuleList {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.items
            .get_or_init(|| self.table.items(self.name).unwrap_or_default())
    }
}

/// A table by the name of its file.
macro_rules! rule_table {
    ($file:literal) => {
        $crate::inspect::tables::RuleTable::new(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/data/scan/rules/",
            $file
        )))
    };
}

/// Declares the lists of a table, and a test that these are the ones it holds.
macro_rules! rule_lists {
    ($file:literal: $($name:ident),+ $(,)?) => {
        static LISTS: $crate::inspect::tables::RuleTable =
            $crate::inspect::tables::rule_table!($file);
        $(static $name: $crate::inspect::tables::RuleList =
            $crate::inspect::tables::RuleList::new(&LISTS, stringify!($name));)+

        #[cfg(test)]
        #[test]
        fn every_list_is_used_and_holds_something() {
            let heads: Vec<&str> = LISTS.blocks().iter().map(|block| block.head).collect();
            assert_eq!(heads, [$(stringify!($name)),+], $file);
            $(assert!(!$name.is_empty(), stringify!($name));)+
        }
    };
}

pub(super) use {rule_lists, rule_table};
