//! The ways a process is told to end: Ctrl-C, a service manager or `timeout`, a terminal that goes.

use std::io;

use crate::heard_signals::{HeardSignal, SignalKind};

/// Heard from the moment this is made: none of them ends the process by itself any more.
pub struct StopSignals {
    interrupt: HeardSignal,
    terminate: HeardSignal,
    hang_up: HeardSignal,
}

impl StopSignals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: HeardSignal::listen(SignalKind::Interrupt)?,
            terminate: HeardSignal::listen(SignalKind::Terminate)?,
            hang_up: HeardSignal::listen(SignalKind::HangUp)?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            () = self.interrupt.next() => {}
            () = self.terminate.next() => {}
            () = self.hang_up.next() => {}
        }
    }
}
