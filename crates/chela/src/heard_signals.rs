//! What the system tells this process, on every system.

use std::io;

/// What is listened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Ctrl-C.
    Interrupt,
    /// A service manager, or `timeout`.
    Terminate,
    /// A terminal that goes; a service is to read its config again.
    HangUp,
    /// A service is to start again.
    Restart,
}

/// One of them, heard from the moment this is made: it does not end the process by itself any more.
#[cfg(unix)]
#[derive(Debug)]
pub struct HeardSignal(tokio::signal::unix::Signal);

#[cfg(unix)]
impl HeardSignal {
    pub fn listen(kind: SignalKind) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind as UnixKind, signal};
        let kind = match kind {
            SignalKind::Interrupt => UnixKind::interrupt(),
            SignalKind::Terminate => UnixKind::terminate(),
            SignalKind::HangUp => UnixKind::hangup(),
            SignalKind::Restart => UnixKind::user_defined1(),
        };
        signal(kind).map(Self)
    }

    /// Waits for the next time.
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

/// Windows knows Ctrl-C and the closing of the window; the others never come.
#[cfg(windows)]
#[derive(Debug)]
pub enum HeardSignal {
    Interrupt(tokio::signal::windows::CtrlC),
    Close(tokio::signal::windows::CtrlClose),
    Never,
}

#[cfg(windows)]
impl HeardSignal {
    pub fn listen(kind: SignalKind) -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_c, ctrl_close};
        match kind {
            SignalKind::Interrupt => ctrl_c().map(Self::Interrupt),
            SignalKind::Terminate => ctrl_close().map(Self::Close),
            SignalKind::HangUp | SignalKind::Restart => Ok(Self::Never),
        }
    }

    /// Waits for the next time.
    pub async fn next(&mut self) {
        let heard = match self {
            Self::Interrupt(heard) => heard.recv().await,
            Self::Close(heard) => heard.recv().await,
            Self::Never => None,
        };
        if heard.is_none() {
            std::future::pending().await
        }
    }
}
