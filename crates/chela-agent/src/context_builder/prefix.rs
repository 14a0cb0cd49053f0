//! What every request of a session begins with, and what does not move while it lasts.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use chela_core::{ContentHash, Zone};
use chela_guard::approval::OwnerPresence;
use chela_ledger::{SectionList, SectionMark};
use chela_model::{FallbackChain, ModelTarget, PromptProfile, SystemText, ToolSchema};
use chela_prompt::{PartKind, Prompt};
use chela_skills::AgentSkills;
use chela_tools::{JobsAccess, SandboxChoice, Toolbox, TrustNow};
use chela_workspace::TurnPosition;

use super::sessions_view::sessions_view;
use super::{ContextBuilder, files_in_prefix, found_in};
use crate::agent::OpenError;
use crate::assemble::{
    AssembleError, AssembledPrompt, ChosenLevels, PromptPurpose, PromptRequest, PromptSize,
    hide_in_tools,
};
use crate::bootstrap_pending::BootstrapMeans;
use crate::prefix_text::PrefixText;
use crate::scope::ToolUse;
use crate::toolset::{self, SessionTools, ToolsetAsk, company_of};
use chela_session::{EntryBody, EntryId, FrozenPrefix, FrozenTool, OpenSession, TranscriptEntry};

/// The beginning of every request: the stable zone of the prompt and the tools, as the session
/// started with them.
pub(crate) struct RequestPrefix {
    pub text: Arc<PrefixText>,
    pub toolbox: Toolbox,
    pub size: PromptSize,
    /// `provider/model` it was made for.
    pub model: Option<String>,
    /// The compaction after which it was made.
    pub compaction: Option<EntryId>,
    /// The skills its tools may read.
    skills: Arc<AgentSkills>,
    /// Whether the session had been answered when it was made: `contextInjection` may leave the
    /// files out then.
    pub position: TurnPosition,
}

impl ContextBuilder {
    /// The prefix of this session: made once, kept in the session, made again only when the
    /// model changes or the conversation was compacted, as it is read anew then anyway.
    pub(crate) async fn prefix(&self) -> Result<Arc<RequestPrefix>, OpenError> {
        self.prefix_for(self.transcript.chain().ok().as_ref()).await
    }

    pub(crate) async fn prefix_for(
        &self,
        chain: Option<&FallbackChain>,
    ) -> Result<Arc<RequestPrefix>, OpenError> {
        let session = self.transcript.session();
        let branch = self.transcript.sessions.branch(&session).await?;
        self.prefix_on(chain, &branch).await
    }

    /// The same for whoever has the transcript at hand.
    pub(crate) async fn prefix_on(
        &self,
        chain: Option<&FallbackChain>,
        branch: &[TranscriptEntry],
    ) -> Result<Arc<RequestPrefix>, OpenError> {
        let model = chain.map(|chain| chain.primary().reference().to_owned());
        let session = self.transcript.session();
        let compaction = branch
            .iter()
            .rev()
            .find(|entry| matches!(entry.body, EntryBody::Compaction(_)))
            .map(|entry| entry.id);
        let known = self.kept_prefix(&session);
        let skills = self.scope.agents.assembler.skills(&self.scope.view.id)?;
        let position = self.position(branch);
        let is_current = |prefix: &RequestPrefix| {
            prefix.model == model
                && prefix.compaction == compaction
                && prefix.position == position
                && Arc::ptr_eq(&prefix.skills, &skills)
        };
        if let Some(prefix) = known.clone().filter(|prefix| is_current(prefix)) {
            return Ok(prefix);
        }
        let prefix = Arc::new(
            self.make_prefix(
                (&session, branch),
                chain,
                PrefixMade {
                    model,
                    compaction,
                    position,
                },
            )
            .await?,
        );
        if let Some(known) = known {
            // The work at hand goes on.
            prefix
                .toolbox
                .plan()
                .go_on_with(&known.toolbox.plan().steps());
        }
        let names = prefix.toolbox.specs().map(|spec| spec.name.to_string());
        self.background.runs.offer(names);
        self.keep_prefix(&session, &prefix);
        Ok(prefix)
    }

