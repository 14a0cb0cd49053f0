//! What is said about a command.

use chela_core::{ContentHash, Origin, Trust, grouped};
use chela_guard::{ExternalSource, LabelledText};
use serde_json::{Value, json};

use super::job::{CommandEnd, CommandJob};
use super::kept::KeptCommand;
use super::plain::plain;
use super::spool::OutputPart;
use super::table::ProcessesSetup;
use crate::{CallSuccess, OutputPiece, ToolOutput};

/// One line: running, or how it ended.
pub fn status(job: &CommandJob) -> String {
    let state = job.state();
    let after = state
        .ended_at
        .unwrap_or_else(tokio::time::Instant::now)
        .duration_since(job.started);
    let seconds = after.as_secs_f64();
    let mut line = match &state.ended {
        None => format!("Still running after {seconds:.1} s as `{}`.", job.id),
        Some(CommandEnd::Code(code)) => format!("Exit code {code} after {seconds:.1} s."),
        Some(CommandEnd::Signal(signal)) => {
            format!("Ended by signal {signal} after {seconds:.1} s.")
        }
        Some(CommandEnd::TimedOut) => format!("Stopped after {seconds:.1} s: its time was up."),
        Some(CommandEnd::Stopped) => format!("Stopped after {seconds:.1} s."),
        Some(CommandEnd::TooMuchOutput) => {
            format!("Stopped after {seconds:.1} s: it printed more than 4 GB.")
        }
        Some(CommandEnd::TooManyProcesses) => {
            let most = chela_core::grouped(job.watched.processes);
            format!("Stopped after {seconds:.1} s: it started more than {most} processes.")
        }
        Some(CommandEnd::TooMuchMemory) => {
            let most = job.watched.memory.unwrap_or_default() >> 20;
            format!("Stopped after {seconds:.1} s: it used more than {most} MiB of memory.")
        }
        Some(CommandEnd::Lost(why)) => format!("It ended, how is not known: {why}."),
    };
    if state.left_behind > 0 {
        line += &format!(
            " {} it left running were ended with it; use background: true for what should stay.",
            counted(state.left_behind)
        );
    }
    line
}

fn counted(processes: usize) -> String {
    match processes {
        1 => "1 process".to_owned(),
        more => format!("{} processes", grouped(more)),
    }
}

/// What it printed, as far as it fits, and its status.
pub fn whole(job: &CommandJob, call: &str, setup: &ProcessesSetup) -> ToolOutput {
    let most = setup.most_shown;
    let (text, total) = {
        let mut spool = job.spool();
        spool.settle();
        let total = spool.total();
        if total <= most as u64 {
            (plain(&spool.read(0, most).bytes), total)
        } else {
            let head = spool.read(0, most / 4).bytes;
            let end = spool.end(most - most / 4);
            let missing = end.lost.saturating_sub(head.len() as u64);
            let text = if super::plain::is_binary(&head) {
                plain(&head)
            } else {
                format!(
                    "{}\n[… {} bytes left out; read them with `process`, action log, sessionId {} …]\n{}",
                    plain(&head),
                    grouped(usize::try_from(missing).unwrap_or(usize::MAX)),
                    job.id,
                    plain(&end.bytes)
                )
            };
            (text, total)
        }
    };
    drop(job.news(0));
    ToolOutput {
        written: job.written.clone(),
        ..report_job(job, call, text, setup).with_details(details(job, total))
    }
}

/// What it printed since the last time, and its status.
pub fn news(job: &CommandJob, call: &str, setup: &ProcessesSetup) -> ToolOutput {
    let OutputPart { bytes, lost } = job.news(setup.most_shown);
    let mut text = plain(&bytes);
    if lost > 0 {
        let lost = grouped(usize::try_from(lost).unwrap_or(usize::MAX));
        text = format!("[… {lost} bytes before this; action log has them …]\n{text}");
    }
    let total = job.spool().total();
    report_job(job, call, text, setup).with_details(details(job, total))
}

/// A text the command printed, labelled, with the status after it.
pub fn report_job(
    job: &CommandJob,
    call: &str,
    text: String,
    setup: &ProcessesSetup,
) -> ToolOutput {
    let mut content = Vec::new();
    if text.trim().is_empty() {
        content.push(OutputPiece::Text(LabelledText::runtime("(no output)")));
    } else {
        content.push(OutputPiece::Text(labelled(
            job,
            text.trim_end(),
            call,
            setup,
        )));
    }
    content.push(OutputPiece::Text(LabelledText::runtime(status(job))));
    let success = match job.state().ended {
        None | Some(CommandEnd::Code(0)) => CallSuccess::Done,
        Some(_) => CallSuccess::Failed,
    };
    ToolOutput {
        content,
        details: Value::Null,
        success,
        written: None,
    }
}

/// A text a command of an earlier process printed, with how it ended.
pub fn earlier(
    command: &KeptCommand,
    call: &str,
    text: &str,
    setup: &ProcessesSetup,
) -> ToolOutput {
    let text = text.trim_end();
    let origin = Origin::Tool {
        call: call.to_owned(),
        hash: ContentHash::of(text),
    };
    let source = ExternalSource::Process {
        command: command.command.clone(),
    };
    let printed = match (text.trim().is_empty(), command.fetches) {
        (true, _) => LabelledText::runtime("(no output)"),
        (false, true) => LabelledText::external(text, &source, origin, &*setup.host.entropy),
        (false, false) => LabelledText::local(text, Trust::Agent, origin),
    };
    ToolOutput {
        content: vec![
            OutputPiece::Text(printed),
            OutputPiece::Text(LabelledText::runtime(command.status.clone())),
        ],
        details: json!({ "sessionId": command.id, "command": command.command, "running": false }),
        success: match command.well {
            true => CallSuccess::Done,
            false => CallSuccess::Failed,
        },
        written: None,
    }
}

/// What a local program prints counts as the agent's own text, as a file of the workspace does:
/// wrapping every listing would cost more than it tells. What a known fetcher prints comes from
/// another machine and is wrapped (`exec::network` decides which those are).
pub fn labelled(job: &CommandJob, text: &str, call: &str, setup: &ProcessesSetup) -> LabelledText {
    let origin = Origin::Tool {
        call: call.to_owned(),
        hash: ContentHash::of(text),
    };
    match &job.fetches {
        Some(source) => LabelledText::external(text, source, origin, &*setup.host.entropy),
        None => LabelledText::local(text, Trust::Agent, origin),
    }
}

fn details(job: &CommandJob, total: u64) -> Value {
    let state = job.state();
    json!({
        "sessionId": job.id,
        "command": job.command,
        "pid": job.pid,
        "running": state.ended.is_none(),
        "exitCode": match state.ended { Some(CommandEnd::Code(code)) => Some(code), _ => None },
        "bytes": total,
        "spool": job.spool().file(),
    })
}
