//! Where what the model says leaves: the reply is a sink too.
//!
//! A link preview or a picture is fetched without a click. In a session that has read text from
//! outside, addresses of hosts the owner did not name stay readable and lead nowhere. There the
//! text goes out in pieces that hold no half address; in any other session word by word, so that
//! no secret goes out in halves.

use std::sync::Mutex;

use chela_core::lock;
use chela_guard::flow::{DefangedReply, SessionTaint, defang};
use chela_ledger::AuditKind;
use serde_json::json;

use super::TurnParts;
use super::attachments::AttachableFolders;
use crate::surface::{TurnEvent, TurnSurface};
use chela_reply::ShownPiece;
use chela_reply::{Reply, ReplyDelivery};

pub(super) struct TurnOutlet<'a> {
    parts: TurnParts<'a>,
    surface: &'a dyn TurnSurface,
    /// Text that may still become part of an address.
    held: Mutex<String>,
}

impl<'a> TurnOutlet<'a> {
    pub fn new(parts: TurnParts<'a>, surface: &'a dyn TurnSurface) -> Self {
        Self {
            parts,
            surface,
            held: Mutex::default(),
        }
    }

    pub fn show(&self, shown: ShownPiece) {
        match shown {
            ShownPiece::Text(text) => {
                let text = {
                    let mut held = self.held();
                    held.push_str(&text);
                    let whole = match self.parts.guarding.taint() {
                        SessionTaint::Clean => words_until(&held),
                        SessionTaint::Tainted => whole_until(&held),
                    };
                    // Nor does one of several words go out word by word.
                    let begun = self.parts.scope.agents.redactor().begun(&held);
                    let whole = char_start(&held, whole.min(held.len() - begun));
                    let rest = held.split_off(whole);
                    std::mem::replace(&mut *held, rest)
                };
                self.say(&text);
            }
            ShownPiece::Reasoning(text) => {
                let text = self.harmless(&text).text;
                self.surface.event(TurnEvent::Reasoning(text));
            }
            ShownPiece::Retracted => {
                self.drop_held();
                self.surface.event(TurnEvent::Retracted);
            }
        }
    }

    /// What was held does not count any more.
    pub fn drop_held(&self) {
        self.held().clear();
    }

    /// Lets out the rest, and gives the reply as it may be delivered.
    pub fn finish(&self, reply: Reply) -> Reply {
        let rest = std::mem::take(&mut *self.held());
        self.say(&rest);
        let Reply::Deliver(delivery) = reply else {
            return reply;
        };
        self.note_secrets(&delivery.text);
        let DefangedReply { text, addresses } = self.harmless(&delivery.text);
        let (media, left_out): (Vec<String>, Vec<String>) = delivery
            .media
            .into_iter()
            .partition(|media| self.harmless(media).addresses == 0);
        let media = self.attached(media);
        let changed = addresses + left_out.len();
        if changed > 0 {
            let what = match changed {
                1 => "1 link disabled: you did not mention its host".to_owned(),
                many => format!("{many} links disabled: you did not mention their hosts"),
            };
            self.surface.event(TurnEvent::Notice(format!(
                "{what}, and untrusted content is in context."
            )));
        }
        Reply::Deliver(ReplyDelivery {
            text,
            media,
            ..delivery
        })
    }

    /// What of the attachments goes out; the owner hears of the rest.
    fn attached(&self, named: Vec<String>) -> Vec<String> {
        let scope = self.parts.scope;
        let folders = AttachableFolders {
            workspace: scope.view.workspace.value.clone(),
            spool: scope.spool(),
            home: scope.agents.host.user_home.clone(),
        };
        let mut places = Vec::new();
        for named in named {
            match folders.place(&named) {
                Ok(place) => places.push(place),
                Err(left) => self.surface.event(TurnEvent::Notice(format!(
                    "{} was not attached: {}.",
                    left.named, left.why
                ))),
            }
        }
        places
    }

