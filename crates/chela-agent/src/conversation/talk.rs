//! The conversation as commands see it.

use std::path::{Path, PathBuf};

use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel, VerboseLevel};
use chela_core::{Origin, SessionKey, Speaker, Trust, ok_or_debug};
use chela_model::{HOW_TO_GET_ONE, Thinking};
use chela_sandbox::Standing;
use chela_skills::{LoadedSkill, Uses};
use chela_store::block_on;
use chela_workspace::FileReport;

use super::ending::words_of;
use super::skill_bound::SkillBound;
use super::{Conversation, seen};
use crate::halt::Halt;
use crate::slash::{
    ModelRow, ModelState, Setting, SkillRow, Status, Talk, ToolRow, Trouble, Undone,
};
use crate::turn::{Block, BlockKind, thinking_named};
use chela_inspect::report::{ContextReport, Reconciled};
use chela_inspect::why::{Answer, why};
use chela_session::{ModelSource, Override, SessionError, SessionInfo};

impl Talk for Conversation {
    fn session(&self) -> SessionKey {
        self.key.clone()
    }

    fn sender(&self) -> String {
        match &self.ask.speaker {
            Speaker::Owner(_) => "you, at this terminal".to_owned(),
            Speaker::Sender(sender) => {
                let name = sender.id.clone().or_else(|| sender.name.clone());
                name.unwrap_or_else(|| "somebody without a name".to_owned())
            }
            Speaker::Runtime => "the runtime".to_owned(),
        }
    }

    fn setting(&self, which: Setting) -> Option<String> {
        let info = block_on(self.info()).ok()?;
        let settings = info.settings;
        match which {
            Setting::Model => settings.model,
            Setting::Thinking => settings.thinking.map(|level| level.as_str().to_owned()),
            Setting::Reasoning => settings.reasoning.map(|level| level.as_str().to_owned()),
            Setting::Verbose => settings.verbose.map(|level| level.as_str().to_owned()),
            Setting::Elevated => settings.elevated.map(|level| level.as_str().to_owned()),
            Setting::Usage => settings.response_usage,
            Setting::Title => info.display_name,
        }
    }

    fn set(&self, which: Setting, value: Option<&str>) -> Result<(), Trouble> {
        let change = match which {
            Setting::Model => Override::Model(match value {
                Some(name) => {
                    let target = self.agents.models.resolve(name).map_err(in_words)?;
                    self.agents
                        .chain(&self.view, Some(target.reference()))
                        .map_err(in_words)?;
                    Some((target.reference().to_owned(), ModelSource::User))
                }
                None => None,
            }),
            Setting::Thinking => Override::Thinking(word(value, ThinkingLevel::from_word)?),
            Setting::Reasoning => Override::Reasoning(word(value, ReasoningVisibility::from_word)?),
            Setting::Verbose => Override::Verbose(word(value, VerboseLevel::from_word)?),
            Setting::Elevated => Override::Elevated(word(value, ElevatedLevel::from_word)?),
            Setting::Usage => Override::ResponseUsage(value.map(str::to_owned)),
            Setting::Title => Override::DisplayName(value.map(str::to_owned)),
        };
        block_on(async {
            let session = Conversation::session(self);
            self.sessions.set(&session, change).await?;
            self.refresh_settings().await
        })
        .map_err(in_words)
    }

