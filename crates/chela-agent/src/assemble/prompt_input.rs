//! What a prompt says: the facts of one request, put together for `chela_prompt`.

use std::borrow::Borrow;
use std::path::PathBuf;
use std::sync::Arc;

use chela_config::LoadedConfig;
use chela_core::{Audience, Host, SessionForm, SessionKey};
use chela_model::ToolSchema;
use chela_prompt::{
    ApprovalWay, EmptyTools, ExtraKind, OwnerDisplay, OwnerList, PromptExtent, PromptInput,
    PromptMode, ReplyFormat, ReplySurface, RuntimeFacts, ToolListing, TruncationNotice,
};
use chela_workspace::LoadedContext;

use super::known_agent::KnownAgent;
use super::prompt_request::{AssembleError, MachineMention, PromptRequest};
use super::workspace_files::left_out;
use super::{PromptAssembler, subagent_text};
use crate::documentation::OwnDocumentation;
use crate::installation_secret::installation_secret;
use crate::prompt_knobs::{OwnerView, PromptKnobs, reasoning_level};
use crate::toolset::PromptSize;
use crate::{sandbox, toolset};

/// The tool that reacts to messages.
const REACTS: &str = "message";

/// What one prompt is asked for.
pub(super) struct RequestFacts<'a> {
    pub ask: &'a PromptRequest,
    pub size: PromptSize,
    pub session: &'a SessionKey,
    pub mode: PromptMode,
    pub channel: Option<String>,
    pub known: &'a KnownAgent,
    pub tools: &'a [ToolSchema],
}

/// A conversation without a channel is held at a terminal.
fn surface_of(facts: &RequestFacts<'_>) -> ReplySurface {
    let is_here = matches!(
        facts.session.form,
        SessionForm::Main { .. } | SessionForm::Global
    );
    match is_here && facts.channel.is_none() {
        true => ReplySurface::Terminal,
        false => ReplySurface::Channel,
    }
}

impl RequestFacts<'_> {
    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Without a turn, as most turns of such a session have it: the chat asks by itself.
    fn approvals(&self) -> ApprovalWay {
        let usual = match (&self.session.form, &self.channel) {
            (SessionForm::Subagent { .. }, _) => ApprovalWay::Relayed,
            (_, Some(_)) => ApprovalWay::ByChannel,
            (SessionForm::Cron { .. } | SessionForm::Heartbeat { .. }, None) => {
                ApprovalWay::Refused
            }
            (_, None) => ApprovalWay::Asked,
        };
        self.ask.approvals.unwrap_or(usual)
    }
}

impl<H: Borrow<Host>, L: Borrow<LoadedConfig>> PromptAssembler<H, L> {
    pub(super) fn input(
        &self,
        facts: &RequestFacts<'_>,
        context: &LoadedContext,
    ) -> Result<PromptInput, AssembleError> {
        let knobs = &*facts.known.knobs;
        let model = facts.ask.model.clone().or_else(|| knobs.model.clone());
        let (sandbox, working_dir) = self.sandbox(facts);
        let own = self.documentation(facts);
        let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
        let elevated_now = sandbox
            .as_ref()
            .and_then(|sandbox| sandbox.elevated.as_ref())
            .map(|elevated| knobs.elevated_now(facts.ask.levels.elevated, elevated.full));
        Ok(PromptInput {
            docs_path: shown(own.docs),
            source_path: shown(own.source),
            sandbox,
            tools: facts.tools.iter().map(toolset::listed_as).collect(),
            empty_tools: EmptyTools::None,
            // Every endpoint is told of them besides, in its own way.
            tool_listing: ToolListing::BySchema,
            surface: surface_of(facts),
            mode: facts.mode,
            extent: match facts.size {
                PromptSize::Full => PromptExtent::Whole,
                PromptSize::Short => PromptExtent::Brief,
            },
            session: facts.session.audience(),
            approvals: facts.approvals(),
            delegation: knobs.delegation(),
            contribution: facts
                .ask
                .hooks
                .contribution(model.as_deref().and_then(|model| knobs.contribution(model))),
            replacement: facts.ask.hooks.replacement(),
            memory: knobs.memory,
            skills: self.listed_skills(facts)?,
            model_aliases: knobs.model_aliases.clone(),
            time_zone: knobs.time_zone.clone().or_else(|| match facts.ask.machine {
                MachineMention::This => self.host().facts.time_zone.clone(),
                MachineMention::Anywhere => None,
            }),
            owners: self.owners(knobs, facts.session)?,
            files: self.files(context),
            truncation_notice: match context.notice {
                Some(_) => TruncationNotice::Shown,
                None => TruncationNotice::Hidden,
            },
            left_out: left_out(context),
            silent_replies: knobs.silent_replies(facts.session),
            message_channels: knobs.channels.clone(),
            // Who sits at a terminal hears nothing, and without a way to send reactions nobody reacts.
            voice_hint: knobs.voice_hint.clone().filter(|_| facts.channel.is_some()),
            extra_context: subagent_text::with_subagent_text(
                facts.session,
                facts.ask.share.as_ref(),
                knobs.extra_context.clone(),
            ),
            extra_kind: match facts.session.audience() {
                Audience::Private => ExtraKind::Instructions,
                Audience::Shared => ExtraKind::Conversation,
            },
            reactions: knobs
                .reactions(facts.channel.as_deref())
                .filter(|_| facts.has_tool(REACTS)),
            heartbeat: knobs.heartbeat.clone(),
            runtime: self.runtime(facts),
            reasoning: facts
                .ask
                .levels
                .reasoning
                .map_or(knobs.reasoning, reasoning_level),
            thinking: match facts.ask.levels.thinking {
                Some(level) => Some(level.as_str().to_owned()),
                None => knobs.thinking.clone(),
            },
            reply_format: model
                .as_deref()
                .map_or(ReplyFormat::Plain, |model| self.reply_format(model)),
            elevated_now,
            ..PromptInput::new(match facts.ask.machine {
                MachineMention::This => working_dir.display().to_string(),
                MachineMention::Anywhere => "<workspace>".to_owned(),
            })
        })
    }

