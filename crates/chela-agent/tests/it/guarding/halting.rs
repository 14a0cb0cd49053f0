//! Everything stopped at once.

use chela_agent::conversation::Inbound;
use chela_agent::halt::Halt;
use chela_agent::turn::{Ended, Surface, TurnError, TurnEvent};
use chela_core::Host;
use chela_testkit::Step;
use chela_tools::{Answer, Approver, Question, Scope};
use std::pin::Pin;

use super::{Home, Owner, post};

#[test]
fn the_kill_switch_ends_what_runs_and_lets_nothing_begin() {
    let home = Home::new([post("ann@example.org"), Step::reply("ok")]);
    let owner = Owner::says(None);
    Halt::set(&home.host, Some("odd mails".to_owned())).expect("stopped");
    let refused = home.say(&home.open(), "Write to ann@example.org.", &owner);
    let Err(TurnError::Halted(halt)) = refused else {
        panic!("{refused:?}");
    };
    assert!(halt.in_words().contains("odd mails"));
    assert!(Halt::lift(&home.host).expect("lifted"));

    // Set while the turn runs: the question is answered too late.
    struct Puller<'a>(&'a Host);
    impl Surface for Puller<'_> {
        fn event(&self, event: TurnEvent) {
            if matches!(event, TurnEvent::Called { .. }) {
                Halt::set(self.0, None).expect("stopped");
            }
        }
    }
    impl Approver for Puller<'_> {
        fn ask<'a>(
            &'a self,
            question: &'a Question,
        ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
            Box::pin(std::future::ready(Answer::of_owner(Scope::Once, question)))
        }
    }
    let message = Inbound {
        text: "Write to ann@example.org.".to_owned(),
        images: Vec::new(),
    };
    let talk = home.open();
    let outcome = home
        .runtime
        .block_on(talk.say(message, &Puller(&home.host)));
    assert_eq!(outcome.expect("a turn").ended, Ended::Stopped);
    assert!(home.sent_to().is_empty());
}
