use std::time::{Duration, Instant, SystemTime};

use chela_core::ContentHash;
use chela_guard::approval::{
    AnsweredBy, ApprovalQuestion, ApprovalScope, AskedCall, QuestionTiming, shown_block,
};
use chela_tools::{Approver, OwnerAnswer, OwnerPresence};

use super::{CardFocus, CardKey, QuestionQueue};
use crate::chat::ink::StyledLine;
use crate::chat::relay::{RelaySurface, TurnNews};

const SMALL: (usize, usize) = (79, 19);

fn question_about(command: &str) -> ApprovalQuestion {
    let call = AskedCall {
        tool: "exec".to_owned(),
        summary: "Run a command".to_owned(),
        exact: vec![("command".to_owned(), shown_block(command))],
        why: "`rm` is not pre-approved".to_owned(),
        passage: None,
        shape: ContentHash::of("x"),
    };
    let asking = QuestionTiming {
        id: "a1",
        now: SystemTime::UNIX_EPOCH,
        lasts: Duration::from_secs(60),
    };
    ApprovalQuestion::new(vec![call], asking)
}

/// Somebody at the card: draws it, waits, presses keys.
struct Hand {
    questions: QuestionQueue,
    now: Instant,
}

impl Hand {
    fn draws(&mut self) -> String {
        let lines = self.questions.lines(SMALL, CardFocus::Here);
        self.questions.note_drawn(self.now);
        let lines: Vec<String> = lines.iter().map(StyledLine::text).collect();
        lines.join("\n")
    }

    /// Looks for a while, then presses a key.
    fn presses(&mut self, key: CardKey) {
        self.draws();
        self.now += Duration::from_secs(1);
        self.questions.press(key, self.now);
    }

    fn presses_all(&mut self, keys: &[CardKey]) {
        keys.iter().for_each(|key| self.presses(*key));
    }
}

/// Asks `question` and gives what came back.
fn asked(question: &ApprovalQuestion, with: impl FnOnce(&mut Hand)) -> OwnerAnswer {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (relay, mut news) = RelaySurface::new(OwnerPresence::There);
        let answer = relay.ask(question);
        let Some(TurnNews::Question(asked)) = news.recv().await else {
            panic!("no question came");
        };
        let mut hand = Hand {
            questions: QuestionQueue::default(),
            now: Instant::now(),
        };
        hand.questions.add(asked);
        with(&mut hand);
        drop(hand);
        answer.await
    })
}

fn said(answer: OwnerAnswer) -> Option<ApprovalScope> {
    (answer.by == AnsweredBy::Owner).then_some(answer.scope)
}

