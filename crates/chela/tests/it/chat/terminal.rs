//! The chat on a terminal of its own: typed at, watched, and left.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ExitStatus};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use super::talking_to;
use crate::home::TestHome;

/// A running chat and the other end of its terminal.
pub(crate) struct ChatTerminal {
    child: Child,
    keyboard: File,
    /// The side the chat has; held so that its settings can be looked at.
    line: OwnedFd,
    output: Receiver<Vec<u8>>,
    /// The beginning of a character whose rest is still to come.
    unread: Vec<u8>,
    seen: String,
    /// What was on the screen before what was waited for.
    passed: String,
}

impl ChatTerminal {
    pub(crate) fn open(home: &TestHome, args: &[&str]) -> Self {
        let folder = home.path("").display().to_string();
        Self::open_in(home, &folder, args)
    }

    /// Standing in another folder.
    pub(crate) fn open_in(home: &TestHome, folder: &str, args: &[&str]) -> Self {
        Self::open_command(home, folder, &[&["chat"], args].concat())
    }

    /// Any command, as it is typed after `chela`.
    pub(crate) fn run(home: &TestHome, words: &[&str]) -> Self {
        let folder = home.path("").display().to_string();
        Self::open_command(home, &folder, words)
    }

    /// The same in another folder.
    pub(crate) fn open_command(home: &TestHome, folder: &str, words: &[&str]) -> Self {
        let_ctrl_c_through();
        // Whoever else is started must not hold it: a chat would outlive its terminal.
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
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
            .current_dir(folder)
            .args(words)
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
            unread: Vec::new(),
            seen: String::new(),
            passed: String::new(),
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
                self.passed.extend(self.seen.drain(..at + what.len()));
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let more = self.output.recv_timeout(left);
            assert!(more.is_ok(), "{what:?} does not come: {:?}", self.seen);
            self.take_in(&more.unwrap());
        }
    }

    /// A read may end in the middle of a character.
    fn take_in(&mut self, bytes: &[u8]) {
        self.unread.extend(bytes);
        let whole = match std::str::from_utf8(&self.unread) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.unread.len(),
        };
        let rest = self.unread.split_off(whole);
        self.seen.push_str(&String::from_utf8_lossy(&self.unread));
        self.unread = rest;
    }

    /// Waits for this, and gives the next characters.
    #[track_caller]
    pub(crate) fn reads_after(&mut self, what: &str, characters: usize) -> String {
        self.sees(what);
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.seen.chars().count() < characters {
            let left = deadline.saturating_duration_since(Instant::now());
            let more = self.output.recv_timeout(left);
            assert!(more.is_ok(), "nothing follows {what:?}: {:?}", self.seen);
            self.take_in(&more.unwrap());
        }
        self.seen.chars().take(characters).collect()
    }

    /// What came to the screen up to what was waited for last.
    pub(crate) fn passed(&self) -> &str {
        &self.passed
    }

    /// The same, without colours and cursor movements.
    pub(crate) fn plain(&self) -> String {
        let mut plain = String::new();
        let mut letters = self.passed.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\u{1b}' => {
                    let _ = letters.by_ref().find(char::is_ascii_alphabetic);
                }
                // What follows is written over the row.
                '\r' if letters.peek() == Some(&'\n') => {}
                '\r' => plain.push('\n'),
                letter => plain.push(letter),
            }
        }
        plain
    }

    /// Waits until what is typed is not shown.
    #[track_caller]
    pub(crate) fn hides_keys(&self) {
        wait_until("nothing typed is shown", || {
            let modes = tcgetattr(self.line.as_fd()).unwrap().local_modes;
            !modes.contains(LocalModes::ECHO)
        });
    }

    /// Whether the line echoes and waits for whole lines, as a shell wants it.
    pub(crate) fn is_as_before(&self) -> bool {
        let modes = tcgetattr(self.line.as_fd()).unwrap().local_modes;
        modes.contains(LocalModes::ECHO | LocalModes::ICANON)
    }

    /// The test fails where it does not end.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for ChatTerminal {
    fn drop(&mut self) {
        // One that has ended is no error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is started inherits that Ctrl-C is ignored, as it is in the background of a script. One
/// that is handled is given back to those that are started.
fn let_ctrl_c_through() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:"))
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or_default();
        if ignored & 1 << (Signal::INT.as_raw() - 1) == 0 {
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        // Handled from here to the end of the process, whether it is listened to or not.
        let _entered = runtime.enter();
        drop(signal(SignalKind::interrupt()).unwrap());
    });
}

