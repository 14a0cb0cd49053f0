//! Scanning beside the conversations: in a thread of its own, a few skills at a time.

use std::sync::Arc;

use chela_core::ok_or_warn;

use super::Agents;

/// Skills scanned while whoever wants to look at them has to wait.
const AT_ONCE: usize = 8;

impl Agents {
    /// Scans the skills that nobody has scanned yet. Returns at once; for processes that stay.
    pub fn scan_skills_beside(self: &Arc<Self>) {
        let agents = Arc::downgrade(self);
        let work = move || {
            let Some(first) = agents.upgrade() else {
                return;
            };
            let ids = first.loaded.agents();
            drop(first);
            for id in ids {
                let mut left = 1;
                while left > 0 {
                    let Some(agents) = agents.upgrade() else {
                        return;
                    };
                    let scanned = agents.assembler.scan_some_skills(&id, AT_ONCE);
                    let scanned = ok_or_warn!(scanned, "the skills of an agent are not scanned");
                    left = scanned.unwrap_or(0);
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("skill-scans".to_owned())
            .spawn(work);
        ok_or_warn!(thread, "no skills are scanned beside: no thread available");
    }
}
