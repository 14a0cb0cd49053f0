//! A summary made without a model: less graceful, never wrong.

use chela_model::{MessagePart, ModelMessage};

use super::quality::{identifiers_of, pending_question};

/// Characters of one message that are quoted.
const QUOTE: usize = 280;
/// Most bullets under one heading; the newest are kept.
const BULLETS: usize = 30;

/// A summary with all required headings, from the messages themselves: what the person asked for,
/// what was done with which tools, what is still open. Its size is bounded whatever it is given.
pub fn digest(messages: &[ModelMessage], earlier: Option<&str>) -> String {
    let mut goals = Vec::new();
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for message in messages {
        match message {
            ModelMessage::User { .. } => goals.push(quoted(&message.text())),
            ModelMessage::Assistant { content, .. } => {
                done.extend(content.iter().filter_map(|part| match part {
                    MessagePart::ToolCall(call) => Some(format!(
                        "{} {}",
                        call.name,
                        quoted(&serde_json::to_string(&call.arguments).unwrap_or_default())
                    )),
                    MessagePart::Text { text } if !text.trim().is_empty() => {
                        Some(format!("said: {}", quoted(text)))
                    }
                    _ => None,
                }));
            }
            ModelMessage::ToolResult { tool, is_error, .. } => {
                if *is_error {
                    failed.push(format!("{tool} failed: {}", quoted(&message.text())));
                }
            }
        }
    }
    let mut open: Vec<String> = failed;
    open.extend(pending_question(messages));
    let mut out = String::new();
    section(&mut out, "## Goals", &goals);
    section(
        &mut out,
        "## Decisions",
        &earlier
            .map(|text| vec![one_line(text, 4 * QUOTE)])
            .unwrap_or_default(),
    );
    section(&mut out, "## Done", &done);
    section(&mut out, "## Open", &open);
    section(&mut out, "## Identifiers", &identifiers_of(messages));
    out
}

fn section(out: &mut String, heading: &str, bullets: &[String]) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&format!("{heading}\n"));
    let left_out = bullets.len().saturating_sub(BULLETS);
    if left_out > 0 {
        out.push_str(&format!("- ({left_out} older ones left out)\n"));
    }
    for bullet in bullets.get(left_out..).unwrap_or_default() {
        out.push_str(&format!("- {bullet}\n"));
    }
    if bullets.is_empty() {
        out.push_str("- none\n");
    }
}

fn quoted(text: &str) -> String {
    one_line(text, QUOTE)
}

fn one_line(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::digest;
    use crate::compact::shortfalls;
    use chela_model::{MessagePart, ModelMessage};

    #[test]
    fn passes_its_own_check_and_stays_small() {
        let mut messages: Vec<ModelMessage> = (0..500)
            .map(|n| ModelMessage::user(format!("{} file-{n}.md", "please ".repeat(200))))
            .collect();
        messages.push(ModelMessage::Assistant {
            content: vec![MessagePart::text("Which one first?")],
            model: None,
        });
        let summary = digest(&messages, Some("## Goals\n- before"));
        assert_eq!(shortfalls(&summary, &messages), []);
        assert!(summary.len() < 40_000, "{}", summary.len());
        assert_eq!(shortfalls(&digest(&[], None), &[]), []);
    }
}
