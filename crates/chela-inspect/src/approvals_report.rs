//! What waits for the owner, and what may happen without asking.

use chela_core::AgentId;
use chela_tools::approvals::{
    AgentApprovals, ApprovalEntry, ApprovalsDocument, EVERY_AGENT, HostGrant, KnownCall,
    OpenQuestion,
};
use serde::Serialize;

/// One thing on the list, and the agent it holds for.
#[derive(Debug, Serialize)]
pub struct ApprovalRow<'a> {
    pub agent: &'a str,
    #[serde(flatten)]
    pub item: ApprovalItem<'a>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalItem<'a> {
    /// A question that is open in a process.
    Open(&'a OpenQuestion),
    /// A call of a tool that waits or may be made.
    Call(&'a KnownCall),
    /// A host that sandboxed commands may reach.
    Host(&'a HostGrant),
    /// A command that may run.
    Entry(&'a ApprovalEntry),
}

/// Everything that waits or is allowed: of one agent and of all of them, or of any.
pub fn list_approvals<'a>(
    document: &'a ApprovalsDocument,
    open: &'a [OpenQuestion],
    agent: Option<&AgentId>,
) -> Vec<ApprovalRow<'a>> {
    let wanted = |id: &str| agent.is_none_or(|agent| id == agent.as_str() || id == EVERY_AGENT);
    let mut rows: Vec<ApprovalRow<'a>> = open
        .iter()
        .filter(|question| wanted(&question.agent))
        .map(|question| ApprovalRow {
            agent: &question.agent,
            item: ApprovalItem::Open(question),
        })
        .collect();
    let mut add = |items: fn(&'a AgentApprovals) -> Vec<ApprovalItem<'a>>| {
        let agents = document.agents.iter().filter(|(id, _)| wanted(id));
        rows.extend(agents.flat_map(|(id, approvals)| {
            let items = items(approvals).into_iter();
            items.map(move |item| ApprovalRow { agent: id, item })
        }));
    };
    add(|agent| agent.calls.iter().map(ApprovalItem::Call).collect());
    add(|agent| agent.hosts.iter().map(ApprovalItem::Host).collect());
    add(|agent| agent.allowlist.iter().map(ApprovalItem::Entry).collect());
    rows
}
