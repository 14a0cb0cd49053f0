use chela_model::{MessagePart, ModelMessage, StopReason, ToolCall};
use proptest::prelude::*;

use super::super::entry::{CompactionEntry, CustomMessage, EntryId};
use super::super::kept_transcripts::TranscriptBranch;
use super::super::tests_support::{assistant, call, calls, lines, result, user};
use super::super::{BranchSummary, CustomEntry, EntryBody, EntryMeta, TranscriptEntry};
use super::{ContextReplay, context};

fn branch(bodies: impl IntoIterator<Item = EntryBody>) -> Vec<TranscriptEntry> {
    (1..)
        .zip(bodies)
        .map(|(number, body)| TranscriptEntry {
            id: EntryId(number),
            parent: (number > 1).then(|| EntryId(number - 1)),
            at: 0,
            body,
        })
        .collect()
}

fn shown(bodies: impl IntoIterator<Item = EntryBody>) -> Vec<String> {
    lines(&context(&branch(bodies)))
}

fn started(id: &str) -> EntryBody {
    EntryBody::ToolStarted { call_id: id.into() }
}

fn reasoning(text: &str, said: Option<&str>, meta: EntryMeta) -> EntryBody {
    let thought = MessagePart::Reasoning {
        text: text.into(),
        signature: None,
        redacted: false,
    };
    let content = std::iter::once(thought)
        .chain(said.map(MessagePart::text))
        .collect();
    EntryBody::Message {
        message: ModelMessage::Assistant {
            content,
            model: None,
        },
        meta,
    }
}

#[test]
fn calls_and_results_are_paired() {
    assert_eq!(
        shown([
            user("q"),
            calls(&["a", "b"]),
            started("a"),
            started("b"),
            result("b", "x"),
            result("a", "y"),
            assistant("z")
        ]),
        [
            "user: q",
            "assistant: [\"a\", \"b\"]",
            "b gave: x",
            "a gave: y",
            "assistant: z[]"
        ]
    );
    // Interrupted after one had started; the other never did.
    assert_eq!(
        shown([user("q"), calls(&["a", "b"]), started("a"), user("again?")]),
        [
            "user: q",
            "assistant: [\"a\", \"b\"]",
            "a failed: This call was interrupted after it had started",
            "b failed: This call was never started, so it had no effect",
            "user: again?",
        ]
    );
    // A message that came while the tool ran follows its result.
    assert_eq!(
        shown([
            user("q"),
            calls(&["a"]),
            user("also"),
            result("a", "x"),
            assistant("z")
        ]),
        [
            "user: q",
            "assistant: [\"a\"]",
            "a gave: x",
            "user: also",
            "assistant: z[]"
        ]
    );
    // Results nobody asked for, given twice, or too late.
    assert_eq!(
        shown([
            user("q"),
            result("?", "x"),
            calls(&["a"]),
            result("a", "1"),
            result("a", "2"),
            calls(&["b"]),
            assistant("z"),
            result("b", "late")
        ]),
        [
            "user: q",
            "assistant: [\"a\"]",
            "a gave: 1",
            "assistant: [\"b\"]",
            "b failed: This call was never started, so it had no effect",
            "assistant: z[]",
        ]
    );
    // The same id in a later message is another call.
    assert_eq!(
        shown([
            calls(&["a"]),
            started("a"),
            result("a", "1"),
            calls(&["a"]),
            assistant("z")
        ]),
        [
            "assistant: [\"a\"]",
            "a gave: 1",
            "assistant: [\"a\"]",
            "a failed: This call was never started, so it had no effect",
            "assistant: z[]",
        ]
    );
}

