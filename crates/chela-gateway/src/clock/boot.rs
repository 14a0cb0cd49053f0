//! BOOT.md: what an agent does when the gateway starts.

use chela_agent::prelude::SessionKey;
use chela_core::ok_or_warn;

use crate::lanes::WorkLanes;
use crate::work_item::{DeliveryTarget, WorkItem, WorkOptions, WorkSource};

const BOOT: &str = include_str!("../../text/boot.md");

/// Asks every agent that has a BOOT.md with something in it that somebody answers for, once for
/// this start. The file is read by the agent itself, with the trust it has.
pub(super) async fn ask_to_boot(lanes: &WorkLanes) {
    let agents = lanes.agents();
    let now = lanes.host().unix_millis();
    for agent in agents.loaded().agents() {
        if !agents.has_boot_orders(&agent).await {
            continue;
        }
        tracing::info!(%agent, "BOOT.md is there: the agent is asked");
        let item = WorkItem {
            id: format!("boot:{agent}:{now}"),
            session: SessionKey::main(&agent),
            agent,
            source: WorkSource::Runtime {
                what: "boot".to_owned(),
            },
            text: BOOT.trim().to_owned(),
            external: Vec::new(),
            images: Vec::new(),
            delivery: DeliveryTarget::None,
            options: WorkOptions::default(),
            text_trust: None,
        };
        ok_or_warn!(lanes.submit(item).await, "an agent cannot be asked to boot");
    }
}
