//! Lines that lie in the index of the workspace's repository and in no file any more: the agent's
//! own if it wrote them, somebody else's otherwise.

use serde_json::json;

use super::running::{RunningHome, exec, exec_with, write};

fn git(home: &RunningHome, arguments: &[&str]) {
    let done = std::process::Command::new("git")
        .args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
        .args(arguments)
        .current_dir(home.scene.home.path(".chela/workspace"))
        .output();
    assert!(done.as_ref().unwrap().status.success(), "{done:?}");
}

#[test]
fn what_somebody_else_staged_is_theirs_when_it_is_printed() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    git(&home, &["init", "-q"]);
    home.write("plan.md", "somebody else's plan\n");
    git(&home, &["add", "plan.md"]);
    let own = write("plan.md", "my plan\n");
    // The file is the agent's own by now, and printing it says so.
    assert!(!home.is_tainted_by("cat", [own.clone(), exec("sort plan.md; cat *.md")]));
    assert!(!home.is_tainted_by("names", [exec("git diff --stat")]));
    for (at, way) in [
        "git diff",
        "git diff plan.md",
        "git diff --stat -p",
        "git --no-pager diff | head -n 5",
        "git diff --cach",
        "git status -v",
    ]
    .iter()
    .enumerate()
    {
        assert!(home.is_tainted_by(&format!("n{at}"), [exec(way)]), "{way}");
    }
}

#[test]
fn what_the_agent_wrote_and_staged_stays_its_own() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    git(&home, &["init", "-q"]);
    let steps = [
        write("plan.md", "my plan\n"),
        exec_with("git add plan.md", json!({ "outside": true })),
        write("plan.md", "my other plan\n"),
        exec("git diff | head -n 9"),
    ];
    assert!(!home.is_tainted_by("own", steps));
}
