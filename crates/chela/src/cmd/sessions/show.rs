//! `chela sessions show`.

use chela_agent::spoken::message_as_read;
use chela_model::{MessagePart, ModelMessage};
use chela_session::{EntryBody, TranscriptEntry, iso};
use chela_store::block_on;
use serde_json::{Value, json};

use super::{SessionOwner, explained, plain, short};
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, count_noun, grouped, shorten};

pub fn run(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    given: &str,
    last: Option<usize>,
    as_json: bool,
) -> CommandOutcome {
    let (sessions, session) = owner.find(given)?;
    let info = block_on(sessions.info(&session)).map_err(explained)?;
    let branch = block_on(sessions.branch(&session)).map_err(explained)?;
    let skip = branch.len() - last.unwrap_or(branch.len()).min(branch.len());
    let shown = branch.get(skip..).unwrap_or_default();
    if as_json {
        let entries: Vec<Value> = shown.iter().map(entry_json).collect();
        screen.json(&json!({ "session": info, "entries": entries }))?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let name = info.name().map(plain).unwrap_or_default();
    screen.line(format!(
        "{} {} {name}",
        paint.bold(&info.key),
        paint.dim(short(info.session_id.as_str()))
    ))?;
    screen.line(paint.dim(format!(
        "since {}, {}, {} tokens in, {} out",
        iso(info.started).get(..16).unwrap_or_default().replace('T', " "),
        count_noun(branch.len(), "entry"),
        grouped(usize::try_from(info.totals.input).unwrap_or(usize::MAX)),
        grouped(usize::try_from(info.totals.output).unwrap_or(usize::MAX)),
    )))?;
    if skip > 0 {
        screen.line(paint.dim(format!("… {skip} earlier")))?;
    }
    for entry in shown {
        screen.blank()?;
        print(screen, paint, entry)?;
    }
    Ok(CommandExit::Fine)
}

fn print(screen: &mut Screen, paint: ColourMode, entry: &TranscriptEntry) -> std::io::Result<()> {
    let at = paint.dim(
        iso(entry.at)
            .get(..19)
            .unwrap_or_default()
            .replace('T', " "),
    );
    match &entry.body {
        EntryBody::Message { message, meta } => {
            let who = match message {
                ModelMessage::User { .. } => match &meta.sender {
                    Some(sender) => {
                        let name = sender.name.as_deref().unwrap_or(&sender.id);
                        paint.accent(plain(name))
                    }
                    None => paint.accent("you"),
                },
                ModelMessage::Assistant { model, .. } => {
                    paint.good(model.as_deref().map_or("assistant".to_owned(), plain))
                }
                ModelMessage::ToolResult { tool, is_error, .. } if *is_error => {
                    paint.bad(format!("{} failed", plain(tool)))
                }
                ModelMessage::ToolResult { tool, .. } => paint.dim(plain(tool)),
            };
            screen.line(format!("{who}  {at}"))?;
            let lead = usize::try_from(meta.lead).unwrap_or(0);
            for part in message.content().iter().skip(lead) {
                match part {
                    MessagePart::Text { text } if matches!(message, ModelMessage::User { .. }) => {
                        screen.line(plain(&message_as_read(text, &meta.external)))?;
                    }
                    part => print_part(screen, paint, part, message)?,
                }
            }
        }
        EntryBody::CustomMessage(custom) => {
            screen.line(format!("{}  {at}", paint.dim(plain(&custom.custom_type))))?;
            for part in &custom.content {
                if let MessagePart::Text { text } = part {
                    screen.line(plain(text))?;
                }
            }
        }
        EntryBody::Compaction(compaction) => {
            screen.line(format!("{}  {at}", paint.warn("summarised")))?;
            screen.line(plain(&compaction.summary))?;
        }
        EntryBody::BranchSummary(left) => {
            screen.line(format!("{}  {at}", paint.warn("left a branch")))?;
            screen.line(plain(&left.summary))?;
        }
        EntryBody::ToolStarted { call_id } => {
            screen.line(paint.dim(format!("started {}", plain(call_id))))?;
        }
        EntryBody::TurnEnded { how } => {
            screen.line(paint.dim(format!("the turn ended: {}", plain(how))))?;
        }
        EntryBody::Custom(custom) => {
            screen.line(paint.dim(format!("({})", plain(&custom.custom_type))))?;
        }
        EntryBody::Unknown { kind, .. } => screen.line(paint.dim(format!("({})", plain(kind))))?,
    }
    Ok(())
}

fn print_part(
    screen: &mut Screen,
    paint: ColourMode,
    part: &MessagePart,
    message: &ModelMessage,
) -> std::io::Result<()> {
    match part {
        MessagePart::Text { text } if matches!(message, ModelMessage::ToolResult { .. }) => {
            let text = plain(text);
            let lines = text.lines().count();
            for line in text.lines().take(6) {
                screen.line(paint.dim(format!("  {}", shorten(line, 160))))?;
            }
            if lines > 6 {
                screen.line(paint.dim(format!("  … {} more", count_noun(lines - 6, "line"))))?;
            }
            Ok(())
        }
        MessagePart::Text { text } => screen.line(plain(text)),
        MessagePart::Image { mime, data } => screen.line(paint.dim(format!(
            "[{}, {} KB]",
            plain(mime),
            data.len() * 3 / 4 / 1024
        ))),
        MessagePart::Reasoning { text, .. } => {
            screen.line(paint.dim(format!("(thought) {}", plain(text))))
        }
        MessagePart::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            screen.line(paint.dim(format!(
                "→ {} {}",
                plain(&call.name),
                shorten(&plain(&arguments), 160)
            )))
        }
    }
}

fn entry_json(entry: &TranscriptEntry) -> Value {
    entry.to_json()
}
