//! How much of a request the provider has read before, and why not more.

use std::ops::Range;

use chela_core::Origin;
use serde::{Deserialize, Serialize};

use crate::mark::SectionMark;
use crate::shape::{RequestPlace, RequestShape, RequestUnit, same};

/// A request, as far as the cache is concerned.
#[derive(Debug, Clone, Copy)]
pub struct CachedRequest<'a> {
    pub body: &'a [u8],
    /// Members of it that are for the server alone.
    pub unread: &'a [&'a str],
    /// `provider/model`.
    pub model: &'a str,
    pub url: &'a str,
    pub sections: &'a [SectionMark],
}

/// What was done to the conversation on purpose since the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ContextRewrite {
    Compaction,
    /// A compaction was taken back.
    CompactionUndone,
    /// Messages were taken back. What was before them is still known, so this alone breaks
    /// nothing.
    Undo,
    /// Old tool results were shortened after the cache had gone cold.
    Pruning,
    Reset,
}

/// How much of a request was read before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrefixReuse {
    /// The reused prefix, of tools, system prompt and conversation in this order.
    pub bytes: u64,
    pub tokens: u64,
    pub total_bytes: u64,
    pub total_tokens: u64,
    /// Tokens that would not have been read again without the break.
    pub reread_tokens: u64,
    #[serde(rename = "break", default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<PrefixBreak>,
}

/// Where the reused prefix ends too early, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrefixBreak {
    /// In the body of the later request.
    pub offset: u64,
    /// Where that is, as a path: `tools[3]`, `messages[0].content`.
    pub path: String,
    pub place: RequestPlace,
    pub cause: BreakCause,
}

/// Why a prefix broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum BreakCause {
    FirstRequest,
    Compaction,
    CompactionUndone,
    Pruning,
    Reset,
    ModelChanged {
        from: String,
        to: String,
    },
    ProviderChanged {
        from: String,
        to: String,
    },
    FileChanged {
        path: String,
    },
    ToolAdded {
        name: String,
    },
    ToolRemoved {
        name: String,
    },
    ToolChanged {
        name: String,
    },
    ToolsReordered,
    SkillsChanged {
        names: Vec<String>,
    },
    PluginChanged {
        id: String,
    },
    SettingChanged {
        key: String,
    },
    /// A section that comes from no file and no setting.
    SectionChanged {
        id: String,
    },
    HistoryEdited {
        message: usize,
    },
    /// The system prompt differs and no section says why.
    SystemChanged,
}

impl BreakCause {
    /// Whether somebody asked for it, or nothing was there to break.
    pub fn is_meant(&self) -> bool {
        matches!(
            self,
            Self::FirstRequest
                | Self::Compaction
                | Self::CompactionUndone
                | Self::Pruning
                | Self::Reset
        )
    }

    /// One word, for sums.
    pub fn word(&self) -> &'static str {
        match self {
            Self::FirstRequest => "first",
            Self::Compaction => "compaction",
            Self::CompactionUndone => "undo",
            Self::Pruning => "pruning",
            Self::Reset => "reset",
            Self::ModelChanged { .. } => "model",
            Self::ProviderChanged { .. } => "provider",
            Self::FileChanged { .. } => "file",
            Self::ToolAdded { .. }
            | Self::ToolRemoved { .. }
            | Self::ToolChanged { .. }
            | Self::ToolsReordered => "tools",
            Self::SkillsChanged { .. } => "skills",
            Self::PluginChanged { .. } => "plugin",
            Self::SettingChanged { .. } => "setting",
            Self::SectionChanged { .. } => "section",
            Self::HistoryEdited { .. } => "history",
            Self::SystemChanged => "system",
        }
    }
}

