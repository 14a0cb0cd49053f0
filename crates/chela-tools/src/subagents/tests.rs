use std::sync::Arc;

use super::{ChildSpawner, NoSpawner, children, spawn};
use crate::{CallSuccess, Tool, ToolOutput, testing};
use serde_json::{Value, json};

fn tools() -> [Arc<dyn Tool>; 2] {
    let spawner: Arc<dyn ChildSpawner> = Arc::new(NoSpawner);
    [spawn::tool(&spawner), children::tool(&spawner)]
}

fn run(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    testing::run(tool, arguments.as_object().unwrap())
}

#[test]
fn what_cannot_be_started_is_said_so() {
    let [spawn, children] = tools();
    let refused = run(spawn.as_ref(), json!({ "task": "look" }));
    assert_eq!(refused.success, CallSuccess::Failed);
    let none = run(children.as_ref(), json!({ "action": "list" }));
    assert_eq!(none.text(), "This session has started no sub-agents.");
}

#[test]
fn steer_and_kill_say_what_they_need() {
    let [_, children] = tools();
    for (arguments, word) in [
        (json!({ "action": "steer", "target": "x" }), "message"),
        (json!({ "action": "steer", "message": "x" }), "target"),
        (json!({ "action": "kill" }), "target"),
    ] {
        let output = run(children.as_ref(), arguments);
        assert_eq!(output.success, CallSuccess::Failed);
        assert!(output.text().contains(word), "{}", output.text());
    }
}
