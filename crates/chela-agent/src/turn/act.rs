//! Running the tools a model asked for.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use chela_config::model::ExternalNotice;
use chela_core::{Origin, Trust, ok_or_warn};
use chela_model::{Message, Part, ToolCall};
use chela_tools::{
    Approver, Call, CallTarget, Effect, Output, Piece, Progress, Scope, Success, Toolbox,
};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::sleep;
use tracing::Instrument;

use super::approving::Recorded;
use super::book::needed_before;
use super::guard::{Answered, Case, Leave, Permit};
use super::limits::Repetition;
use super::{Ended, Step, Turn, TurnError, TurnEvent};
use chela_session::{Body, CustomMessage, Label, Meta, SessionError};

impl Turn<'_> {
    /// Runs the calls of one answer. Those that only read run side by side; a call that changes
    /// something waits for those before it, and those after it wait for it.
    pub(super) async fn act(&mut self, calls: &[ToolCall]) -> Result<Step, TurnError> {
        let toolbox = self.toolbox_now();
        self.hook_words().clear();
        let leave = tokio::select! {
            biased;
            () = self.talk.until_stopped() => return Ok(Step::End(Ended::Stopped)),
            leave = self.ask_leave(calls, &toolbox) => leave?,
        };
        let mut ended = None;
        for batch in batches(calls, &toolbox) {
            let time_left = self.spent.time_left(self.now());
            let run = |call| self.run(call, &toolbox, &leave);
            let interrupted = tokio::select! {
                biased;
                () = self.talk.until_stopped() => Some(Ended::Stopped),
                () = sleep(time_left) => Some(Ended::Limit(self.spent.out_of_time())),
                outputs = join_all(batch.iter().copied().map(run)) => {
                    for (call, output) in batch.iter().zip(outputs) {
                        ended = ended.or(self.take_note(call, &output?));
                    }
                    None
                }
            };
            if let Some(ended) = interrupted {
                tracing::info!(ended = ended.as_str(), "calls are broken off");
                // What has no result on disk reads as interrupted, whoever looks next.
                return Ok(Step::End(ended));
            }
            if let Some(ended) = ended {
                return Ok(Step::End(ended));
            }
        }
        for text in std::mem::take(&mut self.warned) {
            let note = CustomMessage {
                custom_type: "repetition".to_owned(),
                content: vec![Part::text(text)],
                display: false,
                details: Value::Null,
            };
            self.talk
                .sessions
                .append(&self.session, Body::CustomMessage(note))
                .await?;
        }
        Ok(Step::Again)
    }

    /// The tools under the rules for this message, as they are now.
    fn toolbox_now(&self) -> Toolbox {
        let info = self.chain.current().info();
        self.talk.elevate_now();
        let policy = self.talk.policy_now(Some((&info.provider, &info.id)));
        self.talk.current_tools(&self.prefix).for_turn(policy)
    }

    async fn run(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &Leave,
    ) -> Result<Output, SessionError> {
        let span = tracing::error_span!("call", call = call.id, tool = call.name);
        self.run_call(call, toolbox, leave).instrument(span).await
    }

    /// One call: judged, marked on disk, made, its result on disk.
    async fn run_call(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &Leave,
    ) -> Result<Output, SessionError> {
        self.surface.event(TurnEvent::ToolStarted {
            id: call.id.clone(),
            tool: call.name.clone(),
            summary: summary(call),
            arguments: Value::Object(call.arguments.clone()),
        });
        if call.malformed.is_some() {
            tracing::info!("the arguments of the call are not a JSON object");
        }
        let mut read = Vec::new();
        let output = match &call.malformed {
            Some(text) => Output::failed(format!(
                "The arguments of {} are not a JSON object, so nothing was done: {}",
                call.name,
                shortened(text)
            )),
            None => match self.permit(call, toolbox, leave).await? {
                Permit::Impossible(output) => output,
                Permit::No {
                    case,
                    decision,
                    words,
                    asked,
                } => {
                    let decision = self.decision_on_record(&decision, None);
                    tracing::info!(why = words, "the call is refused");
                    // Nothing happens: it does no harm when this cannot be written down.
                    let booked = self.book_call(call, case.prospect.effect, &decision).await;
                    ok_or_warn!(booked, "a refusal is not on record");
                    let kept = match &asked {
                        Some(asked) => self.keep_proposal(call, &case, asked).await,
                        None => None,
                    };
                    Output::failed(words + kept.unwrap_or_default())
                }
                Permit::Go {
                    case,
                    decision,
                    yes,
                } => {
                    let word = self.word_about(&case, &decision, yes.as_ref()).await;
                    let decision = self.decision_on_record(&decision, yes.as_ref());
                    let booked = self.book_call(call, case.prospect.effect, &decision).await;
                    if let Err(why) = booked {
                        return self.refused(call, &why).await;
                    }
                    self.talk
                        .sessions
                        .begin_call(&self.session, &call.id, needed_before(case.prospect.effect))
                        .await?;
                    tracing::info!(effect = ?case.prospect.effect, asked = yes.is_some(), "the call runs");
                    let watch = self.watch(call, &case);
                    read = files_read(&case);
                    let scope = yes.map(|yes| yes.scope);
                    let output = self.make(call, toolbox, &case, scope).await;
                    if let Some(watch) = watch {
                        let brought =
                            label_of(&output).map_or(Trust::Operator, |label| label.trust);
                        let held = self.note_writes(watch, call, &word, brought);
                        self.ask_about_held(call, held).await;
                    }
                    output
                }
            },
        };
        let output = self.after_tool_call(call, output).await;
        self.book_result(call, &output);
        self.talk
            .note_reading(&self.session, call, &read, &output)
            .await?;
        let notice = self.notice_about(&output);
        self.talk
            .sessions
            .append(&self.session, result_of(call, &output, notice))
            .await?;
        tracing::info!(success = ?output.success, "the call ended");
        self.surface.event(TurnEvent::ToolEnded {
            id: call.id.clone(),
            tool: call.name.clone(),
            success: output.success,
            text: output.text(),
            details: output.details.clone(),
        });
        Ok(output)
    }

    /// Makes a call that may be made.
    async fn make(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        case: &Case,
        yes: Option<Scope>,
    ) -> Output {
        let progress = |progress: Progress| {
            self.surface.event(TurnEvent::ToolProgress {
                id: call.id.clone(),
                progress,
            });
        };
        let recorded = Recorded(self);
        // The tool's own question is not asked again when the owner has just answered it.
        let answered = yes.map(|yes| Answered {
            yes,
            binds: case.prospect.binds,
            otherwise: &recorded,
        });
        let approver: &dyn Approver = match &answered {
            Some(answered) => answered,
            None => &recorded,
        };
        let made = Call {
            id: &call.id,
            arguments: &call.arguments,
            progress: &progress,
            approver,
        };
        let output = toolbox.run_prepared(&case.prepared, made).await;
        let spec = case.prepared.tool.spec();
        self.relabelled(call, spec, &case.prepared.arguments, output)
    }

    /// What cannot be put on record is not done.
    async fn refused(&self, call: &ToolCall, why: &str) -> Result<Output, SessionError> {
        tracing::warn!(why, "the call is not run: it cannot be put on record");
        let output = Output::failed(format!(
            "{} was not run, because it could not be put on record: {why}. Tell the user.",
            call.name
        ));
        self.talk
            .sessions
            .append(&self.session, result_of(call, &output, None))
            .await?;
        Ok(output)
    }

    /// What the model is told about foreign text: with every block, or with the first of a turn.
    fn notice_about(&self, output: &Output) -> Option<&'static str> {
        let foreign = label_of(output).is_some_and(|label| label.trust == Trust::External);
        let every = self.talk.agents.loaded.config.guard.external.notice == ExternalNotice::Block;
        let said = foreign && self.noticed.swap(true, Ordering::Relaxed);
        (foreign && (every || !said)).then_some(chela_guard::NOTICE)
    }

    /// Looks whether the model goes round in circles.
    fn take_note(&mut self, call: &ToolCall, output: &Output) -> Option<Ended> {
        match self
            .spent
            .called(&call.name, &call.arguments, &output.text())
        {
            Repetition::New => None,
            Repetition::Warned(times) => {
                self.warned.push(format!(
                    "[Chela] {} was called {times} times with the same arguments and the same result. Try something else, or say what is in the way.",
                    call.name
                ));
                None
            }
            Repetition::TooOften(times) => Some(Ended::Loop(format!(
                "{} was called {times} times with the same arguments and the same result",
                call.name
            ))),
        }
    }
}

