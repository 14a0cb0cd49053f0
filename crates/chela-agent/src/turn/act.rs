//! Running the tools a model asked for.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use chela_config::model::ExternalNotice;
use chela_core::{Origin, Trust, lock, ok_or_warn};
use chela_guard::LabelledText;
use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_tools::{
    Approver, CallProgress, CallSuccess, CallTarget, Effect, OutputPiece, RunCall, ToolOutput,
    Toolbox,
};
use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::sleep;
use tracing::Instrument;

use super::agent_writes::{CallOutcome, WriteWatch};
use super::guard::{AnsweredApprover, BatchApproval, CallPermit, JudgedCall, TurnRedirects};
use super::limits::CallRepetition;
use super::output_taint::CommandOrigin;
use super::recorder::needed_before;
use super::self_running::{UNWATCHED, WrittenAfter};
use super::tool_questions::RecordedApprover;
use super::{RunningTurn, StepEnd, TurnEnd, TurnError, TurnEvent};
use crate::context_builder::add_offers;
use crate::file_custody::CommandWrites;
use chela_session::{CustomMessage, EntryBody, EntryMeta, SessionError, TextLabel};

impl RunningTurn<'_> {
    /// Runs the calls of one answer. Those that only read run side by side; a call that changes
    /// something waits for those before it, and those after it wait for it.
    pub(super) async fn act(&mut self, calls: &[ToolCall]) -> Result<StepEnd, TurnError> {
        let toolbox = self.toolbox_now();
        self.hook_words().clear();
        self.settle_background_files().await;
        let calls = match self.hooks.is_empty() {
            true => calls.to_vec(),
            false => self.rewritten(calls, &toolbox).await,
        };
        let calls = calls.as_slice();
        let leave = tokio::select! {
            biased;
            () = self.parts.until_stopped() => return Ok(StepEnd::End(TurnEnd::Stopped)),
            leave = self.ask_leave(calls, &toolbox) => leave?,
        };
        let mut ended = None;
        for batch in batches(calls, &toolbox) {
            let time_left = self.spent.time_left(self.now());
            let run = |call| self.run(call, &toolbox, &leave);
            let interrupted = tokio::select! {
                biased;
                () = self.parts.until_stopped() => Some(TurnEnd::Stopped),
                () = sleep(time_left) => Some(TurnEnd::Limit(self.spent.out_of_time())),
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
                return Ok(StepEnd::End(ended));
            }
            if let Some(ended) = ended {
                return Ok(StepEnd::End(ended));
            }
        }
        for text in std::mem::take(&mut self.warned) {
            let note = CustomMessage {
                custom_type: "repetition".to_owned(),
                content: vec![MessagePart::text(text)],
                display: false,
                details: Value::Null,
            };
            self.parts
                .transcript
                .sessions
                .append(&self.session, EntryBody::CustomMessage(note))
                .await?;
        }
        Ok(StepEnd::Again)
    }

    /// The tools under the rules for this message, as they are now.
    fn toolbox_now(&self) -> Toolbox {
        let info = self.chain.current().info();
        let chosen = self.parts.transcript.settings().elevated;
        let taint = self.parts.guarding.taint();
        self.parts.background.elevate(chosen, taint);
        let policy = self
            .parts
            .context
            .policy_now(Some((&info.provider, &info.id)));
        self.parts
            .context
            .current_tools(&self.prefix)
            .for_turn(policy)
    }

    async fn run(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &BatchApproval,
    ) -> Result<ToolOutput, SessionError> {
        let span = tracing::error_span!("call", call = call.id, tool = call.name);
        self.run_call(call, toolbox, leave).instrument(span).await
    }

    /// One call: judged, marked on disk, made, its result on disk.
    async fn run_call(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        leave: &BatchApproval,
    ) -> Result<ToolOutput, SessionError> {
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
            Some(text) => ToolOutput::failed(format!(
                "The arguments of {} are not a JSON object, so nothing was done: {}",
                call.name,
                shortened(text)
            )),
            None => match self.permit(call, toolbox, leave).await? {
                CallPermit::Impossible(output) => output,
                CallPermit::No {
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
                    ToolOutput::refused(words + kept.unwrap_or_default())
                }
                CallPermit::Go {
                    case,
                    decision,
                    yes,
                } => 'made: {
                    let word = self.word_about(&case, &decision, yes.as_ref()).await;
                    // What the owner just said yes to is not questioned again.
                    let doubted = match yes {
                        None => self.self_running_before(&case).await,
                        Some(_) => None,
                    };
                    let taint = decision.taint;
                    if !self.may_run_unwatched(doubted.as_ref(), taint, call).await {
                        break 'made ToolOutput::refused(UNWATCHED);
                    }
                    let decision = self.decision_on_record(&decision, yes.as_ref());
                    let booked = self.book_call(call, case.prospect.effect, &decision).await;
                    if let Err(why) = booked {
                        return self.refused(call, &why).await;
                    }
                    self.parts
                        .transcript
                        .sessions
                        .begin_call(&self.session, &call.id, needed_before(case.prospect.effect))
                        .await?;
                    tracing::info!(effect = ?case.prospect.effect, asked = yes.is_some(), "the call runs");
                    let watch = self.watch(call, &case, &word).await;
                    read = files_read(&case);
                    let choice = yes.map(|yes| yes.choice);
                    let (output, writes) = self
                        .make(call, toolbox, &case, choice.as_deref(), watch.as_ref())
                        .await;
                    let standing = case.prospect.standing;
                    let after = WrittenAfter::of(taint, writes.as_ref(), standing);
                    if let Some(watch) = watch {
                        let made = CallOutcome {
                            // What a command prints does not tell what it wrote.
                            brought: match writes {
                                Some(CommandWrites::Unknown) => Trust::External,
                                _ => label_of(&output).map_or(Trust::Operator, |label| label.trust),
                            },
                            writes: writes.unwrap_or_default(),
                        };
                        let held = self.note_writes(watch, call, word, made).await;
                        self.ask_about_held(call, held).await;
                    }
                    match doubted {
                        Some(before) => self.settle_self_running(before, after, output).await,
                        None => output,
                    }
                }
            },
        };
        let output = self.described(output).await;
        let output = self.after_tool_call(call, output).await;
        let withheld = self
            .parts
            .context
            .note_reading(&self.session, call, &read, &output)
            .await?;
        let output = withheld.unwrap_or(output);
        self.book_result(call, &output);
        let notice = self.notice_about(&output);
        self.parts
            .transcript
            .sessions
            .append(&self.session, result_of(call, &output, notice))
            .await?;
        tracing::info!(outcome = output.success.as_str(), "the call ended");
        self.surface.event(TurnEvent::ToolEnded {
            id: call.id.clone(),
            tool: call.name.clone(),
            success: output.success,
            text: output.text(),
            details: output.details.clone(),
        });
        Ok(output)
    }

    /// Makes a call that may be made. Of one that ran a command also what of the changes is its
    /// doing.
    async fn make(
        &self,
        call: &ToolCall,
        toolbox: &Toolbox,
        case: &JudgedCall,
        choice: Option<&str>,
        watch: Option<&WriteWatch>,
    ) -> (ToolOutput, Option<CommandWrites>) {
        let progress = |progress: CallProgress| {
            self.surface.event(TurnEvent::ToolProgress {
                id: call.id.clone(),
                progress,
            });
        };
        let recorded = RecordedApprover {
            turn: self,
            call: &call.id,
            watch,
            queued: Mutex::default(),
        };
        // The tool's own question is not asked again when the owner has just answered it.
        let answered = choice.map(|choice| AnsweredApprover {
            choice,
            binds: case.prospect.binds,
            otherwise: &recorded,
        });
        let approver: &dyn Approver = match &answered {
            Some(answered) => answered,
            None => &recorded,
        };
        let made = RunCall {
            id: &call.id,
            arguments: &call.arguments,
            targets: &case.targets,
            writes: &case.writes,
            progress: &progress,
            approver,
            redirects: &TurnRedirects {
                turn: self,
                call,
                case,
            },
            bound: None,
        };
        let spec = case.prepared.tool.spec();
        let effect = case.prospect.effect;
        let origin = self
            .command_origin(spec, &case.prepared.arguments, effect)
            .await;
        let mut output = toolbox.run_prepared(&case.prepared, made).await;
        if let Some(words) = lock(&recorded.queued).take() {
            let words = LabelledText::runtime(words.trim());
            output.content.push(OutputPiece::Text(words));
        }
        let writes = origin.as_ref().map(CommandOrigin::writes);
        let output = self.relabelled(call, origin, output).await;
        (output, writes)
    }

    /// What cannot be put on record is not done.
    async fn refused(&self, call: &ToolCall, why: &str) -> Result<ToolOutput, SessionError> {
        tracing::warn!(why, "the call is not run: it cannot be put on record");
        let output = ToolOutput::failed(format!(
            "{} was not run, because it could not be put on record: {why}. Tell the user.",
            call.name
        ));
        self.parts
            .transcript
            .sessions
            .append(&self.session, result_of(call, &output, None))
            .await?;
        Ok(output)
    }

    /// What the model is told about foreign text: with every block, or with the first of a turn.
    fn notice_about(&self, output: &ToolOutput) -> Option<&'static str> {
        let foreign = label_of(output).is_some_and(|label| label.trust == Trust::External);
        let every = self
            .parts
            .scope
            .agents
            .rules_config()
            .config
            .guard
            .external
            .notice
            == ExternalNotice::Block;
        let said = foreign && self.noticed.swap(true, Ordering::Relaxed);
        (foreign && (every || !said)).then_some(chela_guard::NOTICE)
    }

    /// Remembers the tools a result told of, and looks whether the model goes round in circles.
    fn take_note(&mut self, call: &ToolCall, output: &ToolOutput) -> Option<TurnEnd> {
        add_offers(&mut self.found, &output.details);
        let result = match call.name.as_str() {
            // The time and the tokens on its card are others each time, and nothing was learned.
            "session_status" => String::new(),
            _ => output.text(),
        };
        match self.spent.called(&call.name, &call.arguments, &result) {
            CallRepetition::New => None,
            CallRepetition::Warned(times) => {
                self.warned.push(format!(
                    "[Chela] {} was called {times} times with the same arguments and the same result. Try something else, or say what is in the way.",
                    call.name
                ));
                None
            }
            CallRepetition::TooOften(times) => Some(TurnEnd::Loop(format!(
                "{} was called {times} times with the same arguments and the same result",
                call.name
            ))),
        }
    }
}