impl std::fmt::Display for BreakCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FirstRequest => f.write_str("first request"),
            Self::Compaction => f.write_str("the conversation was compacted"),
            Self::CompactionUndone => f.write_str("a compaction was undone"),
            Self::Pruning => f.write_str("old tool results were pruned while the cache was cold"),
            Self::Reset => f.write_str("the conversation was restarted"),
            Self::ModelChanged { from, to } => write!(f, "the model changed from {from} to {to}"),
            Self::ProviderChanged { from, to } => {
                write!(f, "the endpoint changed from {from} to {to}")
            }
            Self::FileChanged { path } => write!(f, "the file {path} changed"),
            Self::ToolAdded { name } => write!(f, "the tool {name} was added"),
            Self::ToolRemoved { name } => write!(f, "the tool {name} was removed"),
            Self::ToolChanged { name } => write!(f, "the tool {name} changed"),
            Self::ToolsReordered => f.write_str("the tools were reordered"),
            Self::SkillsChanged { names } if names.is_empty() => {
                f.write_str("the list of skills changed")
            }
            Self::SkillsChanged { names } => {
                write!(f, "the list of skills changed: {}", names.join(", "))
            }
            Self::PluginChanged { id } => write!(f, "what the plugin {id} contributes changed"),
            Self::SettingChanged { key } => write!(f, "the setting {key} changed"),
            Self::SectionChanged { id } => write!(f, "the section {id} changed"),
            Self::HistoryEdited { message } => write!(f, "message {message} was changed"),
            Self::SystemChanged => f.write_str("the system prompt changed"),
        }
    }
}

/// Compares a request with the one before it. `weigh` says what a range of the later body costs
/// in tokens.
pub fn compare(
    before: Option<&CachedRequest<'_>>,
    after: &CachedRequest<'_>,
    rewrite: Option<ContextRewrite>,
    weigh: &dyn Fn(Range<usize>) -> u64,
) -> PrefixReuse {
    let shape = RequestShape::of(after.body, after.unread);
    let total_bytes = shape.units().map(|unit| unit.range.len() as u64).sum();
    let total_tokens = shape.units().map(|unit| weigh(unit.range.clone())).sum();
    let mut reuse = PrefixReuse {
        bytes: 0,
        tokens: 0,
        total_bytes,
        total_tokens,
        reread_tokens: 0,
        broken: None,
    };
    let Some(before) = before else {
        reuse.broken = Some(whole(BreakCause::FirstRequest));
        return reuse;
    };
    let earlier = RequestShape::of(before.body, after.unread);
    if let Some(cause) = elsewhere(before, after) {
        reuse.broken = Some(whole(cause));
    } else {
        let compared = Compared {
            before,
            after,
            earlier: &earlier,
            later: &shape,
        };
        let found = compared.first_difference();
        let head = shape.tools.len() + shape.system.len() + shape.settings.len();
        let (last, shared) = found
            .as_ref()
            .map_or((head + earlier.messages.len(), 0), |found| {
                (found.unit, found.shared)
            });
        for (at, unit) in shape.units().enumerate().take(last + 1) {
            let length = if at < last { unit.range.len() } else { shared };
            reuse.bytes += length as u64;
            reuse.tokens += weigh(unit.range.start..unit.range.start + length);
        }
        let is_taken_back = |broken: &PrefixBreak| {
            rewrite == Some(ContextRewrite::Undo)
                && matches!(broken.cause, BreakCause::HistoryEdited { .. })
        };
        reuse.broken = found
            .map(|found| found.broken)
            .filter(|broken| !is_taken_back(broken));
    }
    if let Some(broken) = &mut reuse.broken {
        match rewrite {
            Some(ContextRewrite::Compaction) => broken.cause = BreakCause::Compaction,
            Some(ContextRewrite::CompactionUndone) => broken.cause = BreakCause::CompactionUndone,
            Some(ContextRewrite::Pruning) => broken.cause = BreakCause::Pruning,
            Some(ContextRewrite::Reset) => broken.cause = BreakCause::Reset,
            Some(ContextRewrite::Undo) | None => {}
        }
        // By bytes, as the tokens of the earlier request are not at hand here.
        let earlier_bytes: u64 = earlier.units().map(|unit| unit.range.len() as u64).sum();
        let lost = earlier_bytes
            .saturating_sub(reuse.bytes)
            .min(total_bytes - reuse.bytes);
        let rest = (total_bytes - reuse.bytes).max(1);
        let unread = u128::from(total_tokens - reuse.tokens.min(total_tokens));
        reuse.reread_tokens =
            u64::try_from(unread * u128::from(lost) / u128::from(rest)).unwrap_or(u64::MAX);
    }
    reuse
}

