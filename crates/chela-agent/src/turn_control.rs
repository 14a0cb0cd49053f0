//! What reaches a turn while it runs: a word in between, and stop.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use chela_core::{Host, lock};
use tokio::sync::Notify;

use crate::halt::{HaltNotice, LOOK_EVERY};
use crate::inbound_message::InboundMessage;

/// How others reach the turn of a conversation.
#[derive(Debug, Default)]
pub(crate) struct TurnControl {
    steering: Mutex<VecDeque<InboundMessage>>,
    stopping: AtomicBool,
    stopped: Notify,
}

impl TurnControl {
    /// A turn begins: what was said to the one before to stop it does not count.
    pub fn begin(&self) {
        self.stopping.store(false, Ordering::SeqCst);
    }

    pub fn steer(&self, message: InboundMessage) {
        lock(&self.steering).push_back(message);
    }

    /// Puts back, in their order, what was taken and could not be kept.
    pub fn steer_again(&self, messages: impl DoubleEndedIterator<Item = InboundMessage>) {
        let mut steering = lock(&self.steering);
        messages
            .rev()
            .for_each(|message| steering.push_front(message));
    }

    pub fn take_steering(&self) -> Vec<InboundMessage> {
        lock(&self.steering).drain(..).collect()
    }

    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.stopped.notify_waiters();
    }

    /// Waits until somebody says stop, here or for everything.
    pub async fn until_stopped(&self, host: &Host) {
        loop {
            let notified = self.stopped.notified();
            if self.stopping.load(Ordering::SeqCst) || HaltNotice::is_set(host) {
                return;
            }
            // Late or told, it looks again.
            let _ = tokio::time::timeout(LOOK_EVERY, notified).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TurnControl;

    #[test]
    fn a_stop_holds_for_one_turn_and_words_keep_their_order() {
        let control = TurnControl::default();
        control.steer("two".into());
        control.steer_again(std::iter::once("one".into()));
        let taken = control.take_steering();
        let texts: Vec<&str> = taken.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(texts, ["one", "two"]);
        assert!(control.take_steering().is_empty());
        let is_stopping =
            |control: &TurnControl| control.stopping.load(std::sync::atomic::Ordering::SeqCst);
        control.stop();
        assert!(is_stopping(&control));
        control.begin();
        assert!(!is_stopping(&control));
    }
}
