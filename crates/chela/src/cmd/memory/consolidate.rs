//! `chela memory consolidate`: what of the notes belongs into MEMORY.md.

use chela_core::{AgentId, SessionKey, ok_or_warn};
use chela_memory::{MemoryProposal, MemoryReview, ProposalExtent};
use chela_session::journal::{ChangeAuthor, FileJournal, JournalRetention, TrustAfter};
use chela_tools::FileChange;
use serde_json::json;

use super::open;
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup, owner};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

/// How it is named in lists of changes.
const HOW: &str = "chela memory consolidate";

/// What was typed.
pub struct ConsolidateRequest {
    pub answer: ProposalAnswer,
    pub additions_only: bool,
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalAnswer {
    Look,
    Accept,
    Refuse,
}

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    request: &ConsolidateRequest,
) -> CommandOutcome {
    if request.answer != ProposalAnswer::Look {
        owner::require_owner(&setup.host, "what goes into MEMORY.md is decided")?;
    }
    let opened = open(setup, agent)?;
    let memory = opened.memory()?;
    let extent = match request.additions_only {
        true => ProposalExtent::AdditionsOnly,
        false => ProposalExtent::All,
    };
    let review = memory.review_notes(extent);
    let proposal = match (&review.proposal, request.answer) {
        (Some(proposal), ProposalAnswer::Accept) => {
            keep_for_undo(
                setup,
                &setup.agent(agent.agent.as_deref())?,
                &memory,
                proposal,
            )?;
            let written = memory.accept_proposal(proposal);
            let path = written.map_err(|error| with_cause(&error))?;
            let id = setup.agent(agent.agent.as_deref())?;
            crate::cmd::trust::owner_wrote(setup, &id, &["MEMORY.md"], HOW);
            Some((proposal, Some(setup.host.compact(&path))))
        }
        (Some(proposal), ProposalAnswer::Refuse) => {
            let refused = memory.refuse_lines(&proposal.lines);
            refused.map_err(|error| with_cause(&error))?;
            Some((proposal, None))
        }
        (proposal, _) => proposal.as_ref().map(|proposal| (proposal, None)),
    };
    if request.json {
        screen.json(&json!({
            "lines": proposal.as_ref().map(|(found, _)| found.lines.as_slice()).unwrap_or_default(),
            "diff": proposal.as_ref().map(|(found, _)| &found.diff),
            "written": proposal.as_ref().and_then(|(_, path)| path.as_ref()),
            "untrusted": review.untrusted,
        }))?;
    } else {
        tell(
            screen,
            request.answer,
            &review,
            proposal.as_ref().and_then(|(_, path)| path.as_deref()),
        )?;
    }
    Ok(match (proposal, request.answer) {
        (Some(_), ProposalAnswer::Look) => CommandExit::Findings,
        _ => CommandExit::Fine,
    })
}

fn tell(
    screen: &mut Screen,
    answer: ProposalAnswer,
    review: &MemoryReview,
    written: Option<&str>,
) -> std::io::Result<()> {
    match (&review.proposal, answer) {
        (None, _) => screen.line("Nothing in the notes is missing in MEMORY.md.")?,
        (Some(found), ProposalAnswer::Look) => {
            screen.raw(&found.diff)?;
            let count = count_noun(found.lines.len(), "line");
            screen.line(format!(
                "{count}. Add --yes to take them over, --refuse to drop them for good."
            ))?;
        }
        (Some(found), ProposalAnswer::Accept) => {
            let count = count_noun(found.lines.len(), "line");
            let path = written.unwrap_or("MEMORY.md");
            screen.line(format!(
                "Wrote {path}: {count}. `chela undo --list` shows how to take it back."
            ))?;
        }
        (Some(found), ProposalAnswer::Refuse) => {
            let count = count_noun(found.lines.len(), "line");
            screen.line(format!("{count} will not be proposed again."))?;
        }
    }
    if !review.untrusted.is_empty() {
        screen.line(format!(
            "Not read, because you have not approved them: {}. `chela trust` lists them.",
            review.untrusted.join(", ")
        ))?;
    }
    Ok(())
}

/// Puts the change on record before it is made.
fn keep_for_undo(
    setup: &CommandSetup,
    agent: &AgentId,
    memory: &chela_memory::Memory<'_>,
    proposal: &MemoryProposal,
) -> Result<(), CommandError> {
    let path = memory.places().workspace.join("MEMORY.md");
    let path = path.canonicalize().unwrap_or(path);
    let before = path.exists().then(|| proposal.before());
    let journal = FileJournal::of(&setup.host, agent, JournalRetention::of(&setup.loaded));
    let change = FileChange {
        path: &path,
        before: before.map(str::as_bytes),
        after: Some(proposal.text.as_bytes()),
        keeps: before.map(|_| path.as_path()),
        tool: "consolidate",
        call: "",
    };
    let author = ChangeAuthor {
        session: &SessionKey::main(agent).to_string(),
        session_id: "",
        turn: "",
        tainted: false,
        keeps_own: true,
    };
    ok_or_warn!(
        journal.keep(&change, &author, TrustAfter::Follows),
        "this change cannot be undone"
    );
    Ok(())
}

fn with_cause(error: &chela_memory::ConsolidateError) -> CommandError {
    let cause = std::error::Error::source(error)
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    CommandError::new(format!("{error}{cause}"))
}
