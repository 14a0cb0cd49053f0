//! The conversation as commands see it.

use std::path::PathBuf;
use std::sync::Arc;

use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel, VerboseLevel};
use chela_core::{SessionKey, Speaker, ok_or_debug, ok_or_warn};
use chela_model::{FallbackChain, HOW_TO_GET_ONE};
use chela_sandbox::SandboxStanding;
use chela_skills::is_valid_name;
use chela_workspace::FileReport;

use super::Conversation;
use super::queued_answer::QueuedAnswer;
use crate::agent::words_of;
use crate::assemble::{AssembledPrompt, PromptPurpose};
use crate::blocking_work::on_blocking_thread;
use crate::context_builder::{PromptKind, RequestPrefix};
use crate::folder_approval::{ApprovalRecords, LookedAtFolder};
use crate::halt::HaltNotice;
use crate::scope::ConversationScope;
use crate::slash::{
    CalledSkill, CommandContext, CommandTrouble, ConversationRow, ModelRow, ModelState,
    SessionSetting, SessionStatus, SkillRow, ToolRow, TrustWord, UndoOutcome, find,
};
use crate::spoken::{ExportFormat, export_session};
use crate::surface::ContextMeter;
use crate::toolset::SessionTools;
use chela_inspect::report::{ContextReport, RequestCount};
use chela_inspect::why::{WhyAnswer, why};
use chela_ledger::AuditKind;
use chela_session::{ModelSource, SessionOverride};

impl CommandContext for Conversation {
    fn session(&self) -> SessionKey {
        self.scope.key.clone()
    }

    fn sender(&self) -> String {
        match &self.scope.ask.speaker {
            Speaker::Owner(_) => "you, at this terminal".to_owned(),
            Speaker::Sender(sender) => {
                let name = sender.id.clone().or_else(|| sender.name.clone());
                name.unwrap_or_else(|| "someone without a name".to_owned())
            }
            Speaker::Runtime => "the runtime".to_owned(),
        }
    }

    async fn refresh(&self) {
        let refreshed = self.transcript.refresh_settings().await;
        ok_or_warn!(refreshed, "the settings of the session cannot be read");
    }

    fn default_of(&self, which: SessionSetting) -> Option<String> {
        let view = &self.scope.view;
        let word = match which {
            SessionSetting::Thinking => view.thinking.value.map(ThinkingLevel::as_str),
            SessionSetting::Reasoning => Some(view.reasoning.value.as_str()),
            SessionSetting::Verbose => Some(view.verbose.value.as_str()),
            SessionSetting::Elevated => Some(match view.elevated.value.enabled {
                Some(true) => view.elevated_default.value.as_str(),
                _ => ElevatedLevel::Off.as_str(),
            }),
            SessionSetting::Model | SessionSetting::Usage | SessionSetting::Title => None,
        };
        word.map(str::to_owned)
    }

    fn setting(&self, which: SessionSetting) -> Option<String> {
        let settings = self.transcript.settings();
        match which {
            SessionSetting::Model => settings.model,
            SessionSetting::Thinking => settings.thinking.map(|level| level.as_str().to_owned()),
            SessionSetting::Reasoning => settings.reasoning.map(|level| level.as_str().to_owned()),
            SessionSetting::Verbose => settings.verbose.map(|level| level.as_str().to_owned()),
            SessionSetting::Elevated => settings.elevated.map(|level| level.as_str().to_owned()),
            SessionSetting::Usage => settings.response_usage,
            SessionSetting::Title => self.transcript.title(),
        }
    }

