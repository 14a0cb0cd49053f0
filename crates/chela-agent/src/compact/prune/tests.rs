use std::sync::Arc;

use chela_config::model::ContextPruning;
use chela_model::{MessagePart, ModelMessage, ToolCall};

use super::{PrunedResults, ResultFate};

fn result(chars: usize) -> ModelMessage {
    ModelMessage::ToolResult {
        call_id: "c".into(),
        tool: "read".into(),
        content: vec![MessagePart::text("ä".repeat(chars))],
        is_error: false,
    }
}

fn call() -> ModelMessage {
    ModelMessage::Assistant {
        content: vec![MessagePart::ToolCall(ToolCall {
            id: "c".into(),
            name: "read".into(),
            arguments: Default::default(),
            malformed: None,
        })],
        model: None,
    }
}

fn talk(sizes: &[usize]) -> Vec<Arc<ModelMessage>> {
    let turns = sizes
        .iter()
        .flat_map(|chars| [ModelMessage::user("go"), call(), result(*chars)]);
    turns.map(Arc::new).collect()
}

#[test]
fn nothing_while_there_is_room() {
    let settings = ContextPruning::default();
    let messages = talk(&[10_000; 6]);
    assert_eq!(PrunedResults::decide(&messages, &settings, 1_000_000), None);
}

#[test]
fn long_results_are_trimmed_and_the_newest_are_left_alone() {
    let settings = ContextPruning::default();
    let mut messages = talk(&[10_000, 100, 10_000, 10_000, 10_000, 10_000]);
    let pruned = PrunedResults::decide(&messages, &settings, 30_000).unwrap();
    use ResultFate::{Trimmed, Whole};
    assert_eq!(
        pruned.results,
        [Trimmed, Whole, Trimmed, Whole, Whole, Whole]
    );
    let whole = messages.clone();
    pruned.apply(&mut messages);
    let text = messages[2].text();
    assert!(
        text.contains("7 000 characters") || text.contains("7,000 characters"),
        "{text}"
    );
    assert!(text.chars().count() < 3_100);
    assert_eq!(messages[9..], whole[9..]);
    assert_eq!(messages.len(), whole.len());
}

#[test]
fn the_oldest_are_cleared_when_that_is_not_enough() {
    let settings = ContextPruning {
        min_prunable_tool_chars: 5_000,
        ..ContextPruning::default()
    };
    let mut messages = talk(&[4_000; 10]);
    let pruned = PrunedResults::decide(&messages, &settings, 18_000).unwrap();
    let cleared = pruned
        .results
        .iter()
        .filter(|fate| **fate == ResultFate::Cleared);
    assert_eq!(cleared.count(), 2, "{:?}", pruned.results);
    pruned.apply(&mut messages);
    assert_eq!(messages[2].text(), "[Old tool result content cleared]");
}

#[test]
fn kept_out_by_name() {
    let mut settings = ContextPruning::default();
    settings.tools.deny = vec!["read".into()];
    assert_eq!(
        PrunedResults::decide(&talk(&[9_000; 9]), &settings, 10_000),
        None
    );
}

#[test]
fn what_was_cleared_stays_cleared() {
    let of = |results: &[ResultFate]| PrunedResults {
        results: results.to_vec(),
        ..PrunedResults::default()
    };
    let before = of(&[ResultFate::Cleared, ResultFate::Trimmed]);
    let now = of(&[ResultFate::Trimmed, ResultFate::Whole, ResultFate::Trimmed]);
    assert_eq!(
        now.after(&before).results,
        [
            ResultFate::Cleared,
            ResultFate::Trimmed,
            ResultFate::Trimmed
        ]
    );
}
