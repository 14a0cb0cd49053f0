use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;
use crate::{ChangeId, ChangeJournal, FileChange, ImageInput};

/// Writes down what it is told, and what the file holds at that moment.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<String>>,
    /// Files of this name cannot be kept.
    refuses: Option<&'static str>,
}

impl ChangeJournal for Notes {
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String> {
        let name = |path: &std::path::Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        };
        if self.refuses == Some(name(change.path).as_str()) {
            return Err("the disk is full".to_owned());
        }
        let on_disk = std::fs::read(change.path).ok();
        assert_eq!(
            on_disk.as_deref(),
            change.before,
            "kept before it is changed"
        );
        let mut told = self.told.lock().unwrap();
        let keeps = change.keeps.map(name).unwrap_or_default();
        told.push(format!(
            "{} {} {}: {} <{keeps}>",
            change.tool,
            change.call,
            name(change.path),
            change.in_words()
        ));
        Ok(ChangeId(told.len() as i64))
    }

    fn not_made(&self, change: ChangeId) {
        self.told.lock().unwrap().push(format!("not {}", change.0));
    }
}

fn bench(notes: &Arc<Notes>) -> ToolboxFixture {
    let journal: Arc<dyn ChangeJournal> = Arc::clone(notes) as _;
    ToolboxFixture::keeping("{}", ImageInput::No, Some(journal))
}

fn told(notes: &Notes) -> String {
    std::mem::take(&mut *notes.told.lock().unwrap()).join("\n")
}

#[test]
fn what_a_change_replaces_is_kept_before_it_is_made() {
    let notes = Arc::new(Notes::default());
    let bench = bench(&notes);
    bench.put("old.txt", "one\ntwo\nthree\n");
    bench.put("raw.bin", [0, 159, 146, 150]);
    bench.said("write", json!({"path": "new.txt", "content": "a\nb\n"}));
    bench.said("write", json!({"path": "raw.bin", "content": "text"}));
    bench.said(
        "edit",
        json!({"path": "old.txt", "oldText": "two", "newText": "2"}),
    );
    bench.said(
        "write",
        json!({"path": "old.txt", "content": "one\n2\nthree\n"}),
    );
    let patch = "*** Begin Patch\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n-2\n+zwei\n*** Delete File: new.txt\n*** Add File: added.txt\n+x\n*** End Patch";
    bench.said("apply_patch", json!({"patch": patch}));
    insta::assert_snapshot!(told(&notes), @"
    write c1 new.txt: created (2 lines) <>
    write c1 raw.bin: replaced (1 line) <>
    edit c1 old.txt: line 2 changed <old.txt>
    apply_patch c1 moved.txt: created (3 lines) <old.txt>
    apply_patch c1 old.txt: deleted (3 lines) <>
    apply_patch c1 new.txt: deleted (2 lines) <>
    apply_patch c1 added.txt: created (1 line) <>
    ");
}

#[test]
fn what_cannot_be_taken_back_is_not_done() {
    let notes = Arc::new(Notes {
        refuses: Some("b.txt"),
        ..Notes::default()
    });
    let bench = bench(&notes);
    bench.put("a.txt", "a\n");
    bench.put("b.txt", "b\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch";
    let all = [
        bench.refused("write", json!({"path": "b.txt", "content": "x"})),
        bench.refused(
            "edit",
            json!({"path": "b.txt", "oldText": "b", "newText": "x"}),
        ),
        bench.refused("apply_patch", json!({"patch": patch})),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    b.txt was not changed, because the change could not be taken back later: the disk is full
    b.txt was not changed, because the change could not be taken back later: the disk is full
    b.txt was not changed, because the change could not be taken back later: the disk is full
    Nothing was changed.
    ");
    assert_eq!(
        told(&notes),
        "apply_patch c1 a.txt: line 1 changed <a.txt>\nnot 1"
    );
    assert_eq!(
        (bench.text("a.txt"), bench.text("b.txt")),
        ("a\n".into(), "b\n".into())
    );
}

#[test]
fn a_change_that_fails_is_said_to_be_none() {
    let notes = Arc::new(Notes::default());
    let bench = bench(&notes);
    let folder: PathBuf = bench.path("closed");
    bench.put("closed/a.txt", "a\n");
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(&folder, closed).unwrap();
    let output = bench.run("write", json!({"path": "closed/a.txt", "content": "x"}));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&folder, open).unwrap();
    // Whoever may write everywhere has nothing to fail at.
    if output.success == crate::CallSuccess::Failed {
        assert!(told(&notes).ends_with("\nnot 1"));
    }
}

#[test]
fn what_is_too_large_to_keep_is_not_replaced() {
    let notes = Arc::new(Notes::default());
    let bench = bench(&notes);
    let file = std::fs::File::create(bench.path("large.log")).unwrap();
    file.set_len(crate::MOST_FILE_BYTES + 1).unwrap();
    let refused = bench.refused("write", json!({"path": "large.log", "content": "x"}));
    assert_eq!(
        refused,
        "large.log has 16,777,217 bytes; more than 16,777,216 cannot be kept for undo, so it is not replaced. Write a new file instead, or ask the user to move this one away."
    );
    assert_eq!(told(&notes), "");
    assert!(std::fs::metadata(bench.path("large.log")).unwrap().len() > 1);
}