    async fn set(&self, which: SessionSetting, value: Option<&str>) -> Result<(), CommandTrouble> {
        let change = match which {
            SessionSetting::Model => SessionOverride::Model(match value {
                Some(name) => {
                    let target = self.scope.agents.models.resolve(name).map_err(in_words)?;
                    self.scope
                        .agents
                        .chain(&self.scope.view, Some(target.reference()))
                        .map_err(in_words)?;
                    Some((target.reference().to_owned(), ModelSource::User))
                }
                None => None,
            }),
            SessionSetting::Thinking => {
                SessionOverride::Thinking(word(value, ThinkingLevel::from_word)?)
            }
            SessionSetting::Reasoning => {
                SessionOverride::Reasoning(word(value, ReasoningVisibility::from_word)?)
            }
            SessionSetting::Verbose => {
                SessionOverride::Verbose(word(value, VerboseLevel::from_word)?)
            }
            SessionSetting::Elevated => {
                SessionOverride::Elevated(word(value, ElevatedLevel::from_word)?)
            }
            SessionSetting::Usage => SessionOverride::ResponseUsage(value.map(str::to_owned)),
            SessionSetting::Title => SessionOverride::DisplayName(value.map(str::to_owned)),
        };
        let session = self.transcript.session();
        let sessions = &self.transcript.sessions;
        sessions.set(&session, change).await.map_err(in_words)?;
        self.transcript.refresh_settings().await.map_err(in_words)
    }

    fn model(&self) -> ModelState {
        match self.chain() {
            Ok(chain) => ModelState {
                selected: Some(chain.primary().reference().to_owned()),
                fallback: self.transcript.fallback(),
                missing: Vec::new(),
            },
            Err(error) => ModelState {
                selected: None,
                fallback: None,
                missing: std::iter::once(format!("{error}."))
                    .chain(HOW_TO_GET_ONE.lines().map(str::to_owned))
                    .collect(),
            },
        }
    }

    fn models(&self) -> Vec<ModelRow> {
        let models = &self.scope.agents.models;
        models
            .list()
            .into_iter()
            .map(|info| ModelRow {
                alias: models
                    .aliases()
                    .iter()
                    .find(|(_, reference)| *reference == info.reference)
                    .map(|(alias, _)| alias.clone()),
                window: info.context_window,
                note: None,
                name: info.reference,
            })
            .collect()
    }

    async fn served_models(&self, provider: Option<&str>) -> Vec<ModelRow> {
        let agents = &self.scope.agents;
        let served = chela_model::served_models(&agents.http, &agents.models, provider).await;
        let known = self.models();
        let rows = served.into_iter().flat_map(|(provider, names)| {
            let row = move |name: String| ModelRow {
                name: format!("{provider}/{name}"),
                ..ModelRow::default()
            };
            names.into_iter().map(row)
        });
        rows.filter(|row| known.iter().all(|known| known.name != row.name))
            .collect()
    }

    async fn begin(&self) -> Result<Option<String>, CommandTrouble> {
        let begun = self.begin_anew().await.map_err(in_words)?;
        let root = &self.scope.view.workspace.value;
        let shown = |note: PathBuf| {
            let inside = note.strip_prefix(root).unwrap_or(&note);
            inside.display().to_string()
        };
        Ok(begun.note.map(shown))
    }

    async fn conversations(&self) -> Result<Vec<ConversationRow>, CommandTrouble> {
        self.past_conversations().await.map_err(in_words)
    }

    async fn find_conversation(&self, given: &str) -> Result<ConversationRow, CommandTrouble> {
        self.find_past_conversation(given).await
    }

    async fn undo(&self) -> Result<Option<UndoOutcome>, CommandTrouble> {
        let session = self.transcript.session();
        if let Some(back) = self
            .transcript
            .sessions
            .undo_compaction(&session)
            .await
            .map_err(in_words)?
        {
            return Ok(Some(UndoOutcome::Compaction {
                tokens: back.tokens_before,
            }));
        }
        let undone = self
            .transcript
            .sessions
            .undo(&session)
            .await
            .map_err(in_words)?;
        Ok(undone.map(|undone| UndoOutcome::Message {
            message: words_of(&undone.message, undone.meta.lead),
            entries: undone.entries,
        }))
    }

    async fn changed_files(&self) -> Result<Vec<(String, String)>, CommandTrouble> {
        self.changed_files().await
    }

    async fn undo_files(&self) -> Result<Vec<String>, CommandTrouble> {
        self.take_back_files().await
    }

    async fn export(&self, path: Option<&str>) -> Result<PathBuf, CommandTrouble> {
        let host = &self.scope.agents.host;
        let session = self.transcript.session();
        let path = match path {
            Some(path) => host.expand(path),
            None => host
                .cwd
                .join(format!("chela-session-{}.jsonl", session.id.as_str())),
        };
        let unwritten =
            |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
        let mut file = std::fs::File::create_new(&path).map_err(unwritten)?;
        let format = ExportFormat::of_file(&path);
        let text = export_session(&self.transcript.sessions, &session, format).await;
        let text = text.map_err(in_words)?;
        std::io::Write::write_all(&mut file, &text).map_err(unwritten)?;
        Ok(path)
    }

