//! Looks after a server that runs: what it says of its tools is put on record when it says that they
//! changed, and it is ended when nobody uses it.

use std::sync::Weak;
use std::time::Duration;

use chela_core::ok_or_warn;

use super::slot::ServerSlot;
use crate::client::McpClient;

/// A server that changes its tools one by one is asked once.
const SETTLING: Duration = Duration::from_millis(50);

pub(super) async fn watch_slot(slot: Weak<ServerSlot>, client: Weak<McpClient>) {
    let Some(signals) = client.upgrade().map(|client| client.shared_signals()) else {
        return;
    };
    let mut look_in = Duration::from_millis(50);
    loop {
        tokio::select! {
            () = signals.tools_changed() => {
                tokio::time::sleep(SETTLING).await;
                let (Some(slot), Some(client)) = (slot.upgrade(), client.upgrade()) else {
                    return;
                };
                if signals.take_tools_changed() {
                    let taken = slot.take_tools(&client).await;
                    ok_or_warn!(taken, "the changed tools of a server are not known");
                }
            }
            () = tokio::time::sleep(look_in) => {
                let (Some(slot), Some(client)) = (slot.upgrade(), client.upgrade()) else {
                    return;
                };
                match slot.end_if_idle(&client) {
                    Some(next) => look_in = next,
                    None => return,
                }
            }
        }
    }
}
