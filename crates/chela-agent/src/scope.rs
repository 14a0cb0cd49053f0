//! What a conversation is held with: whose it is, who speaks, what it may have at most. Nothing
//! of it changes while the conversation is open.

mod ask;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use chela_config::model::HeadlessApproval;
use chela_config::{AgentView, LoadedConfig};
use chela_core::{Audience, ContentHash, Origin, SessionKey, Speaker};
use chela_guard::approval::OwnerPresence;
use chela_model::ReplyFormat;
use chela_prompt::ApprovalWay;
use chela_reply::{ACK_MAX_CHARS, GateSettings, WithWord};
use chela_sandbox::FolderAccess;
use chela_session::{MessageSender, MessageSource, ResetRules, SpeakerMark, TextLabel};
use chela_tools::{Tool, ToolNeed};

use crate::agent::Agents;
use crate::assemble::SubagentShare;
use crate::entry_trust::is_owner;
use crate::inbound_message::InboundMessage;
use crate::local;
use crate::subagents::SessionGrant;

pub use ask::{ConversationAsk, OwnTools, ToolUse};

/// What a conversation is held with.
pub(crate) struct ConversationScope {
    pub agents: Arc<Agents>,
    pub view: Arc<AgentView>,
    pub key: SessionKey,
    pub ask: ConversationAsk,
    /// What it may have at most.
    pub grant: SessionGrant,
    /// Who speaks to it.
    pub source: MessageSource,
}

impl ConversationScope {
    pub fn reset_rules(&self) -> ResetRules {
        reset_rules(&self.agents, &self.key, self.ask.channel.as_deref())
    }

    /// The workspace, links resolved.
    pub fn workspace_root(&self) -> PathBuf {
        let dir = &self.view.workspace.value;
        dir.canonicalize().unwrap_or_else(|_| dir.clone())
    }

    /// The folders commands may change: the workspace, and those the owner lets the agent write in.
    pub fn writable_roots(&self) -> Vec<PathBuf> {
        let besides = self.ask.folders.iter();
        let besides = besides.filter(|folder| folder.access == FolderAccess::Write);
        std::iter::once(self.workspace_root())
            .chain(besides.map(|folder| folder.path.clone()))
            .collect()
    }

    /// Where the session keeps what does not fit into a tool result.
    pub fn spool(&self) -> PathBuf {
        self.agents.spool(&self.view.id, &self.key)
    }

    /// Whether a tool is within what this session was given. A sub-agent whose folders are not its
    /// parent's has no tool that is about folders, and one that may start none has no tool of
    /// those who have sub-agents.
    pub fn is_granted(&self, tool: &dyn Tool) -> bool {
        let paths = paths_of(&self.agents.loaded, &self.view);
        let is_leaf = self.key.is_subagent() && self.grant.levels() == 0;
        let needs = tool.needs();
        self.grant.allows_tool(&tool.spec().name)
            && (!needs.contains(&ToolNeed::Folders) || self.grant.allows_paths(paths.as_ref()))
            && !(is_leaf && needs.contains(&ToolNeed::Children))
    }

    /// What a sub-agent is told of what it was given.
    pub fn subagent_share(&self) -> Option<SubagentShare> {
        self.key.is_subagent().then(|| SubagentShare {
            agent: match self.grant.payer() {
                Some(payer) => payer.agent.clone(),
                None => self.view.id.to_string(),
            },
            steps: self.grant.steps(),
            seconds: self.grant.seconds(),
            levels: self.grant.levels(),
        })
    }

    /// How what needs a yes gets it in a turn that runs with or without the owner.
    pub fn approval_way(&self, presence: OwnerPresence) -> ApprovalWay {
        let headless = self.agents.rules_config().config.guard.approvals.headless;
        match (presence, headless) {
            _ if self.key.is_subagent() => ApprovalWay::Relayed,
            (OwnerPresence::There, _) => ApprovalWay::Asked,
            (OwnerPresence::Away, HeadlessApproval::Queue) => ApprovalWay::Queued,
            (OwnerPresence::Away, _) => ApprovalWay::Refused,
        }
    }

    /// How what the model says here is to be read.
    pub fn gate_settings(&self, format: ReplyFormat, source: MessageSource) -> GateSettings {
        let heartbeat = &self.view.heartbeat.value.settings;
        let attended = self.key.audience() == Audience::Private;
        GateSettings {
            heartbeat: (source == MessageSource::Heartbeat)
                .then(|| usize::try_from(heartbeat.ack_max_chars).unwrap_or(ACK_MAX_CHARS)),
            tag_reasoning: format == ReplyFormat::Tagged,
            with_word: match attended {
                true => WithWord::Deliver,
                false => WithWord::Silence,
            },
        }
    }

    pub fn sender_of_record(&self) -> Option<MessageSender> {
        self.ask.speaker.sender().map(|sender| MessageSender {
            id: sender.id.clone().unwrap_or_default(),
            name: sender.name.clone(),
            channel: self.ask.channel.clone(),
            message_id: None,
        })
    }

    /// Whether whoever it was opened for is the owner, as code has checked it.
    pub fn is_owner(&self) -> bool {
        match &self.ask.speaker {
            Speaker::Owner(_) => true,
            Speaker::Sender(_) => self
                .sender_of_record()
                .is_some_and(|sender| is_owner(&sender, &self.view.owner_allow_from.value)),
            Speaker::Runtime => false,
        }
    }

    /// Who speaks in a turn: what is not made by a person is the runtime's, whoever the
    /// conversation was opened for.
    pub fn speaker_of_record(&self, source: MessageSource) -> SpeakerMark {
        match source {
            MessageSource::Person => SpeakerMark::from(&self.ask.speaker),
            MessageSource::Heartbeat
            | MessageSource::Cron
            | MessageSource::Event
            | MessageSource::Session => SpeakerMark::Runtime,
        }
    }

    /// What another session says is trusted as far as that session was; what a job says, as far as
    /// whoever made it.
    pub fn label_of_told(&self, message: &InboundMessage) -> Option<TextLabel> {
        let (trust, channel) = match (self.source, message.trust) {
            (MessageSource::Session, _) => (self.grant.trust(), "session"),
            (_, Some(trust)) => (trust, "job"),
            (_, None) => return None,
        };
        Some(TextLabel {
            trust,
            origin: Origin::Channel {
                channel: channel.to_owned(),
                message: self.key.to_string(),
                hash: ContentHash::of(&message.text),
            },
        })
    }
}

/// When the session under a key begins anew.
pub(crate) fn reset_rules(agents: &Agents, key: &SessionKey, channel: Option<&str>) -> ResetRules {
    let zone = &agents.loaded.config.agents.defaults.user_timezone;
    let offset = local::offset_minutes(&agents.host, zone.as_deref());
    ResetRules::of(&agents.loaded, key, channel, offset)
}

/// Where the file tools of an agent go; `None` for everywhere. Folders of skills do not count:
/// they are read like the prompt.
pub(crate) fn paths_of(loaded: &LoadedConfig, view: &AgentView) -> Option<BTreeSet<PathBuf>> {
    let global = loaded.config.tools.fs.workspace_only;
    let own = view
        .tools
        .value
        .fs
        .as_ref()
        .and_then(|fs| fs.workspace_only);
    let workspace_only = own.or(global).unwrap_or(true);
    workspace_only.then(|| BTreeSet::from([view.workspace.value.clone()]))
}
