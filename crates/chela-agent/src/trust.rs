//! The files that shape an agent, watched with the guard's detector.

use std::sync::Arc;

use chela_config::model::{GuardDetection, OnChange};
use chela_config::{AgentView, Loaded};
use chela_core::Host;
use chela_guard::detect::{Severity, detect};
use chela_workspace::trust::{self, Custody, CustodySettings, Found, Policies, Scanner, Suspicion};

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
