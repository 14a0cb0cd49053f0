//! How far a file is trusted that a call has just changed.

use std::path::Path;

use chela_core::Trust;
use chela_guard::flow::SessionTaint;
use chela_workspace::custody::{Custody, WritingTurn};
use chela_workspace::trust::{
    JudgedVersion, TrustError, TrustStanding, VersionWriter, WrittenVersion,
};

/// A change the agent made to a file, as the turn knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentWrite<'a> {
    pub path: &'a Path,
    pub tool: &'a str,
    pub turn: &'a str,
    /// Whether the turn had read foreign text.
    pub taint: SessionTaint,
    /// The question about this very file to which the owner said yes, where they were asked.
    pub allowed: Option<&'a str>,
    /// The question to which the owner said yes, whatever it was about.
    pub asked: Option<&'a str>,
    /// Where the file stood before.
    pub before: Option<&'a JudgedVersion>,
    pub extent: FileExtent,
    /// It gives the agent orders, and the owner knows nothing of the change.
    pub is_unasked: bool,
}

/// How much of a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileExtent {
    /// All of it: nothing of what was there is left.
    Whole,
    Part,
    /// A command that names it did something to it.
    Command,
    /// Nobody knows: it changed while a command ran that does not name it.
    Unseen,
}

impl FileExtent {
    pub(super) fn is_command(self) -> bool {
        matches!(self, Self::Command | Self::Unseen)
    }
}

/// Puts a change of the agent's on record: with its turn when that had read nothing foreign,
/// waiting for the owner when it had and nobody was asked. Gives how far what waits is trusted
/// once they said yes.
pub(super) fn note_agent_write(
    custody: &Custody,
    write: &AgentWrite<'_>,
) -> Result<Option<Trust>, TrustError> {
    let tainted = write.taint == SessionTaint::Tainted;
    // The journal knows about files that shape nothing.
    if custody.kind(write.path).is_none() {
        return Ok(None);
    }
    let hand = WritingTurn {
        turn: write.turn,
        tool: write.tool,
        question: write.asked,
    };
    let before = write.before.map(|judged| judged.judgement);
    let waited = before.is_some_and(|before| before.waits());
    let was_held = before.is_some_and(|before| before.state == TrustStanding::Held);
    let present = custody.look(write.path);
    let hold = |trust| {
        custody.hold(write.path, &hand)?;
        Ok(Some(trust))
    };
    match (tainted, write.extent) {
        (true, FileExtent::Command | FileExtent::Unseen) => return hold(Trust::External),
        // Whoever wrote it while the command ran may have been anybody: it is somebody else's.
        (false, FileExtent::Unseen) => return Ok(None),
        (true, _) if write.allowed.is_none() => return hold(Trust::External),
        // One edit does not vouch for what somebody else wrote around it.
        (_, FileExtent::Part | FileExtent::Command) if was_held && present.is_some() => {
            return hold(Trust::External);
        }
        // Another conversation has just put on record whose it is.
        (false, FileExtent::Command) if is_settled(custody, write.path) => return Ok(None),
        (false, FileExtent::Command) if write.is_unasked => return hold(Trust::Agent),
        _ if present.is_none() => {}
        (_, FileExtent::Part | FileExtent::Command) if waited => return Ok(None),
        _ => {}
    }
    let writer = VersionWriter::Agent {
        turn: write.turn.to_owned(),
        question: write.allowed.map(str::to_owned),
    };
    let Some((_, bytes)) = present else {
        custody.record_gone(write.path, &writer, write.tool)?;
        return Ok(None);
    };
    let around = match (write.extent, before) {
        (FileExtent::Part | FileExtent::Command, Some(before)) => before.trust,
        _ => Trust::Agent,
    };
    let trust = match tainted {
        true => Trust::External,
        false => Trust::Agent.min(around),
    };
    custody.record(&[WrittenVersion {
        path: &custody.resolved(write.path),
        bytes: &bytes,
        writer: &writer,
        how: write.tool,
        trust,
    }])?;
    Ok(None)
}

/// Whether the record speaks of this very version already: as trusted, or as one that waits.
fn is_settled(custody: &Custody, path: &Path) -> bool {
    let now = custody.look(path).map(|(judged, _)| judged.hash);
    let records = custody.records();
    let entry = records.entry(&custody.resolved(path));
    entry.is_some_and(|entry| {
        let held = entry.held.as_ref().map(|held| held.hash);
        let known = entry.trusted.as_ref().map(|known| Some(known.hash));
        held == Some(now) || entry.gone.is_none() && now.is_some() && known == Some(now)
    })
}