/// The files a call that only reads is about.
fn files_read(case: &JudgedCall) -> Vec<PathBuf> {
    if !matches!(case.prospect.effect, Effect::Read | Effect::ReadUntrusted) {
        return Vec::new();
    }
    case.targets
        .iter()
        .filter_map(|target| match target {
            CallTarget::File(path) => Some(path.clone()),
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
fn result_of(call: &ToolCall, output: &ToolOutput, notice: Option<&str>) -> EntryBody {
    let pieces = output.content.iter().map(|piece| match piece {
        OutputPiece::Text(text) => MessagePart::text(text.text()),
        OutputPiece::Image { mime, data } => MessagePart::Image {
            mime: mime.clone(),
            data: data.clone(),
        },
    });
    let content = notice
        .map(MessagePart::text)
        .into_iter()
        .chain(pieces)
        .collect();
    EntryBody::Message {
        message: ModelMessage::ToolResult {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            content,
            is_error: output.success == CallSuccess::Failed,
        },
        meta: EntryMeta {
            label: label_of(output),
            details: output.details.clone(),
            ..EntryMeta::default()
        },
    }
}

/// The least trusted piece speaks for the whole.
fn label_of(output: &ToolOutput) -> Option<TextLabel> {
    output
        .content
        .iter()
        .map(|piece| match piece {
            OutputPiece::Text(text) => TextLabel {
                trust: text.trust(),
                origin: text.origin().clone(),
            },
            OutputPiece::Image { .. } => TextLabel {
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
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