fn whole(cause: BreakCause) -> PrefixBreak {
    PrefixBreak {
        offset: 0,
        path: String::new(),
        place: RequestPlace::Request,
        cause,
    }
}

/// Another model or another endpoint has a cache of its own.
fn elsewhere(before: &CachedRequest<'_>, after: &CachedRequest<'_>) -> Option<BreakCause> {
    let provider = |model: &str| {
        model
            .split_once('/')
            .map(|(provider, _)| provider.to_owned())
    };
    if before.model != after.model {
        let (from, to) = (before.model.to_owned(), after.model.to_owned());
        return Some(match (provider(&from), provider(&to)) {
            (Some(one), Some(other)) if one != other => BreakCause::ProviderChanged { from, to },
            _ => BreakCause::ModelChanged { from, to },
        });
    }
    (before.url != after.url).then(|| BreakCause::ProviderChanged {
        from: before.url.to_owned(),
        to: after.url.to_owned(),
    })
}

struct Compared<'a> {
    before: &'a CachedRequest<'a>,
    after: &'a CachedRequest<'a>,
    earlier: &'a RequestShape,
    later: &'a RequestShape,
}

/// The first place where two requests differ.
struct Difference {
    /// Which unit of the later request, in cache order; one past the last when it is its end.
    unit: usize,
    /// How many bytes of that unit are the same.
    shared: usize,
    broken: PrefixBreak,
}

