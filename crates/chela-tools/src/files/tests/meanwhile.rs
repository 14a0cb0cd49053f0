//! Somebody else changes the file while a tool does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::testing::block_on;
use crate::toolbox::tests::ToolboxFixture;
use crate::{
    CallWrites, ChangeId, ChangeJournal, FileChange, HeadlessApprover, ImageInput, PreparedCall,
    RunCall,
};

/// Saves in an editor each time a change is about to be made: after the tool has read the file and
/// before it replaces it.
#[derive(Default)]
struct Editor {
    /// What is saved, the next one last.
    saves: Mutex<Vec<&'static str>>,
    not_made: AtomicUsize,
}

impl ChangeJournal for Editor {
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String> {
        if let Some(text) = self.saves.lock().unwrap().pop() {
            std::fs::write(change.path, text).unwrap();
        }
        Ok(ChangeId(1))
    }

    fn not_made(&self, _: ChangeId) {
        self.not_made.fetch_add(1, Ordering::Relaxed);
    }
}

fn bench(saves: &[&'static str]) -> (ToolboxFixture, Arc<Editor>) {
    let editor = Arc::new(Editor::default());
    *editor.saves.lock().unwrap() = saves.to_vec();
    let journal: Arc<dyn ChangeJournal> = Arc::clone(&editor) as _;
    (
        ToolboxFixture::keeping("{}", ImageInput::No, Some(journal)),
        editor,
    )
}

#[test]
fn an_edit_is_made_in_what_was_saved_meanwhile() {
    let (bench, editor) = bench(&["saved twice: two\n", "saved once: two\n"]);
    bench.put("a.md", "one two\n");
    bench.said(
        "edit",
        json!({"path": "a.md", "oldText": "two", "newText": "2"}),
    );
    assert_eq!(bench.text("a.md"), "saved twice: 2\n");
    assert_eq!(editor.not_made.load(Ordering::Relaxed), 2);
}

#[test]
fn an_edit_whose_text_was_saved_away_says_so() {
    let (bench, _) = bench(&["nothing of that\n"]);
    bench.put("a.md", "one two\n");
    let told = bench.refused(
        "edit",
        json!({"path": "a.md", "oldText": "two", "newText": "2"}),
    );
    assert!(told.starts_with("oldText is not in a.md"), "{told}");
    assert_eq!(bench.text("a.md"), "nothing of that\n");
}

#[test]
fn an_edit_gives_up_when_somebody_saves_each_time() {
    let (bench, _) = bench(&["two 5", "two 4", "two 3", "two 2", "two 1"]);
    bench.put("a.md", "two 0");
    let edit = json!({"path": "a.md", "oldText": "two", "newText": "2"});
    let told = bench.refused("edit", edit);
    insta::assert_snapshot!(told, @"a.md was not changed: something else saved it again each time, 5 times in a row. Read it, then try again.");
    assert_eq!(bench.text("a.md"), "two 5");
}

#[test]
fn a_write_does_not_replace_what_it_never_saw() {
    let (bench, _) = bench(&["mine, and nobody has read it\n"]);
    bench.put("a.md", "old\n");
    let told = bench.refused("write", json!({"path": "a.md", "content": "new\n"}));
    insta::assert_snapshot!(told, @"a.md was not written: something else saved it at this very moment. Read it to see what it holds now, then write again if that is still right.");
    assert_eq!(bench.text("a.md"), "mine, and nobody has read it\n");
    bench.said("write", json!({"path": "a.md", "content": "new\n"}));
    assert_eq!(bench.text("a.md"), "new\n");
}

#[test]
fn a_new_file_does_not_replace_one_that_came_meanwhile() {
    let (bench, _) = bench(&["came first\n"]);
    bench.refused("write", json!({"path": "new.md", "content": "x\n"}));
    assert_eq!(bench.text("new.md"), "came first\n");
}

#[test]
fn a_patch_is_all_or_nothing_with_what_was_saved_meanwhile() {
    let (bench, _) = bench(&["b saved\nkeep\n"]);
    bench.put("a.md", "a\n");
    bench.put("b.md", "b\nkeep\n");
    // The first change that is kept is that of b.md, which is saved just then.
    let patch = "*** Begin Patch\n*** Update File: b.md\n@@\n keep\n+more\n*** Update File: a.md\n@@\n-a\n+A\n*** End Patch";
    bench.said("apply_patch", json!({"patch": patch}));
    assert_eq!(bench.text("b.md"), "b saved\nkeep\nmore\n");
    assert_eq!(bench.text("a.md"), "A\n");
}

/// What a path leads to is judged first and changed later; whoever swaps it in between gets nothing.
#[test]
fn only_the_file_that_was_judged_is_changed() {
    let bench = ToolboxFixture::new();
    let patch = "*** Begin Patch\n*** Update File: notes.md\n@@\n-mine\n+evil\n*** End Patch";
    let calls = [
        ("write", json!({"path": "notes.md", "content": "evil\n"})),
        (
            "edit",
            json!({"path": "notes.md", "oldText": "mine", "newText": "evil"}),
        ),
        ("apply_patch", json!({"patch": patch})),
    ];
    for (tool, arguments) in calls {
        bench.put("SOUL.md", "mine\n");
        bench.put("notes.md", "mine\n");
        let call = JudgedRun::new(&bench, tool, arguments.clone());
        std::fs::remove_file(bench.path("notes.md")).unwrap();
        std::os::unix::fs::symlink("SOUL.md", bench.path("notes.md")).unwrap();
        let told = call.run(&bench);
        assert!(
            told.contains("leads elsewhere now than when the call was allowed"),
            "{tool}: {told}"
        );
        assert_eq!(bench.text("SOUL.md"), "mine\n", "{tool}");
        // Judged anew, the link is what it leads to.
        JudgedRun::new(&bench, tool, arguments).run(&bench);
        assert_eq!(bench.text("SOUL.md"), "evil\n", "{tool}");
        std::fs::remove_file(bench.path("notes.md")).unwrap();
    }
}

/// A call as the turn makes it: judged, then run.
struct JudgedRun {
    prepared: PreparedCall,
    writes: CallWrites,
}

impl JudgedRun {
    fn new(bench: &ToolboxFixture, tool: &str, arguments: Value) -> Self {
        let arguments = arguments.as_object().unwrap();
        let prepared = bench.toolbox.prepare(tool, arguments).unwrap();
        let writes = prepared.tool.writes(&prepared.arguments);
        Self { prepared, writes }
    }

    fn run(&self, bench: &ToolboxFixture) -> String {
        let call = RunCall {
            id: "c1",
            writes: &self.writes,
            arguments: &self.prepared.arguments,
            progress: &|_| {},
            approver: &HeadlessApprover,
            targets: &[],
            redirects: &crate::AnyRedirect,
            bound: None,
        };
        block_on(bench.toolbox.run_prepared(&self.prepared, call)).text()
    }
}

/// N sessions in one process: every line that was told as added is there, once.
#[test]
fn many_threads_lose_nothing() {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 10;
    let bench = ToolboxFixture::new();
    bench.put("log.md", "the end\n");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let bench = &bench;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let line = format!("{writer}-{round}\n");
                    match round % 2 {
                        0 => bench.said(
                            "edit",
                            json!({"path": "log.md", "oldText": "the end\n", "newText": format!("{line}the end\n")}),
                        ),
                        _ => bench.said(
                            "apply_patch",
                            json!({"patch": format!("*** Begin Patch\n*** Update File: log.md\n@@\n+{line} the end\n*** End Patch")}),
                        ),
                    };
                }
            });
        }
    });
    let text = bench.text("log.md");
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("the end"));
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), WRITERS * ROUNDS);
}