/// The files a call that only reads is about.
fn files_read(case: &Case) -> Vec<PathBuf> {
    if !matches!(case.prospect.effect, Effect::Read | Effect::ReadUntrusted) {
        return Vec::new();
    }
    let targets = case.prepared.tool.targets(&case.prepared.arguments);
    targets
        .into_iter()
        .filter_map(|target| match target {
            CallTarget::File(path) => Some(path),
            _ => None,
        })
        .collect()
}

/// Calls that may run side by side, in order.
fn batches<'c>(calls: &'c [ToolCall], toolbox: &Toolbox) -> Vec<Vec<&'c ToolCall>> {
    let mut batches: Vec<Vec<&ToolCall>> = Vec::new();
    let mut open = false;
    for call in calls {
        let reads = toolbox
            .get(&call.name)
            .is_none_or(|tool| matches!(tool.spec().effect, Effect::Read | Effect::ReadUntrusted));
        match batches.last_mut() {
            Some(batch) if open && reads => batch.push(call),
            _ => batches.push(vec![call]),
        }
        open = reads;
    }
    batches
}

/// A result as the transcript keeps it: text for the model, details for people.
fn result_of(call: &ToolCall, output: &Output, notice: Option<&str>) -> Body {
    let pieces = output.content.iter().map(|piece| match piece {
        Piece::Text(text) => Part::text(text.text()),
        Piece::Image { mime, data } => Part::Image {
            mime: mime.clone(),
            data: data.clone(),
        },
    });
    let content = notice.map(Part::text).into_iter().chain(pieces).collect();
    Body::Message {
        message: Message::ToolResult {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            content,
            is_error: output.success == Success::Failed,
        },
        meta: Meta {
            label: label_of(output),
            details: output.details.clone(),
            ..Meta::default()
        },
    }
}

/// The least trusted piece speaks for the whole.
fn label_of(output: &Output) -> Option<Label> {
    output
        .content
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Label {
                trust: text.trust(),
                origin: text.origin().clone(),
            },
            Piece::Image { .. } => Label {
                trust: Trust::External,
                origin: Origin::Runtime,
            },
        })
        .min_by_key(|label| label.trust)
}

/// One line about a call: the argument that says most.
fn summary(call: &ToolCall) -> String {
    const TELLING: [&str; 9] = [
        "command",
        "path",
        "url",
        "query",
        "pattern",
        "action",
        "sessionKey",
        "explanation",
        "input",
    ];
    let telling = TELLING
        .iter()
        .find_map(|name| call.arguments.get(*name))
        .or_else(|| call.arguments.values().next());
    let text = match telling {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => call.malformed.clone().unwrap_or_default(),
    };
    shortened(&text)
}

fn shortened(text: &str) -> String {
    const MOST: usize = 120;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
