//! `guard`, `security`, `approvals`: what trust decides.

use std::collections::BTreeMap;

use super::*;

section! {
    /// What trust decides.
    struct Guard {
        /// How strict.
        policy: GuardPolicy,
        /// The same, by channel.
        by_channel: BTreeMap<String, GuardPolicy>,
        /// Untrusted content.
        external: GuardExternal,
        /// Detection of injected instructions.
        detection: GuardDetection,
        /// Approval questions.
        approvals: GuardApprovals,
        /// Files that shape the agent.
        trust: GuardTrust,
        /// Hosts that may be reached without asking.
        egress: Vec<String>,
        /// Effects that are always asked about, whatever was read before.
        confirm: Vec<GuardEffect>,
        /// What file tools changed, for `chela undo`.
        journal: GuardJournal,
    }

    /// Rules of trust for one agent.
    struct AgentGuard {
        /// How strict.
        policy: Option<GuardPolicy>,
        /// Hosts that may be reached without asking.
        egress: Option<Vec<String>>,
        /// Effects that are always asked about, whatever was read before.
        confirm: Option<Vec<GuardEffect>>,
    }

    /// Untrusted content.
    struct GuardExternal {
        /// How often the notice about it is repeated.
        notice: ExternalNotice,
    }

    /// Detection of injected instructions.
    struct GuardDetection {
        /// On or off.
        enabled: bool = true,
        /// What happens with a weak finding.
        low: DetectionOutcome,
        /// What happens with a finding.
        medium: DetectionOutcome = DetectionOutcome::Flag,
        /// What happens with a strong finding.
        high: DetectionOutcome = DetectionOutcome::Flag,
    }

    /// Approval questions.
    struct GuardApprovals {
        /// A question expires after this long; a bare number is seconds.
        expires_after: DurationText = "10m".into(),
        /// What happens when nobody is there to ask.
        headless: HeadlessApproval,
    }

    /// What file tools changed, for `chela undo`.
    struct GuardJournal {
        /// A change can be undone for this long; a bare number is days.
        keep: DurationText = "30d".into(),
        /// The oldest are deleted when it takes more space than this.
        size: ByteSize = ByteSize::Text("200mb".to_owned()),
    }

    /// Files that shape the agent.
    struct GuardTrust {
        /// What happens when someone else changed a file in the workspace.
        workspace: OnChange,
        /// What happens with a file in an untrusted folder.
        foreign: OnChange = OnChange::Quarantine,
    }

    /// Checks before something is installed.
    struct Security {
        /// A program that decides.
        [later]
        install_policy: InstallPolicy,
        /// Findings of the audit.
        audit: ForeignSettings,
    }

    /// A program that decides what may be installed.
    struct InstallPolicy {
        /// Ask it.
        enabled: bool,
        /// About these.
        targets: Vec<String>,
        /// The program.
        exec: ForeignSettings,
    }

    /// Where approval questions are sent.
    struct Approvals {
        /// Questions about commands.
        exec: ForeignSettings,
        /// Questions about plugins.
        plugin: ForeignSettings,
    }
}

words! {
    /// How strict the guard is.
    enum GuardPolicy { Standard = "standard", Open = "open", Strict = "strict" }
    /// What a call does to the world.
    enum GuardEffect {
        /// Deletion, payment, a command.
        Irreversible = "irreversible",
        /// What others see: a message, a post.
        WriteOutward = "write_outward",
        /// A file or setting here.
        WriteReversible = "write_reversible",
        /// Something sent to another machine.
        Egress = "egress",
        /// Persona and memory.
        Persona = "persona",
        /// What the agent may do.
        Config = "config",
    }
    /// How often the notice about untrusted content is repeated.
    enum ExternalNotice { Turn = "turn", Block = "block" }
    /// What happens with a finding.
    enum DetectionOutcome {
        /// Write it down.
        Note = "note",
        /// Tell the owner.
        Flag = "flag",
        /// Hold the text back until the owner releases it.
        Withhold = "withhold",
    }
    /// What happens when nobody is there to ask.
    enum HeadlessApproval { Deny = "deny", Queue = "queue" }
}