#[test]
fn what_is_shown_is_exact_and_harmless() {
    asked(
        &question_about("rm -rf build\u{1b}[8m; curl evil"),
        |hand| {
            insta::assert_snapshot!(hand.draws(), @r"
        ? Allow this? question a1
          Run a command
          `rm` is not pre-approved
          │ command: rm -rf build\u{1b}[8m; curl evil

          ▸ deny    allow once    for this session    always
          ←→ or Tab to choose · Enter to answer · or /approve a1 once
        ");
        },
    );
}

#[test]
fn an_enter_alone_never_allows() {
    let answer = asked(&question_about("ls"), |hand| hand.presses(CardKey::Enter));
    assert_eq!(said(answer), Some(ApprovalScope::Deny));
}

#[test]
fn the_highlight_and_enter_answer() {
    let keys = [CardKey::Next, CardKey::Enter];
    let answer = asked(&question_about("ls"), |hand| hand.presses_all(&keys));
    assert_eq!(said(answer), Some(ApprovalScope::Once));
}

#[test]
fn keys_before_it_was_drawn_count_for_nothing() {
    let answer = asked(&question_about("ls"), |hand| {
        hand.questions.press(CardKey::Next, hand.now);
        hand.questions.press(CardKey::Enter, hand.now);
        hand.draws();
        hand.questions.press(CardKey::Next, hand.now);
        hand.questions.press(CardKey::Enter, hand.now);
    });
    assert_eq!(said(answer), None);
}

#[test]
fn keys_that_come_at_once_were_pasted() {
    let answer = asked(&question_about("ls"), |hand| {
        hand.presses(CardKey::Next);
        hand.questions.press(CardKey::Enter, hand.now);
    });
    assert_eq!(said(answer), None);
}

#[test]
fn what_was_begun_on_the_card_ends_when_something_is_written() {
    let answer = asked(&question_about("ls"), |hand| {
        hand.presses(CardKey::Next);
        hand.questions.rest();
        hand.presses(CardKey::Enter);
    });
    assert_eq!(said(answer), Some(ApprovalScope::Deny));
}

#[test]
fn nothing_can_be_allowed_before_its_last_page() {
    let steps: Vec<String> = (1..=60).map(|n| format!("step {n}")).collect();
    let long = question_about(&steps.join("\n"));
    let answer = asked(&long, |hand| {
        let mut seen = String::new();
        for page in 1..=4 {
            let drawn = hand.draws();
            assert!(drawn.contains(&format!("page {page} of 5")), "{drawn}");
            assert!(drawn.lines().count() <= SMALL.1, "{drawn}");
            assert!(!drawn.contains("once"), "{drawn}");
            seen.push_str(&drawn);
            let early = hand.questions.answer_typed("a1", "once", hand.now);
            assert!(early.unwrap_err().contains("You have not seen all of it"));
            hand.presses(CardKey::Enter);
        }
        let last = hand.draws();
        assert!(last.contains("▸ deny    allow once"), "{last}");
        seen.push_str(&last);
        for step in &steps {
            assert!(seen.contains(step), "{step} was not on the screen");
        }
        hand.presses_all(&[CardKey::PageUp, CardKey::Next, CardKey::Enter]);
    });
    assert_eq!(said(answer), Some(ApprovalScope::Once));
}

#[test]
fn a_yes_for_good_is_asked_twice() {
    let to_always = [CardKey::Previous, CardKey::Enter];
    let answer = asked(&question_about("rm -rf build"), |hand| {
        hand.presses_all(&to_always);
        insta::assert_snapshot!(hand.draws(), @r"
        ? Allow this? question a1 · confirm
          From now on this agent does exactly this, with exactly these arguments,
          without asking: in every session, whatever it has read. `chela approvals
          list` shows it, `chela approvals revoke ID` revokes it.
          Run a command
          `rm` is not pre-approved
          │ command: rm -rf build

          ▸ no, go back    yes, always
          ←→ or Tab to choose · Enter to answer
        ");
        hand.presses(CardKey::Enter);
    });
    assert_eq!(said(answer), None, "a second Enter goes back");
    let answer = asked(&question_about("rm -rf build"), |hand| {
        hand.presses_all(&to_always);
        hand.presses_all(&[CardKey::Next, CardKey::Enter]);
    });
    assert_eq!(said(answer), Some(ApprovalScope::Always));
}

#[test]
fn a_typed_answer_needs_the_id_and_a_yes_for_good_comes_twice() {
    let answer = asked(&question_about("ls"), |hand| {
        hand.presses(CardKey::PageUp);
        let mut types = |id, word| {
            let told = hand.questions.answer_typed(id, word, hand.now);
            hand.draws();
            hand.now += Duration::from_secs(1);
            told.map(|line| line.text())
        };
        assert!(
            types("b2", "once")
                .unwrap_err()
                .contains("no open question")
        );
        assert!(types("a1", "perhaps").unwrap_err().contains("`deny`"));
        assert!(types("a1", "always").unwrap_err().contains("To confirm"));
        assert!(types("a1", "always").unwrap().contains("always allowed"));
    });
    assert_eq!(said(answer), Some(ApprovalScope::Always));
}

#[test]
fn a_window_that_is_too_small_answers_nothing() {
    let answer = asked(&question_about("ls"), |hand| {
        for key in [CardKey::Next, CardKey::Enter] {
            let lines = hand.questions.lines((79, 4), CardFocus::Here);
            assert_eq!(lines.len(), 1);
            hand.questions.note_drawn(hand.now);
            hand.now += Duration::from_secs(1);
            hand.questions.press(key, hand.now);
        }
    });
    assert_eq!(said(answer), None);
}
