//! What every request of a session begins with, and what does not move while it lasts.

use std::sync::Arc;

use chela_core::{ContentHash, Zone};
use chela_ledger::{SectionMark, ToolMark};
use chela_model::{Chain, PromptProfile, SystemText, ToolSchema};
use chela_prompt::{PartKind, Prompt};
use chela_tools::{Sandboxed, Toolbox};

use super::{Conversation, ToolUse};
use crate::agent::OpenError;
use crate::assemble::{Ask, Assembled, Size, hide_in_tools};
use crate::toolset::{self, ToolsetAsk};
use chela_session::{EntryId, Frozen, FrozenTool};

/// The beginning of every request: the stable zone of the prompt and the tools, as the session
/// started with them.
pub(crate) struct Prefix {
    pub stable: String,
    pub tools: Vec<ToolSchema>,
    pub toolbox: Toolbox,
    pub size: Size,
    /// `provider/model` it was made for.
    pub model: Option<String>,
    /// The compaction after which it was made.
    pub compaction: Option<EntryId>,
    /// What the stable zone is made of, for the record.
    pub sections: Vec<SectionMark>,
    pub tool_marks: Vec<ToolMark>,
}

impl Conversation {
    /// The prefix of this session: made once, kept in the session, made again only when the
    /// model changes or the conversation was compacted, as it is read anew then anyway.
    pub(crate) async fn prefix(&self) -> Result<Arc<Prefix>, OpenError> {
        self.prefix_for(self.chain().ok().as_ref()).await
    }

    pub(crate) async fn prefix_for(&self, chain: Option<&Chain>) -> Result<Arc<Prefix>, OpenError> {
        let model = chain.map(|chain| chain.primary().reference().to_owned());
        let compaction = self.sessions.last_compaction(&self.session()).await?;
        let known = self.with(|state| state.prefix.clone());
        let is_current = |prefix: &Prefix| prefix.model == model && prefix.compaction == compaction;
        if let Some(prefix) = known.clone().filter(|prefix| is_current(prefix)) {
            return Ok(prefix);
        }
        let prefix = Arc::new(self.make_prefix(chain, model, compaction).await?);
        if let Some(known) = known {
            // The work at hand goes on.
            prefix
                .toolbox
                .plan()
                .go_on_with(&known.toolbox.plan().steps());
        }
        let names = prefix.toolbox.specs().map(|spec| spec.name.to_string());
        self.children.0.offer(names);
        self.with(|state| state.prefix = Some(Arc::clone(&prefix)));
        Ok(prefix)
    }

    async fn make_prefix(
        &self,
        chain: Option<&Chain>,
        model: Option<String>,
        compaction: Option<EntryId>,
    ) -> Result<Prefix, OpenError> {
        let size = match chain.map(|chain| chain.primary().prompt_profile()) {
            Some(PromptProfile::Short) => Size::Short,
            _ => Size::Full,
        };
        let session = self.session();
        // Whoever was told of a sandbox that is gone, or of none where there is one now, is told
        // anew.
        let sandboxed = self.commands.sandbox().sandboxed() == Sandboxed::Yes;
        let is_current = |frozen: &Frozen| {
            let told = frozen.sections.iter().any(|mark| mark.id == "sandbox");
            Some(&frozen.model) == model.as_ref()
                && frozen.compaction == compaction
                && told == sandboxed
        };
        let frozen = self.sessions.frozen(&session).await?.filter(is_current);
        if frozen.is_none() {
            // What changed meanwhile is part of it now.
            self.agents.assembler.refresh(&self.view.id);
        }
        let toolbox = self.make_toolbox(chain, size)?;
        if let Some(frozen) = frozen {
            let names: Vec<String> = frozen.tools.iter().map(|tool| tool.name.clone()).collect();
            let tools: Vec<ToolSchema> = frozen.tools.into_iter().map(ToolSchema::from).collect();
            return Ok(Prefix {
                stable: frozen.stable,
                toolbox: toolbox.restrict(&names).having_told(names),
                size,
                model,
                compaction,
                sections: frozen.sections,
                tool_marks: tools.iter().map(tool_mark).collect(),
                tools,
            });
        }
        let mut tools: Vec<ToolSchema> = toolbox.specs().map(toolset::schema_of).collect();
        hide_in_tools(&mut tools, self.agents.assembler.redactor());
        let assembled = self.assemble(&tools, size, model.as_deref())?;
        let stable = assembled.prompt.stable().to_owned();
        let sections = section_marks(&assembled.prompt);
        if let Some(model) = &model {
            self.sessions
                .freeze(
                    &session,
                    &Frozen {
                        stable: stable.clone(),
                        tools: tools.iter().cloned().map(FrozenTool::from).collect(),
                        sections: sections.clone(),
                        model: model.clone(),
                        compaction,
                        made_at: self.agents.host.unix_millis(),
                    },
                )
                .await?;
        }
        Ok(Prefix {
            stable,
            tool_marks: tools.iter().map(tool_mark).collect(),
            tools,
            toolbox,
            size,
            model,
            compaction,
            sections,
        })
    }

