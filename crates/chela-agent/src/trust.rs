//! The files that shape an agent, watched with the guard's detector.

use std::sync::Arc;

use chela_config::model::{GuardDetection, OnChange};
use chela_config::{AgentView, LoadedConfig};
use chela_core::{AgentId, ContentHash, Host};
use chela_guard::detect::{DetectionSeverity, detect};
use chela_prompt::SourcedValue;
use chela_workspace::custody::{Custody, CustodySettings, TextScanner};
use chela_workspace::trust::{self, ScanFinding, SuspicionLevel, TrustAct, TrustPolicies};
use chela_workspace::{FileRemark, OwnerNotice};

/// The files of an agent's workspace, under the rules of the config.
pub fn custody_of(host: &Host, loaded: &LoadedConfig, view: &AgentView) -> Custody {
    let guard = &loaded.config.guard;
    Custody::open(CustodySettings {
        host,
        dir: &view.workspace.value,
        policies: TrustPolicies {
            own: on_change(guard.trust.workspace),
            foreign: on_change(guard.trust.foreign),
        },
        scanner: Arc::new(Detector {
            settings: guard.detection.clone(),
        }),
    })
}

/// The same for every agent.
pub fn custodies_of(host: &Host, loaded: &LoadedConfig) -> Vec<Arc<Custody>> {
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
    written: SourcedValue<String>,
) -> (Result<SourcedValue<String>, ()>, Option<OwnerNotice>) {
    let judged = custody.look_at_setting(&heartbeat_key(agent), &written.value);
    let remarks = FileRemark::of_trust(&judged, HEARTBEAT_PROMPT, agent);
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
        TrustAct::Use => Ok(written),
        _ => custody
            .stand_in(&judged)
            .map(|text| SourcedValue::new(text, written.origin, written.trust))
            .ok_or(()),
    };
    (used, notice)
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

impl TextScanner for Detector {
    fn scan(&self, text: &str) -> Option<ScanFinding> {
        if !self.settings.enabled {
            return None;
        }
        let text = &*ends_of(text);
        let found = detect(text);
        let severity = match found.severity {
            DetectionSeverity::None => return None,
            DetectionSeverity::Low => SuspicionLevel::Low,
            DetectionSeverity::Medium => SuspicionLevel::Medium,
            DetectionSeverity::High => SuspicionLevel::High,
        };
        Some(ScanFinding {
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
    format!(
        "{}\n{}",
        text.get(..head).unwrap_or_default(),
        text.get(tail..).unwrap_or_default()
    )
    .into()
}