    async fn make_prefix(
        &self,
        (session, branch): (&OpenSession, &[TranscriptEntry]),
        chain: Option<&FallbackChain>,
        of: PrefixMade,
    ) -> Result<RequestPrefix, OpenError> {
        let PrefixMade {
            model,
            compaction,
            position,
        } = of;
        let size = match chain.map(|chain| chain.primary().prompt_profile()) {
            Some(PromptProfile::Short) => PromptSize::Short,
            _ => PromptSize::Full,
        };
        // Whoever was told of a sandbox that is gone, or of none where there is one now, is told
        // anew.
        let standing = self.background.commands.sandbox();
        let sandboxed = standing.sandboxed() == SandboxChoice::Yes || standing.plan().is_some();
        let is_current = |frozen: &FrozenPrefix| {
            let told = frozen.sections.iter().any(|mark| mark.id == "sandbox");
            Some(&frozen.model) == model.as_ref()
                && frozen.compaction == compaction
                && told == sandboxed
                && !(position == TurnPosition::Continuation && files_in_prefix::holds_files(frozen))
        };
        let frozen = self
            .transcript
            .sessions
            .frozen(session)
            .await?
            .filter(is_current);
        if frozen.is_none() {
            // What changed meanwhile is part of it now.
            let (agents, agent) = (Arc::clone(&self.scope.agents), self.scope.view.id.clone());
            let looked = move || agents.assembler.look_again(&agent);
            self.scope.agents.cores.run(looked).await?;
        }
        let agents = &self.scope.agents;
        let toolbox = self.make_toolbox(chain, size).await?;
        let prefix = |text: Arc<PrefixText>, toolbox: Toolbox| {
            Ok(RequestPrefix {
                text,
                toolbox,
                size,
                model: model.clone(),
                compaction,
                skills: agents.assembler.skills(&self.scope.view.id)?,
                position,
            })
        };
        if let Some(frozen) = frozen {
            let names: Vec<String> = frozen.tools.iter().map(|tool| tool.name.clone()).collect();
            let toolbox = toolbox.as_begun(names, frozen.deferred);
            let tools: Vec<ToolSchema> = frozen.tools.into_iter().map(ToolSchema::from).collect();
            let shared = Arc::clone(agents);
            let made = move || {
                let text = PrefixText::new(frozen.stable, tools, frozen.sections.into());
                shared.prefixes.share(text)
            };
            return prefix(agents.cores.run(made).await, toolbox);
        }
        let toolbox = toolbox.listing(&found_in(branch));
        let kind = PromptKind {
            size,
            target: chain.map(FallbackChain::primary),
            position,
            // Who is there is said with each message, below the boundary.
            presence: OwnerPresence::There,
            means: BootstrapMeans::of(&toolbox),
            purpose: PromptPurpose::Turn,
        };
        let request = self.prompt_request(kind);
        let (at_work, shown) = (Arc::clone(agents), toolbox.clone());
        // In one piece: what it is made of is gone before the next session's is made.
        let made = move || {
            let mut tools = SessionTools::of(&shown, size).listed;
            hide_in_tools(&mut tools, at_work.assembler.redactor());
            let assembled = at_work.assembler.assemble(&request.with_tools(&tools))?;
            let stable = assembled.prompt.stable().to_owned();
            let marks = section_marks(&assembled.prompt);
            let text = PrefixText::new(stable, tools, marks.into());
            Ok::<_, AssembleError>((at_work.prefixes.share(text), assembled.cut_notice))
        };
        let (text, cut_notice) = agents.cores.run(made).await?;
        if let Some(model) = &model {
            self.transcript
                .sessions
                .freeze(
                    session,
                    &FrozenPrefix {
                        stable: text.stable.clone(),
                        tools: text.tools.iter().cloned().map(FrozenTool::from).collect(),
                        deferred: toolbox.deferred(),
                        sections: text.sections.to_vec(),
                        model: model.clone(),
                        compaction,
                        made_at: self.scope.agents.host.unix_millis(),
                    },
                )
                .await?;
            self.note_told(cut_notice);
        }
        prefix(text, toolbox)
    }

    async fn make_toolbox(
        &self,
        chain: Option<&FallbackChain>,
        size: PromptSize,
    ) -> Result<Toolbox, OpenError> {
        let scope = Arc::clone(&self.scope);
        let background = Arc::clone(&self.background);
        let (journal, spawner) = (Arc::clone(&self.journal), Arc::clone(&self.spawner));
        let model = chain.map(|chain| chain.primary().clone());
        let mut own = self.own_tools();
        own.extend(self.scope.ask.process.0.iter().cloned());
        let sessions = Arc::clone(&self.transcript.sessions);
        let author = Arc::clone(&self.journal);
        let trust_now: TrustNow = Arc::new(move || author.trust_now());
        let made = self.scope.agents.cores.run(move || {
            let agents = &scope.agents;
            let skills = agents.assembler.skills(&scope.view.id)?;
            let toolbox = toolset::toolbox(&ToolsetAsk {
                redactor: agents.redactor(),
                handles: agents.handles(&scope.view.id),
                host: &agents.host,
                loaded: &agents.loaded,
                view: &scope.view,
                session: &scope.key,
                model: model.as_ref().map(ModelTarget::info),
                sender: scope.ask.speaker.sender(),
                skills: &skills,
                spool: Some(scope.spool()),
                sessions: sessions_view(&scope),
                company: company_of(
                    &agents.loaded,
                    &scope.view,
                    Some(sessions.as_ref()),
                    &scope.key,
                ),
                spawner: Some(spawner),
                journal: Some(journal as Arc<dyn chela_tools::ChangeJournal>),
                trust: &agents.file_trust(),
                memory: agents.memory(&scope.view.id),
                jobs: JobsAccess {
                    jobs: agents.jobs(),
                    trust: Arc::clone(&trust_now),
                },
                commands: &background.commands,
                own: &own,
                folders: &scope.ask.folders,
                searched: Some(
                    agents
                        .assembler
                        .searched_skills(&scope.view.id, agents.redactor())?,
                ),
            });
            let toolbox = match scope.ask.tools {
                ToolUse::AsConfigured => toolset::fitting(toolbox, size),
                ToolUse::None => toolbox.restrict(&[]),
            };
            let granted: Vec<String> = toolbox
                .tools()
                .filter(|tool| scope.is_granted(tool.as_ref()))
                .map(|tool| tool.spec().name.to_string())
                .collect();
            Ok(toolbox.restrict(&granted))
        });
        made.await
    }