    fn make_toolbox(&self, chain: Option<&Chain>, size: Size) -> Result<Toolbox, OpenError> {
        let agents = &self.agents;
        let skills = agents.assembler.skills(&self.view.id)?;
        let toolbox = toolset::toolbox(&ToolsetAsk {
            redactor: self.agents.redactor(),
            handles: self.agents.handles(&self.view.id),
            host: &agents.host,
            loaded: &agents.loaded,
            view: &self.view,
            session: &self.key,
            model: chain.map(|chain| chain.primary().info()),
            sender: self.ask.speaker.sender(),
            skills: &skills,
            spool: Some(agents.spool(&self.view.id, &self.key)),
            sessions: self.desk(),
            spawner: Some(self.nest()),
            journal: Some(Arc::clone(&self.pen) as Arc<dyn chela_tools::Journal>),
            trust: &agents.file_trust(),
            memory: agents.memory(&self.view.id),
            commands: &self.commands,
            own: &self.own_tools(),
        });
        let toolbox = match self.ask.tools {
            ToolUse::AsConfigured => toolset::fitting(toolbox, size),
            ToolUse::None => toolbox.restrict(&[]),
        };
        let granted: Vec<String> = toolbox
            .tools()
            .filter(|tool| self.is_granted(tool.as_ref()))
            .map(|tool| tool.spec().name.to_string())
            .collect();
        Ok(toolbox.restrict(&granted))
    }

    /// The prompt as it would be made now, with the tools of this session.
    pub(crate) fn assemble(
        &self,
        tools: &[ToolSchema],
        size: Size,
        model: Option<&str>,
    ) -> Result<Assembled, OpenError> {
        Ok(self.agents.assembler.assemble(&Ask {
            agent: Some(self.view.id.clone()),
            session: Some(self.key.clone()),
            channel: self.ask.channel.clone(),
            model: model.map(str::to_owned),
            size,
            tools: Some(tools.to_vec()),
            bootstrap: self.with(|state| state.bootstrap.clone()),
            ..Ask::default()
        })?)
    }
}

/// The sections of the stable zone and the files in them, in prompt order.
fn section_marks(prompt: &Prompt) -> Vec<SectionMark> {
    let stable = prompt
        .sections
        .iter()
        .filter(|section| section.zone == Zone::Stable);
    stable
        .flat_map(|section| {
            let listed = prompt
                .parts_of(section.id)
                .filter_map(|part| match &part.kind {
                    PartKind::File { .. } => None,
                    kind => kind.name().map(str::to_owned),
                });
            let own = SectionMark {
                id: section.id.as_str().to_owned(),
                origin: (*section.origin).clone(),
                trust: section.trust,
                hash: ContentHash::of(prompt.slice(&section.range)),
                bytes: section.range.len() as u64,
                contributor: None,
                lists: listed.collect(),
            };
            let files = prompt
                .parts_of(section.id)
                .filter(|part| matches!(part.kind, PartKind::File { .. }))
                .map(|part| SectionMark {
                    id: section.id.as_str().to_owned(),
                    origin: (*part.origin).clone(),
                    trust: part.trust,
                    hash: ContentHash::of(prompt.slice(&part.range)),
                    bytes: part.range.len() as u64,
                    contributor: None,
                    lists: Vec::new(),
                });
            std::iter::once(own).chain(files).collect::<Vec<_>>()
        })
        .collect()
}

fn tool_mark(tool: &ToolSchema) -> ToolMark {
    let text = format!("{}\0{}\0{}", tool.name, tool.description, tool.parameters);
    ToolMark {
        name: tool.name.clone(),
        hash: ContentHash::of(&text),
        bytes: text.len() as u64,
    }
}

impl Prefix {
    /// The system prompt with what may change at its end, or without.
    pub(crate) fn system(&self, tail: &str) -> SystemText {
        SystemText {
            stable: self.stable.clone(),
            tail: tail.to_owned(),
        }
    }
}
