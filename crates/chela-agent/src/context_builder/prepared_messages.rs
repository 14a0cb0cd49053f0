//! The messages of a conversation as they are sent. Each is looked through for secrets and counted
//! once: from one request to the next only what was added is work.

use std::sync::Arc;

use chela_core::secret::Redactor;
use chela_model::ModelMessage;

use crate::assemble::hide_in_message;
use crate::compact::tokens_of;

/// The messages of the newest request.
#[derive(Default)]
pub(super) struct PreparedMessages {
    list: Vec<PreparedMessage>,
    /// What the redactor knew when it looked.
    known_values: usize,
}

struct PreparedMessage {
    said: Arc<ModelMessage>,
    /// Without secrets; the same one where it holds none.
    sent: Arc<ModelMessage>,
    tokens: usize,
}

impl PreparedMessages {
    /// Makes a conversation ready that begins like the one before. Gives how many of its messages
    /// had to be looked at.
    pub fn follow(&mut self, said: Vec<Arc<ModelMessage>>, redactor: &Redactor) -> usize {
        let known_values = redactor.known_values();
        if self.known_values != known_values {
            self.list.clear();
            self.known_values = known_values;
        }
        let mut before = std::mem::take(&mut self.list).into_iter();
        let mut looked_at = 0;
        let prepared = said.into_iter().map(|said| match before.next() {
            Some(known) if Arc::ptr_eq(&known.said, &said) => known,
            _ => {
                looked_at += 1;
                let sent = hide_in_message(&said, redactor);
                PreparedMessage {
                    tokens: tokens_of(&sent),
                    said,
                    sent,
                }
            }
        });
        self.list = prepared.collect();
        looked_at
    }

    pub fn sent(&self) -> Vec<Arc<ModelMessage>> {
        let sent = self.list.iter().map(|message| &message.sent);
        sent.cloned().collect()
    }

    /// What they cost by our own count.
    pub fn tokens(&self) -> usize {
        self.list.iter().map(|message| message.tokens).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, ModelMessage, PreparedMessages, Redactor, tokens_of};
    use chela_core::secret::KnownSecret;

    fn said(count: usize) -> Vec<Arc<ModelMessage>> {
        let words = (0..count).map(|n| ModelMessage::user(format!("the word is open-sesame-{n}")));
        words.map(Arc::new).collect()
    }

    #[test]
    fn each_message_is_looked_at_once() {
        let redactor = Redactor::new(None, Vec::new());
        let mut prepared = PreparedMessages::default();
        let all = said(100);
        assert_eq!(prepared.follow(all[..99].to_vec(), &redactor), 99);
        assert_eq!(prepared.follow(all.clone(), &redactor), 1);
        assert_eq!(prepared.follow(all.clone(), &redactor), 0);
        assert_eq!(
            prepared.tokens(),
            all.iter().map(|said| tokens_of(said)).sum::<usize>()
        );
        // Something was taken back, and something else said.
        let other: Vec<_> = all[..50].iter().cloned().chain(said(2)).collect();
        assert_eq!(prepared.follow(other, &redactor), 2);
        assert_eq!(prepared.sent().len(), 52);
    }

    #[test]
    fn what_becomes_a_secret_later_is_taken_out_of_what_was_sent_before() {
        let redactor = Redactor::new(None, Vec::new());
        let mut prepared = PreparedMessages::default();
        let all = said(3);
        prepared.follow(all.clone(), &redactor);
        assert!(Arc::ptr_eq(&prepared.sent()[1], &all[1]));
        redactor.learn(KnownSecret {
            name: "DOOR".into(),
            value: "open-sesame-1".into(),
        });
        assert_eq!(prepared.follow(all, &redactor), 3);
        assert_eq!(prepared.sent()[1].text(), "the word is [secret:DOOR]");
    }
}
