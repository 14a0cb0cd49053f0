use std::sync::Arc;

use super::{NoSpawner, Spawner, children, spawn};
use crate::{Output, Success, Tool, testing};
use serde_json::{Value, json};

fn tools() -> [Arc<dyn Tool>; 2] {
    let spawner: Arc<dyn Spawner> = Arc::new(NoSpawner);
    [spawn::tool(&spawner), children::tool(&spawner)]
}

fn run(tool: &dyn Tool, arguments: Value) -> Output {
    testing::run(tool, arguments.as_object().unwrap())
}

#[test]
fn what_cannot_be_started_is_said_so() {
    let [spawn, children] = tools();
    let refused = run(spawn.as_ref(), json!({ "task": "look" }));
    assert_eq!(refused.success, Success::Failed);
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
        assert_eq!(output.success, Success::Failed);
        assert!(output.text().contains(word), "{}", output.text());
    }
}