    fn model(&self) -> ModelState {
        match self.chain() {
            Ok(chain) => ModelState {
                selected: Some(chain.primary().reference().to_owned()),
                fallback: self.with(|state| state.fallback.clone()),
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
        let models = &self.agents.models;
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

    fn begin(&self) -> Result<(), Trouble> {
        block_on(self.begin_anew()).map(drop).map_err(in_words)
    }

    fn undo(&self) -> Result<Option<Undone>, Trouble> {
        let session = Conversation::session(self);
        if let Some(back) = block_on(self.sessions.undo_compaction(&session)).map_err(in_words)? {
            return Ok(Some(Undone::Compaction {
                tokens: back.tokens_before,
            }));
        }
        let undone = block_on(self.sessions.undo(&session)).map_err(in_words)?;
        Ok(undone.map(|undone| Undone::Message {
            message: words_of(&undone.message, undone.meta.lead),
            entries: undone.entries,
        }))
    }

    fn undo_files(&self) -> Result<Vec<String>, Trouble> {
        block_on(self.take_back_files())
    }

    fn export(&self, path: Option<&str>) -> Result<PathBuf, Trouble> {
        let host = &self.agents.host;
        let session = Conversation::session(self);
        let path = match path {
            Some(path) => host.expand(path),
            None => host
                .cwd
                .join(format!("chela-session-{}.jsonl", session.id.as_str())),
        };
        let write = |path: &Path| -> Result<(), Trouble> {
            let mut file = std::fs::File::create_new(path)
                .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
            block_on(self.sessions.export_jsonl(&session, &mut file)).map_err(in_words)
        };
        write(&path).map(|()| path)
    }

    fn report(&self) -> Result<ContextReport, Trouble> {
        let prefix = block_on(self.prefix()).map_err(in_words)?;
        let assembled = self
            .assemble(&prefix.tools, prefix.size, prefix.model.as_deref())
            .map_err(in_words)?;
        let meter = self.status().context;
        Ok(ContextReport {
            session_tokens: usize::try_from(meter.used).ok().filter(|used| *used > 0),
            context_window: meter
                .window
                .and_then(|window| usize::try_from(window).ok())
                .or(assembled.context_window),
            last_request: self.agents.ledger().and_then(|ledger| {
                Reconciled::last(&ledger, Conversation::session(self).id.as_str())
            }),
            ..ContextReport::of(&assembled, &raw_text)
        })
    }

    fn why(&self, what: &str) -> Result<Vec<Answer>, Trouble> {
        let prefix = block_on(self.prefix()).map_err(in_words)?;
        let assembled = self
            .assemble(&prefix.tools, prefix.size, prefix.model.as_deref())
            .map_err(in_words)?;
        Ok(why(&assembled, &raw_text, what))
    }

    fn tools(&self) -> Vec<ToolRow> {
        let Ok(toolbox) = block_on(self.toolbox()) else {
            return Vec::new();
        };
        toolbox
            .specs()
            .map(|spec| ToolRow {
                name: spec.name.to_string(),
                description: spec.description.to_string(),
            })
            .collect()
    }

    fn skills(&self) -> Vec<SkillRow> {
        let Ok(skills) = self.agents.assembler.skills(&self.view.id) else {
            return Vec::new();
        };
        skills
            .commands()
            .map(|(command, skill)| SkillRow {
                name: skill.skill().name.clone(),
                command: command.to_owned(),
                description: skill.skill().front.description.clone().unwrap_or_default(),
            })
            .collect()
    }

    fn call_skill(&self, name: &str, args: &str) -> Result<String, Trouble> {
        let skills = self
            .agents
            .assembler
            .skills(&self.view.id)
            .map_err(in_words)?;
        let mut uses = Uses::open(&self.agents.host.state_dir());
        let loaded = skills.load(name, &mut uses).map_err(in_words)?;
        // A use that is not counted only ranks the skill lower.
        ok_or_debug!(uses.save(), "the use of a skill is not noted");
        let allowed = loaded.allowed_tools.as_deref();
        let bound = allowed.map(|tools| SkillBound::new(&loaded.name, tools));
        let words = skills
            .skills()
            .iter()
            .find(|skill| skill.skill().name == loaded.name)
            .map_or(Trust::Plugin, |skill| skill.trust_of_words());
        let file = loaded.folder.join("SKILL.md");
        let text = skill_message(&loaded);
        let block = Block {
            kind: BlockKind::Skills,
            origin: Origin::file(self.agents.host.compact(&file), &text),
            trust: words.join(self.agents.file_trust().ceiling(&file)),
            text: text.clone(),
        };
        self.skill_called(bound, block);
        Ok(match args.trim() {
            "" => text,
            args => format!("{text}\n\n{args}"),
        })
    }

    fn is_owner(&self) -> bool {
        match &self.ask.speaker {
            Speaker::Owner(_) => true,
            Speaker::Sender(_) => self
                .sender_of_record()
                .is_some_and(|sender| seen::is_owner(&sender, &self.view.owner_allow_from.value)),
            Speaker::Runtime => false,
        }
    }

    fn stop_all(&self) -> Result<(), Trouble> {
        Halt::set(&self.agents.host, Some("/stop all".to_owned())).map_err(in_words)
    }

    fn release(&self) -> Result<Option<String>, Trouble> {
        block_on(self.look_again()).map_err(in_words)?;
        let by = self.tainted_by();
        if by.is_some() {
            block_on(self.release_taint()).map_err(in_words)?;
        }
        Ok(by)
    }

    fn status(&self) -> Status {
        // What cannot be read now is judged before the next call anyway.
        let _ = block_on(self.look_again());
        let info = block_on(self.info());
        let chain = self.chain().ok();
        let model = chain.as_ref().map(|chain| chain.primary().info());
        let totals = info.as_ref().map(|info| info.totals).unwrap_or_default();
        let defaults = [
            (
                Setting::Thinking,
                self.view.thinking.value.map(ThinkingLevel::as_str),
            ),
            (Setting::Reasoning, Some(self.view.reasoning.value.as_str())),
            (Setting::Verbose, Some(self.view.verbose.value.as_str())),
            (
                Setting::Elevated,
                Some(self.view.elevated_default.value.as_str()),
            ),
        ];
        Status {
            context: crate::turn::ContextMeter {
                used: totals.context,
                window: model.and_then(|model| model.context_window),
            },
            last: self.with(|state| state.last),
            total: totals.usage(),
            price: model.and_then(|model| model.cost),
            turns: block_on(self.turns()),
            compactions: totals.compactions,
            guard: self.guard_rules().policy.as_str().to_owned(),
            tainted_by: self.tainted_by(),
            waiting: self.questions_waiting(),
            execution: match &**self.commands.sandbox() {
                Standing::Outside { .. } => "direct".to_owned(),
                Standing::Inside(plan) => format!("in the sandbox ({})", plan.backend.name()),
                Standing::Refused { .. } => "nowhere: the sandbox cannot be built".to_owned(),
            },
            defaults: defaults
                .into_iter()
                .filter_map(|(setting, value)| Some((setting, value?.to_owned())))
                .collect(),
        }
    }
}

impl Conversation {
    pub(crate) async fn info(&self) -> Result<SessionInfo, SessionError> {
        self.sessions.info(&Conversation::session(self)).await
    }

    /// How long the model thinks first: as the session says, else the config.
    pub(crate) fn thinking(&self) -> Thinking {
        let own = self.settings().thinking;
        own.or(self.view.thinking.value)
            .map_or(Thinking::Off, |level| thinking_named(level.as_str()))
    }

    async fn turns(&self) -> u64 {
        let branch = self
            .sessions
            .branch(&Conversation::session(self))
            .await
            .unwrap_or_default();
        let turns = branch
            .iter()
            .filter(|entry| matches!(entry.body, chela_session::Body::TurnEnded { .. }))
            .count();
        turns as u64
    }
}

/// What the model is told when a person calls a skill.
fn skill_message(skill: &LoadedSkill) -> String {
    format!("Use the skill `{}`:\n\n{}", skill.name, skill.content)
}

fn raw_text(file: &FileReport) -> Option<String> {
    std::fs::read_to_string(&file.path).ok()
}

fn in_words(error: impl std::fmt::Display) -> Trouble {
    error.to_string()
}

fn word<T>(value: Option<&str>, parse: fn(&str) -> Option<T>) -> Result<Option<T>, Trouble> {
    value
        .map(|value| parse(value).ok_or_else(|| format!("`{value}` is not one of the levels")))
        .transpose()
}
