//! The tool list: its order, its words, and which tools there are.

use std::borrow::Cow;
use std::sync::LazyLock;

use chela_core::Audience;

use crate::out::{Out, one_line};
use crate::{PartKind, Tool};

/// Chela's own tools in the order of the list, with what the list says of them.
static CORE: LazyLock<Vec<(&'static str, &'static str)>> = LazyLock::new(|| {
    include_str!("../text/tools.md")
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(": "))
        .collect()
});

/// The names of Chela's own tools, in the order in which the prompt lists them.
pub fn core_tools() -> impl Iterator<Item = &'static str> {
    CORE.iter().map(|(name, _)| *name)
}

/// The tools of one run in the order of the list, each once.
pub(crate) struct ToolList<'a> {
    listed: Vec<Listed<'a>>,
}

struct Listed<'a> {
    tool: &'a Tool,
    name: Cow<'a, str>,
    /// The name in lower case: what tells tools apart.
    key: String,
    /// Position among the core tools; the rest follow by name.
    rank: usize,
}

impl<'a> ToolList<'a> {
    pub(crate) fn new(tools: &'a [Tool]) -> Self {
        let mut listed: Vec<Listed<'a>> = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = one_line(&tool.name);
            if name.is_empty() {
                continue;
            }
            let key = name.to_lowercase();
            let rank = CORE
                .iter()
                .position(|(core, _)| *core == key)
                .unwrap_or(CORE.len());
            listed.push(Listed {
                tool,
                name,
                key,
                rank,
            });
        }
        // The sort is stable: of two spellings of a name the first given stays first and is kept.
        listed.sort_by(|a, b| (a.rank, &a.key).cmp(&(b.rank, &b.key)));
        listed.dedup_by(|later, first| later.key == first.key);
        Self { listed }
    }

    /// Whether there is a tool of this name, which is given in lower case.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.listed.iter().any(|listed| listed.key == name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn write(&self, out: &mut Out) {
        for (at, listed) in self.listed.iter().enumerate() {
            if at > 0 {
                out.push("\n");
            }
            let name = listed.name.clone().into_owned();
            let Tool { origin, trust, .. } = listed.tool;
            let kind = PartKind::Tool { name };
            out.part(kind, origin.clone(), *trust, Audience::Shared, |out| {
                out.push("- ");
                out.push(&listed.name);
                let summary = match CORE.get(listed.rank) {
                    Some((_, summary)) => Cow::Borrowed(*summary),
                    None => one_line(listed.tool.summary.as_deref().unwrap_or_default()),
                };
                if !summary.is_empty() {
                    out.push(": ");
                    out.push(&summary);
                }
            });
        }
    }
}
