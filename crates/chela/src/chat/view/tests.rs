use std::time::{Duration, Instant};

use chela_agent::turn::{ContextMeter, TurnEnd, TurnEvent, TurnOutcome};
use chela_core::SessionKey;
use chela_model::Usage;
use chela_reply::{Reply, ReplyDelivery, Silence};
use chela_tools::{CallProgress, CallSuccess};
use serde_json::Value;

use super::{ReasoningDisplay, ToolDetail, TurnView, ViewSettings, seconds};
use crate::chat::ink::{StyledLine, look};
use crate::screen::ColourMode;

struct Watched {
    view: TurnView,
    start: Instant,
    shown: Vec<String>,
}

impl Watched {
    fn new(settings: ViewSettings) -> Self {
        let start = Instant::now();
        let mut view = TurnView::new(61, ColourMode::Plain);
        view.begin(settings, start);
        Self {
            view,
            start,
            shown: Vec::new(),
        }
    }

    fn hear(&mut self, after_ms: u64, event: TurnEvent) {
        self.view
            .event(event, self.start + Duration::from_millis(after_ms));
        self.take();
    }

    fn take(&mut self) {
        let lines = self.view.take_settled();
        self.shown
            .extend(lines.iter().map(|line| line.text().trim_end().to_owned()));
    }

    fn text(&mut self, piece: &str) {
        self.hear(0, TurnEvent::Text(piece.to_owned()));
    }

    fn tool(&mut self, id: &str, success: CallSuccess, text: &str) {
        self.hear(
            0,
            TurnEvent::ToolStarted {
                id: id.to_owned(),
                tool: "exec".to_owned(),
                summary: format!("run {id}\u{1b}[2J"),
                arguments: Value::Null,
            },
        );
        self.hear(
            1_200,
            TurnEvent::ToolEnded {
                id: id.to_owned(),
                tool: "exec".to_owned(),
                success,
                text: text.to_owned(),
                details: Value::Null,
            },
        );
    }

    fn end(&mut self, reply: Reply, ended: TurnEnd) -> String {
        self.view.end(&TurnOutcome {
            session: SessionKey::parse("agent:main:main").unwrap(),
            turn: String::new(),
            model: "kit/scripted".to_owned(),
            reply,
            usage: Usage::default(),
            context: ContextMeter::default(),
            steps: 1,
            tool_calls: 0,
            stop: None,
            ended,
        });
        self.take();
        self.shown.join("\n")
    }

    fn live(&self, after_ms: u64) -> String {
        let now = self.start + Duration::from_millis(after_ms);
        let lines = self.view.live(now);
        let text: Vec<String> = lines.iter().map(StyledLine::text).collect();
        text.join("\n")
    }
}

fn said(text: &str) -> Reply {
    Reply::Deliver(ReplyDelivery {
        text: text.to_owned(),
        ..ReplyDelivery::default()
    })
}

#[test]
fn tools_stand_between_the_words_folded() {
    let mut watched = Watched::new(ViewSettings::default());
    watched.text("Let me look.");
    watched.tool("a", CallSuccess::Done, "one\ntwo");
    watched.tool("b", CallSuccess::Failed, "no such file\nmore");
    watched.text("It is **there**.");
    let shown = watched.end(said("It is **there**."), TurnEnd::Done);
    insta::assert_snapshot!(shown, @r"
    Let me look.

    ✓ exec run a 1.2 s
    ✗ exec run b 1.2 s
      │ no such file

    It is there.
    ");
    watched.view.unfold();
    watched.take();
    assert!(watched.shown.join("\n").contains("  │ two"));
}

#[test]
fn more_is_shown_to_those_who_want_more() {
    let mut watched = Watched::new(ViewSettings {
        reasoning: ReasoningDisplay::After,
        tools: ToolDetail::Some,
    });
    watched.hear(0, TurnEvent::Reasoning("First this,\nthen ".to_owned()));
    watched.hear(0, TurnEvent::Reasoning("that.".to_owned()));
    watched.tool("a", CallSuccess::Done, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
    watched.text("Done.");
    let shown = watched.end(said("Done."), TurnEnd::Done);
    insta::assert_snapshot!(shown, @r"
    ┆ First this,
    ┆ then that.

    ✓ exec run a 1.2 s
      │ 1
      │ 2
      │ 3
      │ 4
      │ 5
      │ 6
      │ 7
      │ 8
      │ … 2 more lines

    Done.
    ");
}

#[test]
fn a_running_tool_shows_its_time_and_its_newest_line() {
    let mut watched = Watched::new(ViewSettings::default());
    watched.hear(
        0,
        TurnEvent::ToolStarted {
            id: "a".to_owned(),
            tool: "exec".to_owned(),
            summary: "cargo test".to_owned(),
            arguments: Value::Null,
        },
    );
    watched.hear(
        10,
        TurnEvent::ToolProgress {
            id: "a".to_owned(),
            progress: CallProgress::Output("running\n\u{1b}[32mtest ok\u{1b}[0m\n\n".to_owned()),
        },
    );
    assert_eq!(watched.live(3_000), "⠋ exec cargo test 3.0 s · test ok");
    let shown = watched.end(
        Reply::Silent {
            why: Silence::Empty,
        },
        TurnEnd::Stopped,
    );
    assert_eq!(shown, "■ exec cargo test\n\n■ stopped");
}

#[test]
fn what_is_said_meanwhile_does_not_tear_a_block() {
    let mut watched = Watched::new(ViewSettings::default());
    watched.text("1. one\n2. tw");
    watched.view.say(StyledLine::new("› hurry", look::PLAIN));
    watched.take();
    assert!(watched.live(0).ends_with("› hurry"));
    watched.text("o\n3. three\n");
    let shown = watched.end(said("…"), TurnEnd::Done);
    assert_eq!(shown, "1. one\n2. two\n3. three\n\n› hurry");
}

#[test]
fn what_does_not_count_is_told_and_begun_again() {
    let mut watched = Watched::new(ViewSettings::default());
    watched.text("Half an ans");
    watched.hear(
        0,
        TurnEvent::Restarted {
            why: "the connection broke".to_owned(),
        },
    );
    watched.text("The whole answer.");
    let shown = watched.end(said("The whole answer."), TurnEnd::Done);
    assert_eq!(
        shown,
        "Half an ans\n↻ restarted: the connection broke\nThe whole answer."
    );
}

#[test]
fn a_reply_that_was_not_streamed_is_shown_at_the_end_and_silence_is_told() {
    let mut watched = Watched::new(ViewSettings::default());
    assert_eq!(
        watched.end(said("All at once."), TurnEnd::Done),
        "All at once."
    );
    let mut watched = Watched::new(ViewSettings::default());
    let silent = Reply::Silent {
        why: Silence::NoReply,
    };
    assert_eq!(
        watched.end(silent, TurnEnd::Done),
        "(it chose to say nothing)"
    );
}

#[test]
fn times_read_well() {
    for (millis, told) in [(340, "0.3 s"), (12_400, "12 s"), (185_000, "3 min 5 s")] {
        assert_eq!(seconds(Duration::from_millis(millis)), told);
    }
}
