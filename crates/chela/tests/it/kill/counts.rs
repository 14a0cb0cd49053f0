//! What is counted while processes are killed, and the row it ends in.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use chela_testkit::tally::{KillRow, note_row};

use crate::scene::ScriptedHome;

/// The kinds of work that are killed; `CHELA_KILLS` is shared between them.
const KINDS: usize = 4;
const LOOK: Duration = Duration::from_millis(1);

/// How many are killed: as many as usual, or this kind's share of `CHELA_KILLS`.
pub fn rounds(usual: usize) -> usize {
    let asked = std::env::var("CHELA_KILLS").ok();
    let asked = asked.and_then(|kills| kills.parse::<usize>().ok());
    asked.map_or(usual, |kills| kills.div_ceil(KINDS))
}

/// How long work takes when nothing is in its way.
#[derive(Clone, Copy)]
pub struct WorkSpan {
    whole: Duration,
    /// From the first request to the end.
    after_request: Duration,
}

impl WorkSpan {
    /// Of a command that is run to its end; it must work.
    pub fn of(scene: &ScriptedHome, args: &[&str]) -> Self {
        let before = scene.endpoint.call_count();
        let begun = Instant::now();
        let mut child = start(scene, args);
        let mut asked = None;
        let status = loop {
            if asked.is_none() && scene.endpoint.call_count() > before {
                asked = Some(Instant::now());
            }
            match child.try_wait().unwrap() {
                Some(status) => break status,
                None => std::thread::sleep(LOOK),
            }
        };
        assert!(status.success(), "{args:?}: {status}");
        Self {
            whole: begun.elapsed(),
            after_request: asked.unwrap_or(begun).elapsed(),
        }
    }
}

fn start(scene: &ScriptedHome, args: &[&str]) -> Child {
    let mut command = scene.home.command();
    command.args(args).stdin(Stdio::null());
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().unwrap()
}

/// Numbers from 0 to 1, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The kills of one kind of work and what was found after them.
pub struct KillCounts {
    random: Random,
    row: KillRow,
    lost: Vec<String>,
    twice: Vec<String>,
}

impl KillCounts {
    pub fn of(kind: &str) -> Self {
        let seed = kind.bytes().fold(0x5eed_u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Self {
            random: Random(seed),
            row: KillRow {
                kind: kind.to_owned(),
                ..KillRow::default()
            },
            lost: Vec::new(),
            twice: Vec::new(),
        }
    }

    /// Runs the binary and kills it at some point. Half of the points lie anywhere in its life, half
    /// after its first request, where there is something to lose.
    pub fn kill(&mut self, scene: &ScriptedHome, args: &[&str], span: WorkSpan) {
        let before = scene.endpoint.call_count();
        let mut child = start(scene, args);
        // A busy machine takes longer than it took to measure.
        let (which, at) = (self.random.next(), self.random.next() * 1.4);
        if which < 0.5 {
            std::thread::sleep(span.whole.mul_f64(at));
        } else {
            while scene.endpoint.call_count() == before && child.try_wait().unwrap().is_none() {
                std::thread::sleep(LOOK);
            }
            std::thread::sleep(span.after_request.mul_f64(at));
        }
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
