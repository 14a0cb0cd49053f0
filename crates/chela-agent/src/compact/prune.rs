//! Old tool results taken out of what is sent.
//!
//! The transcript keeps everything: what is pruned is decided once, when the provider's cache has
//! gone cold and is to be filled anew anyway, and written down. From then on every request leaves
//! out the same characters, so that what was sent before is sent again to the byte.

use std::sync::Arc;

use chela_config::model::ContextPruning;
use chela_model::{MessagePart, ModelMessage};
use serde::{Deserialize, Serialize};

/// About how many characters are a token.
const CHARS_PER_TOKEN: usize = 4;

/// What was decided about the tool results of a conversation, from its start on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PrunedResults {
    /// One per tool result, in their order; those that follow are whole.
    pub results: Vec<ResultFate>,
    pub head_chars: usize,
    pub tail_chars: usize,
    pub placeholder: String,
}

/// What becomes of a tool result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultFate {
    Whole,
    /// Its beginning and its end are left.
    Trimmed,
    Cleared,
}

impl PrunedResults {
    fn set_fate(&mut self, nth: usize, fate: ResultFate) {
        if let Some(result) = self.results.get_mut(nth) {
            *result = fate;
        }
    }

    /// What is worth pruning in `messages` for a window of `window` tokens; `None` when nothing
    /// is.
    pub fn decide(
        messages: &[Arc<ModelMessage>],
        settings: &ContextPruning,
        window: u64,
    ) -> Option<Self> {
        let most = usize::try_from(window).unwrap_or(usize::MAX) as f64 * CHARS_PER_TOKEN as f64;
        let all: usize = messages.iter().map(|message| chars_of(message)).sum();
        let share = |chars: usize| chars as f64 / most.max(1.0);
        if share(all) < settings.soft_trim_ratio {
            return None;
        }
        let mut pruned = Self {
            results: Vec::new(),
            head_chars: size(settings.soft_trim.head_chars),
            tail_chars: size(settings.soft_trim.tail_chars),
            placeholder: settings.hard_clear.placeholder.clone(),
        };
        let mut left = all;
        let mut open = Vec::new();
        let unprotected = unprotected(messages, settings.keep_last_assistants as usize);
        for (at, message) in messages.iter().enumerate() {
            let ModelMessage::ToolResult { tool, content, .. } = &**message else {
                continue;
            };
            let nth = pruned.results.len();
            pruned.results.push(ResultFate::Whole);
            let is_text = content
                .iter()
                .all(|part| matches!(part, MessagePart::Text { .. }));
            if !(unprotected.contains(&at) && is_text && is_allowed(tool, settings)) {
                continue;
            }
            let mut chars = chars_of(message);
            let kept = pruned.head_chars + pruned.tail_chars;
            if chars > size(settings.soft_trim.max_chars) && chars > kept {
                pruned.set_fate(nth, ResultFate::Trimmed);
                left -= chars - kept;
                chars = kept;
            }
            open.push((nth, chars));
        }
        let prunable: usize = open.iter().map(|(_, chars)| chars).sum();
        if settings.hard_clear.enabled && prunable >= size(settings.min_prunable_tool_chars) {
            // The oldest first, and no more than is needed.
            for (nth, chars) in open {
                if share(left) < settings.hard_clear_ratio {
                    break;
                }
                pruned.set_fate(nth, ResultFate::Cleared);
                left = left.saturating_sub(chars);
            }
        }
        pruned
            .results
            .iter()
            .any(|fate| *fate != ResultFate::Whole)
            .then_some(pruned)
    }

    /// The messages as they are sent.
    pub fn apply(&self, messages: &mut [Arc<ModelMessage>]) {
        let mut fates = self.results.iter();
        for message in messages {
            let ModelMessage::ToolResult {
                call_id,
                tool,
                content,
                is_error,
            } = &**message
            else {
                continue;
            };
            let text = match fates.next() {
                None => return,
                Some(ResultFate::Whole) => continue,
                Some(ResultFate::Trimmed) => {
                    trimmed(&text_of(content), self.head_chars, self.tail_chars)
                }
                Some(ResultFate::Cleared) => self.placeholder.clone(),
            };
            *message = Arc::new(ModelMessage::ToolResult {
                call_id: call_id.clone(),
                tool: tool.clone(),
                content: vec![MessagePart::text(text)],
                is_error: *is_error,
            });
        }
    }

    /// What was decided before stays decided: a result never grows again.
    pub fn after(mut self, before: &Self) -> Self {
        for (fate, earlier) in self.results.iter_mut().zip(&before.results) {
            if *earlier == ResultFate::Cleared || *fate == ResultFate::Whole {
                *fate = *earlier;
            }
        }
        self
    }
}

/// The messages that may be pruned: from the first of a person up to the newest answers.
fn unprotected(messages: &[Arc<ModelMessage>], keep: usize) -> std::ops::Range<usize> {
    let first = messages
        .iter()
        .position(|message| matches!(**message, ModelMessage::User { .. }))
        .unwrap_or(messages.len());
    let last = messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, message)| matches!(***message, ModelMessage::Assistant { .. }))
        .nth(keep.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let last = if keep == 0 { messages.len() } else { last };
    first..last
}

fn is_allowed(tool: &str, settings: &ContextPruning) -> bool {
    let names = |list: &[String]| list.iter().any(|name| name == tool || name == "*");
    !names(&settings.tools.deny) && settings.tools.allow.as_deref().is_none_or(names)
}

fn chars_of(message: &ModelMessage) -> usize {
    message
        .content()
        .iter()
        .map(|part| match part {
            MessagePart::Text { text } | MessagePart::Reasoning { text, .. } => {
                text.chars().count()
            }
            MessagePart::ToolCall(call) => {
                serde_json::to_string(&call.arguments).map_or(0, |text| text.len())
            }
            // Images are never pruned and cost the same whatever their bytes.
            MessagePart::Image { .. } => 0,
        })
        .sum()
}

fn text_of(content: &[MessagePart]) -> String {
    content
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

fn trimmed(text: &str, head: usize, tail: usize) -> String {
    let all = text.chars().count();
    if all <= head + tail {
        return text.to_owned();
    }
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(all - tail).collect();
    let gone = chela_core::grouped(all - head - tail);
    format!("{start}\n[… {gone} characters of an old result left out …]\n{end}")
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