    /// Looks whether skills came, changed or went: tools may read those that are there now.
    pub(crate) async fn look_at_skills(&self) -> Result<(), OpenError> {
        if self.skills_seen.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        let (agents, agent) = (Arc::clone(&self.scope.agents), self.scope.view.id.clone());
        let looked = move || agents.assembler.look_at_skills(&agent);
        Ok(self.scope.agents.cores.run(looked).await?)
    }

    /// The prompt as it would be made now, with the tools of this session.
    pub(crate) async fn assemble(
        &self,
        tools: &[ToolSchema],
        kind: PromptKind<'_>,
    ) -> Result<AssembledPrompt, OpenError> {
        let (assembled, ()) = self.assemble_beside(tools, kind, || ()).await?;
        Ok(assembled)
    }

    /// The same with something else that is to be looked up, in one piece of work.
    pub(crate) async fn assemble_beside<T: Send + 'static>(
        &self,
        tools: &[ToolSchema],
        kind: PromptKind<'_>,
        beside: impl FnOnce() -> T + Send + 'static,
    ) -> Result<(AssembledPrompt, T), OpenError> {
        let request = self.prompt_request(kind).with_tools(tools);
        let agents = Arc::clone(&self.scope.agents);
        let made = move || Ok::<_, AssembleError>((agents.assembler.assemble(&request)?, beside()));
        Ok(self.scope.agents.cores.run(made).await?)
    }

    /// What a prompt is made from, but for the tools that are listed.
    fn prompt_request(&self, kind: PromptKind<'_>) -> PromptRequest {
        PromptRequest {
            agent: Some(self.scope.view.id.clone()),
            session: Some(self.scope.key.clone()),
            channel: self.scope.ask.channel.clone(),
            model: kind.target.map(|target| target.reference().to_owned()),
            target: kind.target.cloned(),
            size: Some(kind.size),
            tools: Some(SessionTools {
                means: kind.means,
                ..SessionTools::default()
            }),
            hooks: self.hook_prompt(),
            levels: ChosenLevels::from(&self.transcript.settings()),
            approvals: Some(self.scope.approval_way(kind.presence)),
            share: self.scope.subagent_share(),
            position: kind.position,
            purpose: kind.purpose,
            standing: Some(Arc::clone(self.background.commands.sandbox())),
            ..PromptRequest::default()
        }
    }
}

/// Which prompt of a session is wanted.
#[derive(Clone, Copy)]
pub(crate) struct PromptKind<'a> {
    pub size: PromptSize,
    /// Who reads it.
    pub target: Option<&'a ModelTarget>,
    pub position: TurnPosition,
    pub presence: OwnerPresence,
    pub means: BootstrapMeans,
    pub purpose: PromptPurpose,
}

/// What a prefix is made for.
struct PrefixMade {
    model: Option<String>,
    compaction: Option<EntryId>,
    position: TurnPosition,
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

impl RequestPrefix {
    /// For a request that is none of the conversation's own: nothing of it stands before it.
    pub(crate) fn aside(&self, model: &str) -> Self {
        Self {
            text: Arc::new(PrefixText::new(
                String::new(),
                Vec::new(),
                SectionList::default(),
            )),
            toolbox: self.toolbox.clone(),
            size: self.size,
            model: Some(model.to_owned()),
            compaction: None,
            skills: Arc::clone(&self.skills),
            position: self.position,
        }
    }

    /// The prompt this was made from.
    pub(crate) fn kind(&self) -> PromptKind<'_> {
        PromptKind {
            size: self.size,
            target: None,
            position: self.position,
            presence: OwnerPresence::There,
            means: BootstrapMeans::of(&self.toolbox),
            purpose: PromptPurpose::Turn,
        }
    }

    /// The system prompt with what may change at its end, or without.
    pub(crate) fn system(&self, tail: &str) -> SystemText {
        SystemText {
            stable: self.text.stable.clone(),
            tail: tail.to_owned(),
        }
    }
}
