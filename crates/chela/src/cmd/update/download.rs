//! The archive, held against what the signed index says of it.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use chela_core::ContentHash;
use chela_model::{DownloadError, DownloadLimit, ModelHttp};

use super::index::ArchiveEntry;
use crate::fail::CommandError;
use crate::screen::draw_beside;

/// No Chela is larger; an index that says so is wrong.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(30 * 60);

pub async fn fetch_archive(
    http: &ModelHttp,
    address: &str,
    entry: &ArchiveEntry,
) -> Result<Vec<u8>, CommandError> {
    let refused = |why: String| {
        CommandError::new(format!("{address} is refused: {why}")).hint("nothing was replaced")
    };
    let wanted = ContentHash::from_hex(&entry.sha256)
        .ok_or_else(|| refused("the index gives no usable sha256".to_owned()))?;
    if entry.size > MOST_BYTES {
        return Err(refused(format!("{} bytes is too large", entry.size)));
    }
    let limit = DownloadLimit {
        bytes: entry.size,
        patience: PATIENCE,
    };
    let mut bar = DownloadBar::new(entry.size);
    let fetched = http
        .download(address, limit, &mut |done| bar.show(done))
        .await;
    bar.clear();
    let bytes = fetched.map_err(|error| match error {
        DownloadError::TooLong { .. } => refused(format!(
            "it is longer than the {} bytes in the index",
            entry.size
        )),
        other => CommandError::new(other).hint("nothing was replaced"),
    })?;
    if bytes.len() as u64 != entry.size {
        return Err(refused(format!(
            "only {} of {} bytes arrived",
            bytes.len(),
            entry.size
        )));
    }
    if ContentHash::of(&bytes) != wanted {
        return Err(refused("its hash does not match the index".to_owned()));
    }
    Ok(bytes)
}

/// How far it is, on a terminal, once it takes longer than a moment.
struct DownloadBar {
    visible: bool,
    total: u64,
    start: Instant,
    last: Option<Instant>,
}

impl DownloadBar {
    fn new(total: u64) -> Self {
        Self {
            visible: std::io::stderr().is_terminal(),
            total,
            start: Instant::now(),
            last: None,
        }
    }

    fn show(&mut self, done: u64) {
        const OFTEN: Duration = Duration::from_millis(200);
        let quiet = self.last.unwrap_or(self.start).elapsed() < OFTEN;
        if !self.visible || quiet || self.start.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.last = Some(Instant::now());
        let mib = |bytes: u64| bytes as f64 / (1024.0 * 1024.0);
        // A bar that cannot be drawn is no reason to stop.
        draw_beside(format_args!(
            "\r{:.1} of {:.1} MiB   ",
            mib(done),
            mib(self.total)
        ));
    }

    fn clear(&self) {
        if self.last.is_some() {
            draw_beside(format_args!("\r{:40}\r", ""));
        }
    }
}
