//! The chat on a terminal of its own: typed at, watched, and left.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use chela_testkit::{Endpoint, Fault, Script, Step};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::talking_to;
use crate::home::Home;

/// A running chat and the other end of its terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// The side the chat has; held so that its settings can be looked at.
    line: OwnedFd,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    pub(crate) fn open(home: &Home, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let line = File::options()
            .read(true)
            .write(true)
            .open(name.to_str().unwrap())
            .unwrap();
        let child = home
            .command()
            .env_remove("COLUMNS")
            .env("TERM", "xterm-256color")
            .arg("chat")
            .args(args)
            .stdin(line.try_clone().unwrap())
            .stdout(line.try_clone().unwrap())
            .stderr(line.try_clone().unwrap())
            .spawn()
            .unwrap();
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keyboard,
            line: line.into(),
            output,
            seen: String::new(),
        }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this is on the screen, after what was waited for before.
    #[track_caller]
    pub(crate) fn sees(&mut self, what: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(at) = self.seen.find(what) {
                self.seen.drain(..at + what.len());
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let more = self.output.recv_timeout(left);
            assert!(more.is_ok(), "{what:?} does not come: {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&more.unwrap()));
        }
    }

    /// Whether the line echoes and waits for whole lines, as a shell wants it.
    fn is_as_before(&self) -> bool {
        let modes = tcgetattr(self.line.as_fd()).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    pub(crate) fn ends(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

fn answering(step: Step) -> (Endpoint, Home) {
    let endpoint = Endpoint::start(Script::always(step)).unwrap();
    let home = talking_to(&endpoint);
    (endpoint, home)
}

#[test]
fn a_conversation_from_first_to_last() {
    let (_endpoint, home) = answering(Step::reply("Hello **friend**."));
    let mut terminal = Terminal::open(&home, &[]);
    terminal.sees("/help lists commands");
    assert!(!terminal.is_as_before(), "keys come one by one");
    terminal.types("good \u{1b}\rday\r");
    terminal.sees("Hello \u{1b}[1mfriend\u{1b}[0m.");
    terminal.types("/who\t");
    terminal.sees("/whoami");
    terminal.types("\r");
    terminal.sees("You are");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
    assert!(terminal.is_as_before());
    let history = home.path(".chela/state/chat/main.jsonl");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        home.read(".chela/state/chat/main.jsonl")
            .contains("good \\nday")
    );
}

#[test]
fn esc_stops_a_reply_that_never_ends() {
    let (_endpoint, home) = answering(Step {
        piece_ms: 5,
        ..Step::reply("on and on\n").fault(Fault::Endless)
    });
    let mut terminal = Terminal::open(&home, &[]);
    terminal.sees("/help lists commands");
    terminal.types("go\r");
    terminal.sees("on and on");
    terminal.types("\u{1b}");
    terminal.sees("■ stopped");
    terminal.types("\u{3}\u{3}");
    assert!(terminal.ends().success());
    assert!(terminal.is_as_before());
}

#[test]
fn a_chat_that_is_ended_from_outside_gives_the_terminal_back() {
    let (_endpoint, home) = answering(Step::reply("hi"));
    let mut terminal = Terminal::open(&home, &[]);
    terminal.sees("/help lists commands");
    terminal.types("half a senten");
    terminal.sees("senten");
    let pid = Pid::from_child(&terminal.child);
    kill_process(pid, Signal::TERM).unwrap();
    terminal.ends();
    assert!(terminal.is_as_before());
}