#[test]
fn calls_that_cannot_be_sent_back_are_dropped() {
    let odd = |call: ToolCall| {
        EntryBody::plain(ModelMessage::Assistant {
            content: vec![MessagePart::text("t"), MessagePart::ToolCall(call)],
            model: None,
        })
    };
    let no_input = ToolCall {
        malformed: Some(String::new()),
        ..call("a")
    };
    assert_eq!(shown([odd(no_input), result("a", "x")]), ["assistant: t[]"]);
    let no_name = ToolCall {
        name: String::new(),
        ..call("a")
    };
    assert_eq!(shown([odd(no_name)]), ["assistant: t[]"]);
    // What the model wrote wrongly and was told about stays.
    let wrong = ToolCall {
        malformed: Some("{x".into()),
        ..call("a")
    };
    assert_eq!(
        shown([odd(wrong), result("a", "x")]),
        ["assistant: t[\"a\"]", "a gave: x"]
    );
    assert_eq!(
        shown([calls(&["a", "a"]), result("a", "x")]),
        ["assistant: [\"a\"]", "a gave: x"]
    );
}

#[test]
fn thoughts_that_led_nowhere_are_dropped() {
    let cut = EntryMeta {
        cut: true,
        ..EntryMeta::default()
    };
    let long = EntryMeta {
        stop: Some(StopReason::Length),
        ..EntryMeta::default()
    };
    let whole = || EntryMeta {
        stop: Some(StopReason::End),
        ..EntryMeta::default()
    };
    assert!(shown([reasoning("hm", None, cut.clone())]).is_empty());
    assert!(shown([reasoning("hm", None, long)]).is_empty());
    assert_eq!(shown([reasoning("hm", None, whole())]).len(), 1);
    assert!(shown([reasoning("hm", Some("NO_REPLY"), whole())]).is_empty());
    assert!(shown([reasoning("hm", Some("**no_reply**"), whole())]).is_empty());
    assert_eq!(
        shown([reasoning("hm", Some("Yes"), cut)]),
        ["assistant: Yes[]"]
    );
    assert_eq!(shown([assistant("NO_REPLY")]), ["assistant: NO_REPLY[]"]);
    assert!(shown([assistant("")]).is_empty());
}

#[test]
fn a_compaction_replaces_what_came_before() {
    let compaction = |first_kept| {
        EntryBody::Compaction(CompactionEntry {
            summary: "They spoke of cats.".into(),
            first_kept: EntryId(first_kept),
            tokens_before: 9,
            details: serde_json::Value::Null,
        })
    };
    let bodies = |first_kept| {
        vec![
            user("1"),
            reasoning("hm", Some("2"), EntryMeta::default()),
            user("3"),
            assistant("4"),
            compaction(first_kept),
            user("5"),
        ]
    };
    let summary = "user: [Earlier conversation, summarised]\n\nThey spoke of cats.";
    assert_eq!(
        shown(bodies(3)),
        [summary, "user: 3", "assistant: 4[]", "user: 5"]
    );
    assert_eq!(shown(bodies(99)), [summary, "user: 5"]);
    // Old reasoning was signed for a conversation that is no longer sent.
    let messages = context(&branch(bodies(2)));
    assert_eq!(messages[1].content().len(), 1);
    // Only the newest compaction counts.
    let mut twice = bodies(3);
    twice.push(compaction(6));
    assert_eq!(shown(twice), [summary, "user: 5"]);
}

#[test]
fn what_others_add_is_read_or_not() {
    let bodies = [
        EntryBody::CustomMessage(CustomMessage {
            custom_type: "x".into(),
            content: vec![MessagePart::text("seen")],
            display: false,
            details: serde_json::Value::Null,
        }),
        EntryBody::Custom(CustomEntry {
            custom_type: "x".into(),
            data: serde_json::json!({"unseen": true}),
        }),
        EntryBody::BranchSummary(BranchSummary {
            summary: "It failed.".into(),
            from: None,
        }),
        EntryBody::Unknown {
            kind: "label".into(),
            text: "{}".into(),
        },
    ];
    assert_eq!(
        shown(bodies),
        [
            "user: seen",
            "user: [What was tried on a branch that was left]\n\nIt failed."
        ]
    );
}