impl Compared<'_> {
    fn first_difference(&self) -> Option<Difference> {
        let mut passed = 0;
        if let Some(at) = self.differing(&self.earlier.tools, &self.later.tools) {
            return Some(self.at(passed, &self.later.tools, at, self.tool_cause(at)));
        }
        passed += self.later.tools.len();
        if let Some(at) = self.differing(&self.earlier.system, &self.later.system) {
            let mut found = self.at(passed, &self.later.system, at, BreakCause::SystemChanged);
            self.name_section(&mut found.broken);
            return Some(found);
        }
        passed += self.later.system.len();
        if let Some(at) = self.differing(&self.earlier.settings, &self.later.settings) {
            let key = [self.later.settings.get(at), self.earlier.settings.get(at)]
                .into_iter()
                .flatten()
                .next()
                .map_or_else(String::new, |unit| unit.path.clone());
            let cause = BreakCause::SettingChanged { key: key.clone() };
            let mut found = self.at(passed, &self.later.settings, at, cause);
            found.broken.place = RequestPlace::Setting { key };
            found.shared = 0;
            return Some(found);
        }
        passed += self.later.settings.len();
        // A conversation that goes on is no break, nor is one that was taken back.
        let both = self.earlier.messages.len().min(self.later.messages.len());
        let at = self.differing(&self.earlier.messages[..both], &self.later.messages[..both])?;
        let message = match self.later.messages.get(at).map(|unit| &unit.place) {
            Some(RequestPlace::Message { index, .. }) => *index,
            _ => at,
        };
        let cause = BreakCause::HistoryEdited { message };
        Some(self.at(passed, &self.later.messages, at, cause))
    }

    /// The first place where two lists differ, their ends included.
    fn differing(&self, earlier: &[RequestUnit], later: &[RequestUnit]) -> Option<usize> {
        let both = earlier.len().min(later.len());
        (0..both)
            .find(|at| {
                !same(
                    &self.before.body[earlier[*at].range.clone()],
                    &self.after.body[later[*at].range.clone()],
                )
            })
            .or((earlier.len() != later.len()).then_some(both))
    }

    fn at(&self, passed: usize, later: &[RequestUnit], at: usize, cause: BreakCause) -> Difference {
        let Some(unit) = later.get(at) else {
            // The later list ends here: the break is behind its last element.
            let last = later.last();
            return Difference {
                unit: passed + at,
                shared: 0,
                broken: PrefixBreak {
                    offset: last.map_or(0, |unit| unit.range.end as u64),
                    path: last.map_or_else(String::new, |unit| unit.path.clone()),
                    place: last.map_or(RequestPlace::Request, |unit| unit.place.clone()),
                    cause,
                },
            };
        };
        let counterpart = self.earlier.units().find(|old| old.path == unit.path);
        let shared = counterpart.map_or(0, |old| {
            common(
                &self.before.body[old.range.clone()],
                &self.after.body[unit.range.clone()],
            )
        });
        Difference {
            unit: passed + at,
            shared,
            broken: PrefixBreak {
                offset: (unit.range.start + shared) as u64,
                path: unit.path.clone(),
                place: unit.place.clone(),
                cause,
            },
        }
    }

    fn tool_cause(&self, at: usize) -> BreakCause {
        let (earlier, later) = (&self.earlier.tools, &self.later.tools);
        let has = |list: &[RequestUnit], unit: &RequestUnit| {
            list.iter().any(|other| other.place == unit.place)
        };
        let named = |unit: &RequestUnit| match &unit.place {
            RequestPlace::Tool { name } => name.clone(),
            other => other.to_string(),
        };
        match (earlier.get(at), later.get(at)) {
            (Some(old), Some(new)) if old.place == new.place => {
                BreakCause::ToolChanged { name: named(new) }
            }
            (_, Some(new)) if !has(earlier, new) => BreakCause::ToolAdded { name: named(new) },
            (Some(old), _) if !has(later, old) => BreakCause::ToolRemoved { name: named(old) },
            _ => BreakCause::ToolsReordered,
        }
    }

    /// Which section made the system prompt differ.
    fn name_section(&self, broken: &mut PrefixBreak) {
        let (before, after) = (self.before.sections, self.after.sections);
        let at = before
            .iter()
            .zip(after)
            .position(|(old, new)| !old.is_same_place(new) || old.hash != new.hash)
            .or_else(|| (before.len() != after.len()).then(|| before.len().min(after.len())));
        let Some(at) = at else { return };
        let (old, new) = (before.get(at), after.get(at));
        let moved_on = |old: &SectionMark| after.iter().any(|new| new.is_same_place(old));
        // A section that is gone is to blame itself, not the one that moved up.
        let mark = match (old, new) {
            (Some(old), _) if !moved_on(old) => old,
            (_, Some(new)) => new,
            (Some(old), None) => old,
            (None, None) => return,
        };
        broken.place = RequestPlace::Section {
            id: mark.id.clone(),
        };
        let old = before.iter().find(|old| old.is_same_place(mark));
        let new = after.iter().find(|new| new.is_same_place(mark));
        broken.cause = cause_of(mark, old, new);
    }
}

fn cause_of(
    mark: &SectionMark,
    old: Option<&SectionMark>,
    new: Option<&SectionMark>,
) -> BreakCause {
    let listed = |mark: Option<&SectionMark>| mark.map_or(Vec::new(), |mark| mark.lists.clone());
    let (was, is) = (listed(old), listed(new));
    if !was.is_empty() || !is.is_empty() {
        let only = |one: &[String], other: &[String]| -> Vec<String> {
            one.iter()
                .filter(|name| !other.contains(name))
                .cloned()
                .collect()
        };
        let mut names = only(&is, &was);
        names.extend(only(&was, &is));
        return BreakCause::SkillsChanged { names };
    }
    match &mark.origin {
        Origin::File { path, .. } => BreakCause::FileChanged { path: path.clone() },
        Origin::Config { key } => BreakCause::SettingChanged { key: key.clone() },
        Origin::Plugin { id, .. } => BreakCause::PluginChanged { id: id.clone() },
        Origin::BuiltIn
        | Origin::Runtime
        | Origin::Tool { .. }
        | Origin::Channel { .. }
        | Origin::Provider { .. } => BreakCause::SectionChanged {
            id: mark.id.clone(),
        },
    }
}

fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .position(|(a, b)| a != b)
        .unwrap_or(one.len().min(other.len()))
}

#[cfg(test)]
mod tests;