    fn documentation(&self, facts: &RequestFacts<'_>) -> OwnDocumentation {
        match facts.ask.machine {
            MachineMention::Anywhere => OwnDocumentation::default(),
            MachineMention::This => self
                .documentation
                .get_or_init(|| OwnDocumentation::find(self.host()))
                .clone(),
        }
    }

    /// How a model, named `provider/model`, tells its reasoning from its reply.
    fn reply_format(&self, model: &str) -> ReplyFormat {
        let (provider, id) = model.split_once('/').unwrap_or(("", model));
        let providers = &self.loaded().config.models.providers;
        let entry = providers
            .get(provider)
            .and_then(|provider| provider.models.iter().find(|model| model.id == id));
        match chela_model::ReplyFormat::of(id, entry.map(|entry| &entry.compat)) {
            chela_model::ReplyFormat::Plain => ReplyFormat::Plain,
            chela_model::ReplyFormat::Tagged => ReplyFormat::Tagged,
        }
    }

    /// What there is to say of a sandbox, and the folder that relative paths start in.
    pub(super) fn sandbox(
        &self,
        facts: &RequestFacts<'_>,
    ) -> (Option<chela_prompt::SandboxFacts>, PathBuf) {
        let knobs = &*facts.known.knobs;
        let session = sandbox::SandboxedSession {
            host: self.host(),
            loaded: self.loaded(),
            view: &facts.known.view,
            key: facts.session,
            channel: facts.channel.as_deref(),
            skills: &facts.known.skills,
            folders: &[],
        };
        match facts.ask.machine {
            MachineMention::This => {
                let own = facts.ask.standing.clone();
                let standing = own.unwrap_or_else(|| Arc::new(session.standing()));
                let said = session.facts(&standing);
                (said, standing.workdir(&knobs.workspace))
            }
            MachineMention::Anywhere => (session.anywhere(), knobs.workspace.clone()),
        }
    }

    /// Raw ids are for the owner's eyes: where others read along, they are hashed all the same.
    fn owners(
        &self,
        knobs: &PromptKnobs,
        session: &SessionKey,
    ) -> Result<OwnerList, AssembleError> {
        let secret = match &knobs.owner_view {
            // Without owners there is nothing to hide, and no secret is made.
            _ if knobs.owners.is_empty() => return Ok(OwnerList::default()),
            OwnerView::Raw if session.audience() == Audience::Private => {
                return Ok(OwnerList {
                    ids: knobs.owners.clone(),
                    display: OwnerDisplay::Raw,
                });
            }
            OwnerView::Hashed(Some(secret)) => secret.clone(),
            OwnerView::Raw | OwnerView::Hashed(None) => installation_secret(self.host())?,
        };
        Ok(OwnerList {
            ids: knobs.owners.clone(),
            display: OwnerDisplay::Hashed { secret },
        })
    }

    fn runtime(&self, facts: &RequestFacts<'_>) -> RuntimeFacts {
        let knobs = &*facts.known.knobs;
        let general = RuntimeFacts {
            agent: Some(knobs.agent.to_string()),
            model: facts.ask.model.clone().or_else(|| knobs.model.clone()),
            default_model: knobs.default_model.clone(),
            capabilities: knobs.capabilities(facts.channel.as_deref()),
            channel: facts.channel.clone(),
            ..RuntimeFacts::default()
        };
        let machine = &self.host().facts;
        match facts.ask.machine {
            MachineMention::Anywhere => general,
            MachineMention::This => RuntimeFacts {
                host: machine.hostname.clone(),
                repo_root: facts
                    .known
                    .repo_root
                    .as_ref()
                    .map(|root| root.display().to_string()),
                os: machine.os.clone(),
                arch: machine.arch.clone(),
                shell: machine.shell.clone(),
                ..general
            },
        }
    }
}