    /// A reply that would have carried a secret is on record.
    fn note_secrets(&self, text: &str) {
        let redactor = self.parts.scope.agents.redactor();
        let names = redactor.carried(text);
        if names.is_empty() {
            return;
        }
        let notice = match redactor.redact_known(text) == text {
            true => "The reply contained a secret of this installation in disguise.",
            false => "The reply contained a secret of this installation: it was removed.",
        };
        tracing::warn!(names = ?names, "the reply held a secret");
        self.surface.event(TurnEvent::Notice(notice.to_owned()));
        if let Some(ledger) = self.parts.scope.agents.ledger() {
            let body = json!({
                "session": self.parts.transcript.session().id.as_str(),
                "tool": "reply",
                "what": "blocked",
                "names": names,
            });
            drop(ledger.note(AuditKind::Secret, &body));
        }
    }

    fn say(&self, text: &str) {
        if !text.is_empty() {
            let text = self.harmless(text).text;
            self.surface.event(TurnEvent::Text(text));
        }
    }

    fn harmless(&self, text: &str) -> DefangedReply {
        let rules = self.parts.guarding.rules();
        let text = &*self.parts.scope.agents.redactor().redact_known(text);
        self.parts
            .guarding
            .provenance
            .with(|seen| defang(rules.judge(), seen, text))
    }

    fn held(&self) -> std::sync::MutexGuard<'_, String> {
        lock(&self.held)
    }
}

/// How much of a text can go without half a secret at its end: what stands there may go on.
fn words_until(text: &str) -> usize {
    /// No key is longer.
    const MOST: usize = 512;
    let is_key =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '/' | '=' | ':');
    let tail: usize = text
        .chars()
        .rev()
        .take_while(|c| is_key(*c))
        .map(char::len_utf8)
        .sum();
    text.len() - if tail > MOST { 0 } else { tail }
}

/// Not within a character.
fn char_start(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// How much of a text can go: up to the last blank that no open bracket comes before. A picture
/// is only a picture with what stands before its address.
fn whole_until(text: &str) -> usize {
    /// More than this is never held back.
    const MOST: usize = 4_000;
    if text.len() > MOST {
        return text.len();
    }
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let open = text
        .get(line..)
        .unwrap_or_default()
        .rfind("![")
        .or_else(|| text.get(line..).unwrap_or_default().rfind('['));
    let closed = text.get(line..).unwrap_or_default().rfind(')');
    let until = match (open, closed) {
        (Some(open), Some(closed)) if closed > open => text.len(),
        (Some(open), _) => line + open,
        (None, _) => text.len(),
    };
    text.get(..until)
        .unwrap_or_default()
        .rfind(char::is_whitespace)
        .map_or(0, |at| {
            at + text
                .get(at..)
                .unwrap_or_default()
                .chars()
                .next()
                .map_or(1, char::len_utf8)
        })
}

#[cfg(test)]
mod tests {
    use super::{whole_until, words_until};

    #[test]
    fn no_half_secret_goes_out() {
        let goes = |text: &str| text[..words_until(text)].to_owned();
        assert_eq!(goes("the key is sk-12"), "the key is ");
        assert_eq!(goes("the key is sk-12. "), "the key is sk-12. ");
        assert_eq!(goes("我知道密码"), "我知道密码");
        assert_eq!(goes(&"a".repeat(600)).len(), 600);
    }

    #[test]
    fn no_half_address_goes_out() {
        let goes = |text: &str| text[..whole_until(text)].to_owned();
        assert_eq!(goes("see https://evil.exam"), "see ");
        assert_eq!(
            goes("see https://evil.example/x now"),
            "see https://evil.example/x "
        );
        assert_eq!(goes("a ![logo pic](https://e"), "a ");
        assert_eq!(
            goes("a ![logo](https://e.x/a.png) and"),
            "a ![logo](https://e.x/a.png) "
        );
        assert_eq!(goes("done.\n![x"), "done.\n");
        assert_eq!(goes("word"), "");
    }
}
