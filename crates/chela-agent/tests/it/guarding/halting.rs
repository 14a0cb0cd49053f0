//! Everything stopped at once.

use chela_agent::conversation::InboundMessage;
use chela_agent::halt::HaltNotice;
use chela_agent::turn::{TurnEnd, TurnError, TurnEvent, TurnSurface};
use chela_core::Host;
use chela_testkit::ScriptStep;
use chela_tools::{ApprovalQuestion, ApprovalScope, Approver, OwnerAnswer};
use std::pin::Pin;

use super::{Home, Owner, post};

#[test]
fn the_kill_switch_ends_what_runs_and_lets_nothing_begin() {
    let home = Home::new([post("ann@example.org"), ScriptStep::reply("ok")]);
    let owner = Owner::says(None);
    HaltNotice::set(&home.host, Some("odd mails".to_owned())).expect("stopped");
    let refused = home.say(&home.open(), "Write to ann@example.org.", &owner);
    let Err(TurnError::Halted(halt)) = refused else {
        panic!("{refused:?}");
    };
    assert!(halt.in_words().contains("odd mails"));
    assert!(HaltNotice::lift(&home.host).expect("lifted"));

    // Set while the turn runs: the question is answered too late.
    struct Puller<'a>(&'a Host);
    impl TurnSurface for Puller<'_> {
        fn event(&self, event: TurnEvent) {
            if matches!(event, TurnEvent::Called { .. }) {
                HaltNotice::set(self.0, None).expect("stopped");
            }
        }
    }
    impl Approver for Puller<'_> {
        fn ask<'a>(
            &'a self,
            question: &'a ApprovalQuestion,
        ) -> Pin<Box<dyn Future<Output = OwnerAnswer> + Send + 'a>> {
            Box::pin(std::future::ready(OwnerAnswer::of_owner(
                ApprovalScope::Once,
                question,
            )))
        }
    }
    let message = InboundMessage {
        text: "Write to ann@example.org.".to_owned(),
        ..InboundMessage::default()
    };
    let talk = home.open();
    let outcome = home
        .runtime
        .block_on(talk.say(message, &Puller(&home.host)));
    assert_eq!(outcome.expect("a turn").ended, TurnEnd::Stopped);
    assert!(home.sent_to().is_empty());
}