fn answering(step: ScriptStep) -> (ScriptedEndpoint, TestHome) {
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(step)).unwrap();
    let home = talking_to(&endpoint);
    (endpoint, home)
}

#[test]
fn a_conversation_from_first_to_last() {
    let (_endpoint, home) = answering(ScriptStep::reply("Hello **friend**."));
    let mut terminal = ChatTerminal::open(&home, &[]);
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
    let (_endpoint, home) = answering(ScriptStep {
        piece_ms: 5,
        ..ScriptStep::reply("on and on\n").fault(AnswerFault::Endless)
    });
    let mut terminal = ChatTerminal::open(&home, &[]);
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
    let (_endpoint, home) = answering(ScriptStep::reply("hi"));
    let mut terminal = ChatTerminal::open(&home, &[]);
    terminal.sees("/help lists commands");
    terminal.types("half a senten");
    terminal.sees("senten");
    let pid = Pid::from_child(&terminal.child);
    kill_process(pid, Signal::TERM).unwrap();
    terminal.ends();
    assert!(terminal.is_as_before());
}

/// Nobody sends a signal when the other end of a terminal goes that is not the session's own.
#[test]
fn a_chat_whose_terminal_is_gone_ends() {
    let (_endpoint, home) = answering(ScriptStep::reply("hi"));
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
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
    let mut child = home
        .command()
        .env_remove("COLUMNS")
        .env("TERM", "xterm-256color")
        .arg("chat")
        .stdin(line.try_clone().unwrap())
        .stdout(line.try_clone().unwrap())
        .stderr(line)
        .spawn()
        .unwrap();
    let mut screen = File::from(master);
    let mut seen = String::new();
    while !seen.contains("/help lists commands") {
        let mut bytes = [0; 4096];
        let length = screen.read(&mut bytes).unwrap();
        seen.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
    drop(screen);
    let deadline = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() {
        let waits = Instant::now() < deadline;
        if !waits {
            child.kill().unwrap();
        }
        assert!(waits, "it lives on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Asks whether a command may run, then answers in words.
fn asking(command: &str) -> (ScriptedEndpoint, TestHome) {
    let endpoint = ScriptedEndpoint::start(EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": command })),
        ScriptStep::reply("As you like."),
    ]));
    let endpoint = endpoint.unwrap();
    let home = talking_to(&endpoint);
    home.run(&["config", "set", "tools.exec.mode", "ask"]).ok();
    (endpoint, home)
}

#[test]
fn ctrl_c_at_a_question_stops_the_turn() {
    let (_endpoint, home) = asking("touch made");
    let mut terminal = ChatTerminal::open(&home, &["-m", "go"]);
    terminal.sees(", or no: ");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    assert_eq!(terminal.ends().code(), Some(4));
    assert!(!home.exists(".chela/workspace/made"));
}

#[test]
fn a_line_after_ctrl_c_at_a_question_is_not_its_answer() {
    let (_endpoint, home) = asking("touch made");
    let home = home.through(&["env", "TERM=dumb"]);
    let mut terminal = ChatTerminal::open(&home, &[]);
    terminal.sees("> ");
    terminal.types("go\n");
    terminal.sees(", or no: ");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    terminal.sees("stopped");
    terminal.sees("> ");
    terminal.types("yes\n");
    terminal.sees("As you like.");
    terminal.sees("> ");
    kill_process(Pid::from_child(&terminal.child), Signal::INT).unwrap();
    assert!(terminal.ends().success());
    assert!(!home.exists(".chela/workspace/made"));
}

/// What runs in the background goes on as long as the chat does.
#[test]
fn a_line_chat_does_not_say_that_it_ended() {
    let endpoint = ScriptedEndpoint::start(EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": "sleep 60", "background": true })),
        ScriptStep::reply("It sleeps."),
    ]));
    let endpoint = endpoint.unwrap();
    let home = talking_to(&endpoint);
    home.run(&["config", "set", "tools.exec.mode", "full"]).ok();
    let home = home.through(&["env", "TERM=dumb"]);
    let mut terminal = ChatTerminal::open(&home, &[]);
    terminal.sees("> ");
    terminal.types("go\n");
    terminal.sees("It sleeps.");
    terminal.sees("> ");
    assert!(!terminal.passed.contains("ended with this chat"));
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}
