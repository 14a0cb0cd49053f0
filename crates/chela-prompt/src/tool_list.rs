//! The tool list: its order, its words, and which tools there are.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::out::{PromptWriter, SpanSource, one_line};
use crate::{PartKind, PromptTool};

/// One of Chela's own tools.
struct Core {
    name: &'static str,
    /// What follows the name in the list.
    rest: &'static str,
    /// All of its line.
    line: &'static str,
}

/// Chela's own tools in the order of the list, with what the list says of them.
static CORE: LazyLock<Vec<Core>> = LazyLock::new(|| {
    include_str!("../text/tools.md")
        .lines()
        .filter_map(|line| {
            let (name, _) = line.strip_prefix("- ")?.split_once(": ")?;
            let rest = &line["- ".len() + name.len()..];
            Some(Core { name, rest, line })
        })
        .collect()
});

/// The names of Chela's own tools, in the order in which the prompt lists them.
pub fn core_tools() -> impl Iterator<Item = &'static str> {
    CORE.iter().map(|core| core.name)
}

/// The tools of one run in the order of the list, each once.
pub(crate) struct ToolList<'a> {
    listed: Vec<Listed<'a>>,
}

struct Listed<'a> {
    tool: &'a PromptTool,
    name: Cow<'a, str>,
    /// The name in lower case: what tells tools apart.
    key: Cow<'a, str>,
    /// Position among the core tools; the rest follow by name.
    rank: usize,
}

impl<'a> ToolList<'a> {
    pub(crate) fn new(tools: &'a [PromptTool]) -> Self {
        let mut listed: Vec<Listed<'a>> = Vec::with_capacity(tools.len());
        let mut next = 0;
        for tool in tools {
            let name = one_line(&tool.name);
            if name.is_empty() {
                continue;
            }
            let key = lower_case(&name);
            // Tools mostly come in the order of the list, so the search goes on where it ended.
            let found = (next..CORE.len())
                .chain(0..next)
                .find(|&rank| CORE[rank].name == key);
            let rank = found.unwrap_or(CORE.len());
            next = found.map_or(next, |rank| rank + 1);
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

    /// The places, in the list of core tools, of those that are here: one bit each.
    pub(crate) fn core_ranks(&self) -> u128 {
        let core = self.listed.iter().filter(|listed| listed.rank < CORE.len());
        core.fold(0, |ranks, listed| ranks | 1 << listed.rank)
    }

    /// Whether there is a tool of this name, which is given in lower case.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.listed.iter().any(|listed| listed.key == name)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    pub(crate) fn write(&self, out: &mut PromptWriter) {
        for (at, listed) in self.listed.iter().enumerate() {
            if at > 0 {
                out.push("\n");
            }
            let source = SpanSource::new(&listed.tool.origin, listed.tool.trust);
            match CORE.get(listed.rank) {
                Some(core) if core.name == listed.name => {
                    let name = Cow::Borrowed(core.name);
                    out.part(PartKind::Tool { name }, source, |out| out.push(core.line));
                }
                core => {
                    let name = Cow::Owned(listed.name.clone().into_owned());
                    out.part(PartKind::Tool { name }, source, |out| {
                        listed.write(core, out)
                    });
                }
            }
        }
    }
}

impl Listed<'_> {
    /// Chela describes its own tools, however their name was spelt; others describe themselves.
    fn write(&self, core: Option<&Core>, out: &mut PromptWriter) {
        out.push("- ");
        out.push(&self.name);
        if let Some(core) = core {
            out.push(core.rest);
            return;
        }
        let summary = one_line(self.tool.summary.as_deref().unwrap_or_default());
        if !summary.is_empty() {
            out.push(": ");
            out.push(&summary);
        }
    }
}

fn lower_case<'a>(name: &Cow<'a, str>) -> Cow<'a, str> {
    match name {
        Cow::Borrowed(name)
            if name
                .bytes()
                .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) =>
        {
            Cow::Borrowed(name)
        }
        name => Cow::Owned(name.to_lowercase()),
    }
}
