//! Raw mode, and back out of it whatever happens.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::{event, terminal};
use tokio::sync::mpsc;

use super::keys::{KeyAction, read_key_action};

/// The terminal in raw mode, until dropped.
#[derive(Debug)]
pub struct RawTerminal(());

static IS_RAW: AtomicBool = AtomicBool::new(false);

/// Pasted text arrives as one event.
const ENTER: &[u8] = b"\x1b[?2004h";
/// The cursor is shown, colours are off, pastes are plain again.
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?2004l\x1b[0m\x1b[?25h";

impl RawTerminal {
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

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was. Safe to call at any time, also twice.
pub fn restore() {
    if IS_RAW.swap(false, Ordering::SeqCst) {
        // A terminal that is gone cannot be given back.
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
/// otherwise. Dropped, it takes no key any more: the next one to read is somebody else.
pub struct KeyReader {
    acts: mpsc::UnboundedReceiver<KeyAction>,
    stop: Arc<AtomicBool>,
    ended: std::sync::mpsc::Receiver<()>,
}

/// How soon a reader that is to stop notices.
const LOOK_UP: Duration = Duration::from_millis(50);
/// One whose terminal is gone may never notice.
const PATIENCE: Duration = Duration::from_millis(500);

impl KeyReader {
    pub fn start() -> Self {
        let (sender, acts) = mpsc::unbounded_channel();
        let (over, ended) = std::sync::mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !told.load(Ordering::SeqCst) {
                match event::poll(LOOK_UP) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => break,
                }
                let Ok(event) = event::read() else {
                    break;
                };
                if let Some(act) = read_key_action(event)
                    && sender.send(act).is_err()
                {
                    break;
                }
            }
            // Nobody waits when the process ends.
            let _ = over.send(());
        });
        Self { acts, stop, ended }
    }

    pub async fn next(&mut self) -> Option<KeyAction> {
        self.acts.recv().await
    }
}

impl Drop for KeyReader {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if self.ended.recv_timeout(PATIENCE).is_err() {
            tracing::debug!("the thread that reads keys does not end");
        }
    }
}

/// Waits until the other end of the terminal is gone. Nobody need send a signal then, and whoever
/// only reads is answered with nothing, again and again.
#[cfg(unix)]
pub async fn until_gone() {
    use std::os::fd::AsFd as _;
    use tokio::io::{Interest, unix::AsyncFd};
    #[expect(
        deprecated,
        reason = "unsound for a file that is closed; this one is closed by whoever watches it"
    )]
    let watched = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|terminal| AsyncFd::with_interest(terminal, Interest::READABLE));
    let Some(terminal) = chela_core::ok_or_warn!(
        watched,
        "whether the terminal is still there cannot be watched"
    ) else {
        return std::future::pending().await;
    };
    while let Ok(mut woken) = terminal.readable().await {
        if woken.ready().is_read_closed() {
            return;
        }
        woken.clear_ready();
    }
}

/// Closing the window is told by the system.
#[cfg(not(unix))]
pub async fn until_gone() {
    std::future::pending().await
}

/// Stops the process as Ctrl-Z does, and goes on when the shell says so.
pub fn suspend() -> io::Result<RawTerminal> {
    restore();
    #[cfg(unix)]
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
    RawTerminal::enter()
}
