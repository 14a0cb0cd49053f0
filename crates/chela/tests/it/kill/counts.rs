//! What is counted while processes are killed, and the row it ends in.

use std::process::Stdio;
use std::time::Duration;

use chela_testkit::tally::{KillRow, note_row};

use crate::scene::ScriptedHome;

/// The kinds of work that are killed; `CHELA_KILLS` is shared between them.
const KINDS: usize = 4;

/// How many are killed: as many as usual, or this kind's share of `CHELA_KILLS`.
pub fn rounds(usual: usize) -> usize {
    let asked = std::env::var("CHELA_KILLS").ok();
    let asked = asked.and_then(|kills| kills.parse::<usize>().ok());
    asked.map_or(usual, |kills| kills.div_ceil(KINDS))
}

/// The kills of one kind of work and what was found after them.
pub struct KillCounts {
    row: KillRow,
    lost: Vec<String>,
    twice: Vec<String>,
}

impl KillCounts {
    pub fn of(kind: &str) -> Self {
        Self {
            row: KillRow {
                kind: kind.to_owned(),
                ..KillRow::default()
            },
            lost: Vec::new(),
            twice: Vec::new(),
        }
    }

    /// Runs the binary and kills it after a while.
    pub fn kill(&mut self, scene: &ScriptedHome, args: &[&str], after: Duration) {
        let mut child = scene
            .home
            .command()
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(after);
        self.row.kills += 1;
        self.row.running += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
    }

    /// Something that was accepted is not there any more.
    pub fn expect_kept(&mut self, is_kept: bool, what: impl FnOnce() -> String) {
        if !is_kept {
            self.lost.push(what());
        }
    }

    /// Something was done again.
    pub fn done_twice(&mut self, what: impl Iterator<Item = String>) {
        self.twice.extend(what);
    }

    /// The records hold, whatever was killed; the row is noted before anything is asserted.
    pub fn finish(mut self, scene: &ScriptedHome, found: String) {
        let verified = scene.home.run(&["audit", "verify"]);
        let first = verified.out.lines().next().unwrap_or_default();
        self.row.audit = match first.split_once(": ") {
            Some((_, entries)) if verified.code == 0 => entries.to_owned(),
            _ => format!("broken: {first}"),
        };
        self.row.found = found;
        self.row.lost = self.lost.len();
        self.row.twice = self.twice.len();
        note_row(&self.row).unwrap();
        assert!(self.lost.is_empty(), "lost: {:#?}", self.lost);
        assert!(self.twice.is_empty(), "twice: {:#?}", self.twice);
        assert_eq!(verified.code, 0, "{verified:?}");
    }
}