    async fn report(&self) -> Result<ContextReport, CommandTrouble> {
        let prefix = self.context.prefix().await.map_err(in_words)?;
        let assembled = self.assembled(&prefix).await?;
        let meter = self.status().await.context;
        Ok(ContextReport {
            session_tokens: usize::try_from(meter.used).ok().filter(|used| *used > 0),
            context_window: meter
                .window
                .and_then(|window| usize::try_from(window).ok())
                .or(assembled.context_window),
            last_request: self.scope.agents.ledger().and_then(|ledger| {
                RequestCount::last(&ledger, self.transcript.session().id.as_str())
            }),
            ..ContextReport::of(&assembled, &raw_text)
        })
    }

    async fn why(&self, what: &str) -> Result<Vec<WhyAnswer>, CommandTrouble> {
        let prefix = self.context.prefix().await.map_err(in_words)?;
        let assembled = self.assembled(&prefix).await?;
        Ok(why(&assembled, &raw_text, what))
    }

    async fn tools(&self) -> Vec<ToolRow> {
        let Ok(toolbox) = self.context.toolbox().await else {
            return Vec::new();
        };
        toolbox
            .specs()
            .map(|spec| ToolRow {
                name: spec.name.to_string(),
                description: spec.description.to_string(),
                is_deferred: toolbox.is_deferred(&spec.name),
            })
            .collect()
    }

    fn skills(&self) -> Vec<SkillRow> {
        let Ok(skills) = self.scope.agents.assembler.skills(&self.scope.view.id) else {
            return Vec::new();
        };
        skills
            .commands()
            .map(|(command, skill)| {
                let inner = skill.skill();
                // Where nobody else has it, its own name is what people know.
                let is_own = is_valid_name(&inner.name) && find(&inner.name).is_none();
                SkillRow {
                    name: inner.name.clone(),
                    command: match is_own {
                        true => inner.name.clone(),
                        false => command.to_owned(),
                    },
                    description: inner.front.description.clone().unwrap_or_default(),
                    hint: inner.front.argument_hint.clone(),
                }
            })
            .collect()
    }

    async fn call_skill(&self, name: &str, args: &str) -> Result<CalledSkill, CommandTrouble> {
        let (name, model) = self.context.callable_skill(name).await?;
        let message = format!("/skill {name} {}", args.trim());
        Ok(CalledSkill {
            message: message.trim().to_owned(),
            model: model.filter(|model| self.scope.agents.models.resolve(model).is_ok()),
        })
    }

    async fn answer_queued(
        &self,
        id: &str,
        answer: Option<&str>,
    ) -> Result<Option<String>, CommandTrouble> {
        match QueuedAnswer::of(&self.scope.agents, id, answer) {
            Some(answered) => on_blocking_thread(move || answered.give()).await,
            None => Ok(None),
        }
    }

    fn is_owner(&self) -> bool {
        self.scope.is_owner()
    }

    fn stop_all(&self) -> Result<(), CommandTrouble> {
        HaltNotice::set(&self.scope.agents.host, Some("/stop all".to_owned())).map_err(in_words)
    }

    async fn release(&self) -> Result<Option<String>, CommandTrouble> {
        self.look_again().await.map_err(in_words)?;
        let by = self.tainted_by();
        if by.is_some() {
            self.release_taint().await.map_err(in_words)?;
        }
        Ok(by)
    }

    async fn trust_path(&self, path: &str, word: TrustWord) -> Result<String, CommandTrouble> {
        let (scope, path) = (Arc::clone(&self.scope), path.to_owned());
        on_blocking_thread(move || trust_path(&scope, &path, word)).await
    }

