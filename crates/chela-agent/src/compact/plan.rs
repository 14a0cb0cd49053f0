//! Where a conversation is cut.

use chela_core::tokens;
use chela_model::{MessagePart, ModelMessage};

/// What of the newest messages is kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepRecent {
    /// At most about this many tokens, unless one turn alone is longer.
    pub tokens: usize,
    /// At least this many turns, as long as they fit.
    pub turns: usize,
}

/// Where the kept part begins: everything before this index is summarised. Always the first
/// message of a turn, so that a call is never separated from its result; 0 when there is nothing
/// worth summarising.
pub fn cut_point(messages: &[ModelMessage], keep: KeepRecent) -> usize {
    let starts: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(at, message)| is_turn_start(messages, *at, message))
        .map(|(at, _)| at)
        .collect();
    let mut kept_tokens = 0;
    let mut cut = messages.len();
    for (kept_turns, (nth, &start)) in starts.iter().enumerate().rev().enumerate() {
        let end = starts.get(nth + 1).copied().unwrap_or(messages.len());
        let turn: usize = messages
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .map(tokens_of)
            .sum();
        let wanted = kept_turns < keep.turns.max(1) || kept_tokens + turn <= keep.tokens;
        let fits = kept_turns == 0 || kept_tokens + turn <= keep.tokens;
        if !(wanted && fits) {
            break;
        }
        kept_tokens += turn;
        cut = start;
    }
    cut
}

/// A person's message, unless it came in the middle of a step.
fn is_turn_start(messages: &[ModelMessage], at: usize, message: &ModelMessage) -> bool {
    let ModelMessage::User { .. } = message else {
        return false;
    };
    match at.checked_sub(1).and_then(|before| messages.get(before)) {
        // A result was still missing: the message steered a turn that was under way.
        Some(before @ ModelMessage::Assistant { .. }) => before.tool_calls().next().is_none(),
        _ => true,
    }
}

/// What a message costs, as far as it can be counted here.
pub fn tokens_of(message: &ModelMessage) -> usize {
    /// Providers agree on the order of magnitude.
    const IMAGE: usize = 1_200;
    /// Role and separators.
    const FRAME: usize = 4;
    let parts: usize = message
        .content()
        .iter()
        .map(|part| match part {
            MessagePart::Text { text } | MessagePart::Reasoning { text, .. } => tokens::count(text),
            MessagePart::Image { .. } => IMAGE,
            MessagePart::ToolCall(call) => {
                tokens::count(&call.name)
                    + serde_json::to_string(&call.arguments).map_or(0, |text| tokens::count(&text))
            }
        })
        .sum();
    FRAME + parts
}

/// The sections of a Markdown text whose headings have these names, headings included.
pub fn sections_named(text: &str, names: &[String]) -> String {
    let mut out = String::new();
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let depth = line.chars().take_while(|c| *c == '#').count();
        if (1..=6).contains(&depth) && line.get(depth..).unwrap_or_default().starts_with(' ') {
            let name = line.get(depth..).unwrap_or_default().trim();
            if names
                .iter()
                .any(|wanted| wanted.trim().eq_ignore_ascii_case(name))
            {
                open = Some(open.map_or(depth, |outer| outer.min(depth)));
            } else if open.is_some_and(|outer| depth <= outer) {
                open = None;
            }
        }
        if open.is_some() {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{KeepRecent, cut_point, sections_named};
    use chela_model::{MessagePart, ModelMessage, ToolCall};
    use proptest::prelude::*;

    fn call(id: &str) -> ModelMessage {
        ModelMessage::Assistant {
            content: vec![MessagePart::ToolCall(ToolCall {
                id: id.into(),
                name: "read".into(),
                arguments: Default::default(),
                malformed: None,
            })],
            model: None,
        }
    }

    fn result(id: &str) -> ModelMessage {
        ModelMessage::ToolResult {
            call_id: id.into(),
            tool: "read".into(),
            content: vec![MessagePart::text("words of a file")],
            is_error: false,
        }
    }

    fn answer() -> ModelMessage {
        ModelMessage::Assistant {
            content: vec![MessagePart::text("done")],
            model: None,
        }
    }

    const KEEP: KeepRecent = KeepRecent {
        tokens: 60,
        turns: 1,
    };

    #[test]
    fn keeps_whole_turns() {
        let one = [ModelMessage::user("hi"), call("a"), result("a"), answer()];
        let many: Vec<ModelMessage> = std::iter::repeat_n(one.clone(), 10).flatten().collect();
        let cut = cut_point(&many, KEEP);
        assert!(cut > 0 && cut < many.len());
        assert_eq!(cut % 4, 0, "{cut}");
        assert_eq!(cut_point(&one, KEEP), 0);
        assert_eq!(cut_point(&[], KEEP), 0);
    }

    #[test]
    fn the_newest_turn_is_kept_however_long() {
        let long = ModelMessage::user("word ".repeat(500));
        let messages = [ModelMessage::user("hi"), answer(), long, answer()];
        assert_eq!(cut_point(&messages, KEEP), 2);
    }

    #[test]
    fn named_sections_with_what_is_under_them() {
        let text = "# All\nx\n## Red Lines\nnever\n### Also\nthis\n## Style\nnice\n";
        let found = sections_named(text, &["red lines".into()]);
        assert_eq!(found, "## Red Lines\nnever\n### Also\nthis\n");
    }

    proptest! {
        #[test]
        fn no_call_is_separated_from_its_result(turns in prop::collection::vec(0usize..4, 1..12), keep in 1usize..200) {
            let mut messages = Vec::new();
            for (turn, calls) in turns.iter().enumerate() {
                messages.push(ModelMessage::user("hello there"));
                for n in 0..*calls {
                    let id = format!("{turn}-{n}");
                    messages.push(call(&id));
                    messages.push(result(&id));
                }
                messages.push(answer());
            }
            let cut = cut_point(&messages, KeepRecent { tokens: keep, turns: 2 });
            let kept = &messages[cut..];
            for message in kept {
                if let ModelMessage::ToolResult { call_id, .. } = message {
                    prop_assert!(kept.iter().any(|m| m.tool_calls().any(|c| c.id == *call_id)));
                }
            }
        }
    }
}
