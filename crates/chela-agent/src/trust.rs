//! The files that shape an agent, watched with the guard's detector.

use std::path::Path;
use std::sync::Arc;

use chela_config::model::{GuardDetection, OnChange};
use chela_config::{AgentView, Loaded};
use chela_core::{AgentId, ContentHash, Host, Trust};
use chela_guard::detect::{Severity, detect};
use chela_guard::flow::Taint;
use chela_prompt::Sourced;
use chela_workspace::trust::{
    self, Act, Custody, CustodySettings, Found, Hand, Judged, Policies, Scanner, State, Suspicion,
    TrustError, Writer, Wrote,
};
use chela_workspace::{OwnerNotice, Remark};

/// The files of an agent's workspace, under the rules of the config.
pub fn custody_of(host: &Host, loaded: &Loaded, view: &AgentView) -> Custody {
    let guard = &loaded.config.guard;
    Custody::open(CustodySettings {
        host,
        dir: &view.workspace.value,
        policies: Policies {
            own: on_change(guard.trust.workspace),
            foreign: on_change(guard.trust.foreign),
        },
        scanner: Arc::new(Detector {
            settings: guard.detection.clone(),
        }),
    })
}

/// The same for every agent.
pub fn custodies_of(host: &Host, loaded: &Loaded) -> Vec<Arc<Custody>> {
    let agents = loaded.agents().into_iter();
    agents
        .filter_map(|agent| loaded.agent(&agent))
        .map(|view| Arc::new(custody_of(host, loaded, &view)))
        .collect()
}

/// The heartbeat prompt as the commands about trust name it.
pub const HEARTBEAT_PROMPT: &str = "heartbeat.prompt";

/// The key under which an agent's heartbeat prompt is on record.
pub fn heartbeat_key(agent: &AgentId) -> String {
    format!("config:{HEARTBEAT_PROMPT}@{agent}")
}

/// The heartbeat prompt the operator wrote, as far as its record lets it be used, and what the
/// owner should know about it. `Err` when the built-in one stands in.
pub(crate) fn heartbeat_of(
    custody: &Custody,
    agent: &AgentId,
    written: Sourced<String>,
) -> (Result<Sourced<String>, ()>, Option<OwnerNotice>) {
    let judged = custody.look_at_setting(&heartbeat_key(agent), &written.value);
    let remarks = Remark::of_trust(&judged, HEARTBEAT_PROMPT, agent);
    let told: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    let notice = (!told.is_empty()).then(|| {
        let text = format!("The heartbeat prompt {}.", told.join("; it "));
        OwnerNotice {
            key: ContentHash::of(format!("{}\0{text}", judged.hash)),
            path: custody.host().config_file(),
            text,
        }
    });
    let used = match judged.judgement.act {
        Act::Use => Ok(written),
        _ => custody
            .stand_in(&judged)
            .map(|text| Sourced::new(text, written.origin, written.trust))
            .ok_or(()),
    };
    (used, notice)
}

/// A change the agent made to a file, as the turn knows it.
#[derive(Debug, Clone, Copy)]
pub struct AgentWrite<'a> {
    pub path: &'a Path,
    pub tool: &'a str,
    pub turn: &'a str,
    /// Whether the turn had read foreign text.
    pub taint: Taint,
    /// The question about this very file to which the owner said yes, where they were asked.
    pub allowed: Option<&'a str>,
    /// The question to which the owner said yes, whatever it was about.
    pub asked: Option<&'a str>,
    /// Where the file stood before.
    pub before: Option<&'a Judged>,
    pub extent: Extent,
}

/// How much of a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of it: nothing of what was there is left.
    Whole,
    Part,
    /// A command that names it did something to it.
    Command,
    /// Nobody knows: it changed while a command ran that does not name it.
    Unseen,
}

impl Extent {
    pub(crate) fn is_command(self) -> bool {
        matches!(self, Self::Command | Self::Unseen)
    }
}

/// Puts a change of the agent's on record: with its turn when that had read nothing foreign,
/// waiting for the owner when it had and nobody was asked.
pub fn note_agent_write(custody: &Custody, write: &AgentWrite<'_>) -> Result<(), TrustError> {
    let tainted = write.taint == Taint::Tainted;
    // The journal knows about files that shape nothing.
    if custody.kind(write.path).is_none() {
        return Ok(());
    }
    let hand = Hand {
        turn: write.turn,
        tool: write.tool,
        question: write.asked,
    };
    let before = write.before.map(|judged| judged.judgement);
    let waited = before.is_some_and(|before| before.waits());
    let was_held = before.is_some_and(|before| before.state == State::Held);
    let present = custody.look(write.path);
    match (tainted, write.extent) {
        (true, Extent::Command | Extent::Unseen) => return custody.hold(write.path, &hand),
        // Whoever wrote it while the command ran may have been anybody: it is somebody else's.
        (false, Extent::Unseen) => return Ok(()),
        (true, _) if write.allowed.is_none() => return custody.hold(write.path, &hand),
        _ if present.is_none() => {}
        // One edit does not vouch for what somebody else wrote around it.
        (_, Extent::Part | Extent::Command) if was_held => return custody.hold(write.path, &hand),
        (_, Extent::Part | Extent::Command) if waited => return Ok(()),
        _ => {}
    }
    let writer = Writer::Agent {
        turn: write.turn.to_owned(),
        question: write.allowed.map(str::to_owned),
    };
    let Some((_, bytes)) = present else {
        return custody.record_gone(write.path, &writer, write.tool);
    };
    let around = match (write.extent, before) {
        (Extent::Part | Extent::Command, Some(before)) => before.trust,
        _ => Trust::Agent,
    };
    let trust = match tainted {
        true => Trust::External,
        false => Trust::Agent.min(around),
    };
    custody.record(&[Wrote {
        path: &custody.resolved(write.path),
        bytes: &bytes,
        writer: &writer,
        how: write.tool,
        trust,
    }])
}

fn on_change(policy: OnChange) -> trust::OnChange {
    match policy {
        OnChange::Allow => trust::OnChange::Allow,
        OnChange::Warn => trust::OnChange::Warn,
        OnChange::Quarantine => trust::OnChange::Quarantine,
    }
}

/// The guard's detector, for files.
struct Detector {
    settings: GuardDetection,
}

/// Of a longer text the beginning and the end are looked at: no prompt holds more.
const MOST_BYTES: usize = 200_000;

impl Scanner for Detector {
    fn scan(&self, text: &str) -> Option<Found> {
        if !self.settings.enabled {
            return None;
        }
        let text = &*ends_of(text);
        let found = detect(text);
        let severity = match found.severity {
            Severity::None => return None,
            Severity::Low => Suspicion::Low,
            Severity::Medium => Suspicion::Medium,
            Severity::High => Suspicion::High,
        };
        Some(Found {
            severity,
            what: found.explain(text),
        })
    }
}

fn ends_of(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MOST_BYTES {
        return text.into();
    }
    let head = text.floor_char_boundary(MOST_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - MOST_BYTES / 2);
    format!("{}\n{}", &text[..head], &text[tail..]).into()
}