fn any_body() -> impl Strategy<Value = EntryBody> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        "[a-z]{0,3}".prop_map(|text| user(&text)),
        "[a-z]{0,3}".prop_map(|text| assistant(&text)),
        proptest::collection::vec(id.clone(), 1..3).prop_map(|ids| calls(&ids)),
        id.clone().prop_map(|id| result(id, "x")),
        id.prop_map(started),
        Just(reasoning("hm", None, EntryMeta::default())),
    ]
}

/// The calls that are open at the end, by the plainest reading.
fn open_at_end(bodies: &[EntryBody]) -> Vec<String> {
    let mut open = Vec::new();
    for body in bodies {
        if let EntryBody::Message { message, .. } = body {
            match message {
                ModelMessage::Assistant { content, .. } => {
                    if content
                        .iter()
                        .any(|part| !matches!(part, MessagePart::Text { text } if text.is_empty()))
                    {
                        open = message.tool_calls().map(|call| call.id.clone()).collect();
                    }
                }
                ModelMessage::ToolResult { call_id, .. } => open.retain(|id| id != call_id),
                ModelMessage::User { .. } => {}
            }
        }
    }
    open
}

#[test]
fn what_was_read_before_is_not_read_again() {
    let bodies: Vec<EntryBody> = (0..20).map(|n| user(&format!("word {n}"))).collect();
    let mut replay = ContextReplay::default();
    let before = replay.follow(&TranscriptBranch::of(branch(bodies[..19].to_vec())));
    let after = replay.follow(&TranscriptBranch::of(branch(bodies)));
    assert_eq!(after.len(), 20);
    let mut pairs = before.iter().zip(&after);
    assert!(pairs.all(|(before, after)| std::sync::Arc::ptr_eq(before, after)));
}

proptest! {
    #[test]
    fn followed_or_read_anew_it_is_the_same(
        mut bodies in proptest::collection::vec(any_body(), 0..16),
        steps in proptest::collection::vec(0_usize..18, 1..6),
        summed_up_at in 0_usize..17,
        kept in 1_u32..16,
    ) {
        bodies.insert(summed_up_at.min(bodies.len()), EntryBody::Compaction(CompactionEntry {
            summary: "all of it".into(),
            first_kept: EntryId(kept),
            tokens_before: 0,
            details: serde_json::Value::Null,
        }));
        let entries = branch(bodies);
        let mut replay = ContextReplay::default();
        // Further on, or back to an earlier place.
        for step in steps {
            let branch = TranscriptBranch::of(entries[..step.min(entries.len())].to_vec());
            let followed = replay.follow(&branch);
            let anew = context(&branch);
            prop_assert_eq!(followed.len(), anew.len());
            prop_assert!(followed.iter().zip(&anew).all(|(one, other)| **one == *other));
        }
    }

    #[test]
    fn a_conversation_only_grows(bodies in proptest::collection::vec(any_body(), 0..12), next in any_body()) {
        // A result or a mark for a call that is still open is part of the same turn.
        let open = open_at_end(&bodies);
        let about = match &next {
            EntryBody::ToolStarted { call_id } => Some(call_id),
            EntryBody::Message { message: ModelMessage::ToolResult { call_id, .. }, .. } => Some(call_id),
            _ => None,
        };
        prop_assume!(about.is_none_or(|id| !open.contains(id)));
        let before = context(&branch(bodies.clone()));
        let after = context(&branch(bodies.into_iter().chain([next])));
        prop_assert_eq!(&after[..before.len()], &before[..]);
    }

    #[test]
    fn every_call_is_answered_once_and_at_once(bodies in proptest::collection::vec(any_body(), 0..16)) {
        let mut open: Vec<String> = Vec::new();
        for message in context(&branch(bodies)) {
            match &message {
                ModelMessage::ToolResult { call_id, .. } => {
                    let at = open.iter().position(|id| id == call_id);
                    prop_assert!(at.is_some(), "{} has no call", call_id);
                    open.remove(at.unwrap());
                }
                other => {
                    prop_assert!(open.is_empty(), "{:?} wait before {:?}", open, other);
                    open = other.tool_calls().map(|call| call.id.clone()).collect();
                }
            }
        }
        prop_assert!(open.is_empty());
    }
}
