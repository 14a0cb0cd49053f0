//! `chela sessions show`.

use chela_model::{Message, Part};
use chela_session::{Body, Entry, iso};
use chela_store::block_on;
use serde_json::{Value, json};

use super::{Place, explained, plain, short};
use crate::cmd::Outcome;
use crate::fail::Exit;
use crate::screen::{Paint, Screen, counted, grouped, shorten};

pub fn run(
    place: &Place<'_>,
    screen: &mut Screen,
    given: &str,
    last: Option<usize>,
    as_json: bool,
) -> Outcome {
    let (sessions, session) = place.find(given)?;
    let info = block_on(sessions.info(&session)).map_err(explained)?;
    let branch = block_on(sessions.branch(&session)).map_err(explained)?;
    let skip = branch.len() - last.unwrap_or(branch.len()).min(branch.len());
    let shown = &branch[skip..];
    if as_json {
        let entries: Vec<Value> = shown.iter().map(entry_json).collect();
        screen.json(&json!({ "session": info, "entries": entries }))?;
        return Ok(Exit::Fine);
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
        &iso(info.started)[..16].replace('T', " "),
        counted(branch.len(), "entry").replace("entrys", "entries"),
        grouped(usize::try_from(info.totals.input).unwrap_or(usize::MAX)),
        grouped(usize::try_from(info.totals.output).unwrap_or(usize::MAX)),
    )))?;
    if skip > 0 {
        screen.line(paint.dim(format!("… {skip} before")))?;
    }
    for entry in shown {
        screen.blank()?;
        print(screen, paint, entry)?;
    }
    Ok(Exit::Fine)
}

fn print(screen: &mut Screen, paint: Paint, entry: &Entry) -> std::io::Result<()> {
    let at = paint.dim(iso(entry.at)[..19].replace('T', " "));
    match &entry.body {
        Body::Message { message, meta } => {
            let who = match message {
                Message::User { .. } => match &meta.sender {
                    Some(sender) => {
                        let name = sender.name.as_deref().unwrap_or(&sender.id);
                        paint.accent(plain(name))
                    }
                    None => paint.accent("you"),
                },
                Message::Assistant { model, .. } => {
                    paint.good(model.as_deref().map_or("assistant".to_owned(), plain))
                }
                Message::ToolResult { tool, is_error, .. } if *is_error => {
                    paint.bad(format!("{} failed", plain(tool)))
                }
                Message::ToolResult { tool, .. } => paint.dim(plain(tool)),
            };
            screen.line(format!("{who}  {at}"))?;
            let lead = usize::try_from(meta.lead).unwrap_or(0);
            for part in message.content().iter().skip(lead) {
                print_part(screen, paint, part, message)?;
            }
        }
        Body::CustomMessage(custom) => {
            screen.line(format!("{}  {at}", paint.dim(plain(&custom.custom_type))))?;
            for part in &custom.content {
                if let Part::Text { text } = part {
                    screen.line(plain(text))?;
                }
            }
        }
        Body::Compaction(compaction) => {
            screen.line(format!("{}  {at}", paint.warn("summarised")))?;
            screen.line(plain(&compaction.summary))?;
        }
        Body::BranchSummary(left) => {
            screen.line(format!("{}  {at}", paint.warn("left a branch")))?;
            screen.line(plain(&left.summary))?;
        }
        Body::ToolStarted { call_id } => {
            screen.line(paint.dim(format!("started {}", plain(call_id))))?;
        }
        Body::TurnEnded { how } => {
            screen.line(paint.dim(format!("the turn ended: {}", plain(how))))?;
        }
        Body::Custom(custom) => {
            screen.line(paint.dim(format!("({})", plain(&custom.custom_type))))?;
        }
        Body::Unknown { kind, .. } => screen.line(paint.dim(format!("({})", plain(kind))))?,
    }
    Ok(())
}

fn print_part(
    screen: &mut Screen,
    paint: Paint,
    part: &Part,
    message: &Message,
) -> std::io::Result<()> {
    match part {
        Part::Text { text } if matches!(message, Message::ToolResult { .. }) => {
            let text = plain(text);
            let lines = text.lines().count();
            for line in text.lines().take(6) {
                screen.line(paint.dim(format!("  {}", shorten(line, 160))))?;
            }
            if lines > 6 {
                screen.line(paint.dim(format!("  … {} more", counted(lines - 6, "line"))))?;
            }
            Ok(())
        }
        Part::Text { text } => screen.line(plain(text)),
        Part::Image { mime, data } => screen.line(paint.dim(format!(
            "[{}, {} KB]",
            plain(mime),
            data.len() * 3 / 4 / 1024
        ))),
        Part::Reasoning { text, .. } => {
            screen.line(paint.dim(format!("(thought) {}", plain(text))))
        }
        Part::ToolCall(call) => {
            let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
            screen.line(paint.dim(format!(
                "→ {} {}",
                plain(&call.name),
                shorten(&plain(&arguments), 160)
            )))
        }
    }
}

fn entry_json(entry: &Entry) -> Value {
    entry.to_json()
}
