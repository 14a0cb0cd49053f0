//! What is kept, and the disks it is kept on.

use chela_agent::store_ground;
use chela_inspect::store_health::{StoreFinding, check_disks, check_stores};

use super::DoctorFinding;
use super::fix::DoctorFix;
use crate::cmd::CommandSetup;

/// Whether every store can be opened and is whole.
pub fn store_findings(setup: &CommandSetup) -> Vec<DoctorFinding> {
    check_stores(&store_ground(&setup.host, &setup.loaded))
        .into_iter()
        .map(|found| told("stores", found))
        .collect()
}

/// Whether there is room left where something is written.
pub fn disk_findings(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let ground = store_ground(&setup.host, &setup.loaded);
    check_disks(&setup.host, &ground.folders)
        .into_iter()
        .map(|found| told("disk", found))
        .collect()
}

fn told(check: &'static str, found: StoreFinding) -> DoctorFinding {
    let mut finding = DoctorFinding::new(check, found.severity, found.message).hint(found.next);
    finding.trouble = Some(found.trouble.as_str());
    if let Some(mode) = found.mode {
        let path = found.path.clone();
        finding = finding.remedy(DoctorFix::Chmod { path, mode });
    }
    finding.path = Some(found.path);
    finding
}
