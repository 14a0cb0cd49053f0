//! A command the owner typed into the chat: run where the agent's would run, and shown to both.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chela_tools::process::{CommandEnd, CommandJob};
use serde_json::Map;

use super::BackgroundWork;
use crate::blocking_work::on_blocking_thread;
use crate::own_output::prints_only_own;

/// What a command may print that the next message takes along.
const MOST_PRINTED: usize = 16 * 1024;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerCommandOutcome {
    /// The end of what it printed, without secrets.
    pub printed: String,
    pub ended: CommandEnd,
    /// Whether somebody answers for all it can have printed.
    pub is_own: bool,
}

impl BackgroundWork {
    /// Runs a line for the owner. Nobody is asked: the owner did. It ends when the future is
    /// dropped.
    pub async fn run_for_owner(
        &self,
        line: &str,
        folder: Option<&Path>,
        limit: Duration,
    ) -> Result<OwnerCommandOutcome, String> {
        let (scope, given) = (Arc::clone(&self.scope), line.to_owned());
        let place = folder.map(Path::to_owned);
        let place = place.or_else(|| self.commands.start_of(&Map::new()));
        let place = place.unwrap_or_else(|| scope.view.workspace.value.clone());
        // Before it runs: afterwards other files may lie there.
        let is_own = on_blocking_thread(move || prints_only_own(&scope, &given, &place)).await;
        let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
        let job = self.commands.exec.for_the_owner(argv, folder, limit);
        let job = EndedWithFuture(job.map_err(|failed| failed.text())?);
        let ended = job.0.ended().await;
        let printed = job.0.news(MOST_PRINTED);
        let mut text = String::from_utf8_lossy(&printed.bytes).into_owned();
        if printed.lost > 0 {
            text = format!("[{} bytes before this left out]\n{text}", printed.lost);
        }
        Ok(OwnerCommandOutcome {
            printed: text,
            ended,
            is_own,
        })
    }
}

/// Nothing goes on that nobody waits for.
struct EndedWithFuture(Arc<CommandJob>);

impl Drop for EndedWithFuture {
    fn drop(&mut self) {
        self.0.end_now();
    }
}