    async fn status(&self) -> SessionStatus {
        // What cannot be read now is judged before the next call anyway.
        ok_or_debug!(self.look_again().await, "what is new is not judged yet");
        let info = self.transcript.info().await;
        let chain = self.chain().ok();
        let model = chain.as_ref().map(|chain| chain.primary().info());
        let totals = info.as_ref().map(|info| info.totals).unwrap_or_default();
        SessionStatus {
            context: ContextMeter {
                used: totals.context,
                window: model.and_then(|model| model.context_window),
            },
            last: self.transcript.last_usage(),
            spent: self.spent().await,
            turns: self.turns().await,
            compactions: totals.compactions,
            guard: self.guarding.rules().policy.as_str().to_owned(),
            tainted_by: self.tainted_by(),
            waiting: self.questions_waiting(),
            execution: match &**self.background.commands.sandbox() {
                SandboxStanding::Outside { .. } => "directly".to_owned(),
                SandboxStanding::CommandsInside(plan) => {
                    format!(
                        "in a sandbox ({}), outside with your approval",
                        plan.backend.name()
                    )
                }
                SandboxStanding::Inside(plan) => {
                    format!("in the sandbox ({})", plan.backend.name())
                }
                SandboxStanding::Refused { .. } => {
                    "nowhere: the sandbox cannot be built".to_owned()
                }
            },
        }
    }
}

impl Conversation {
    async fn turns(&self) -> u64 {
        let branch = self
            .transcript
            .sessions
            .branch(&self.transcript.session())
            .await
            .unwrap_or_default();
        let turns = branch
            .iter()
            .filter(|entry| matches!(entry.body, chela_session::EntryBody::TurnEnded { .. }))
            .count();
        turns as u64
    }
}

impl Conversation {
    /// The prompt as it would be made now, with the tools of this session.
    async fn assembled(&self, prefix: &RequestPrefix) -> Result<AssembledPrompt, CommandTrouble> {
        let chain = self.transcript.chain().ok();
        let target = chain.as_ref().map(FallbackChain::primary);
        let kind = PromptKind {
            target,
            purpose: PromptPurpose::Report,
            ..prefix.kind()
        };
        let assembled = self.context.assemble(&prefix.text.tools, kind).await;
        let mut assembled = assembled.map_err(in_words)?;
        let all = SessionTools::of(&self.context.current_tools(prefix), prefix.size);
        assembled.deferred = all.deferred;
        assembled.left_out = all.left_out;
        Ok(assembled)
    }
}

fn raw_text(file: &FileReport) -> Option<String> {
    let text = std::fs::read_to_string(&file.path);
    ok_or_debug!(text, "a file is compared without its text", path = %file.path.display())
}

fn in_words(error: impl std::fmt::Display) -> CommandTrouble {
    error.to_string()
}

fn word<T>(value: Option<&str>, parse: fn(&str) -> Option<T>) -> Result<Option<T>, CommandTrouble> {
    value
        .map(|value| parse(value).ok_or_else(|| format!("`{value}` is not one of the levels")))
        .transpose()
}

/// Shows what a file or folder of the workspace holds, or takes the owner's yes for it.
fn trust_path(
    scope: &ConversationScope,
    typed: &str,
    word: TrustWord,
) -> Result<String, CommandTrouble> {
    let agents = &scope.agents;
    let custody = agents.assembler.custody(&scope.view.id).map_err(in_words)?;
    let path = match typed.starts_with('~') {
        true => agents.host.expand(typed),
        false => custody.root().join(typed),
    };
    let real = path
        .canonicalize()
        .map_err(|error| format!("cannot look at {typed}: {error}"))?;
    let records = ApprovalRecords {
        host: &agents.host,
        custody: &custody,
        known: &agents.file_trust(),
        journal: &agents.journal(&scope.view.id),
    };
    let looked = LookedAtFolder::at(records, &real).map_err(in_words)?;
    if word == TrustWord::Show {
        let mut lines = looked.in_words();
        lines.push(format!("`/trust {typed} yes` approves it as it is now."));
        return Ok(lines.join("\n\n"));
    }
    looked.approve(records, "/trust").map_err(in_words)?;
    if let Some(ledger) = agents.ledger() {
        let body = serde_json::json!({
            "change": "approve-folder",
            "agent": scope.view.id,
            "files": [looked.shown],
            "tree": looked.in_json(),
        });
        drop(ledger.note(AuditKind::TrustChange, &body));
    }
    Ok(format!(
        "Approved {} ({} files). What was read before stays marked as untrusted; /release lifts \
            that.",
        looked.shown,
        looked.count()
    ))
}
