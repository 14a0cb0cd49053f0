//! Raw mode, and back out of it whatever happens.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;
use tokio::sync::mpsc;

use super::keys::{Act, meaning};

/// The terminal in raw mode, until dropped.
#[derive(Debug)]
pub struct Raw(());

static IS_RAW: AtomicBool = AtomicBool::new(false);

/// Pasted text arrives as one event.
const ENTER: &[u8] = b"\x1b[?2004h";
/// The cursor is shown, colours are off, pastes are plain again.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?2004l\x1b[0m\x1b[?25h";

impl Raw {
    pub fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        IS_RAW.store(true, Ordering::SeqCst);
        let raw = Self(());
        let mut out = io::stdout().lock();
        out.write_all(ENTER)?;
        out.flush()?;
        Ok(raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was. Safe to call at any time, also twice.
pub fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = out.write_all(LEAVE);
        let _ = out.flush();
        let _ = terminal::disable_raw_mode();
    }
}

/// Columns and rows of the window.
pub fn size() -> (usize, usize) {
    terminal::size().map_or((80, 24), |(width, height)| {
        (usize::from(width), usize::from(height))
    })
}

/// What the person does, read on a thread of its own: reading a terminal cannot be waited for
/// otherwise. The thread ends with the process, or when nobody listens.
pub fn acts() -> mpsc::UnboundedReceiver<Act> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if let Some(act) = meaning(event)
                && sender.send(act).is_err()
            {
                break;
            }
        }
    });
    receiver
}

/// Stops the process as Ctrl-Z does, and goes on when the shell says so.
pub fn suspend() -> io::Result<Raw> {
    restore();
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
    Raw::enter()
}
