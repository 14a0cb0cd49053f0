use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::toolbox::tests::ToolboxFixture;
use crate::{CallTarget, CallWrites, FilePreview, Tool};

fn arguments(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn tool<'b>(bench: &'b ToolboxFixture, name: &str) -> &'b dyn Tool {
    bench.toolbox.get(name).unwrap().as_ref()
}

/// The real path of something in the workspace.
fn real(bench: &ToolboxFixture, path: &str) -> PathBuf {
    let workspace = bench.path("").canonicalize().unwrap();
    workspace.join(path)
}

fn everything(bench: &ToolboxFixture) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut folders = vec![bench.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
            }
            let bytes = std::fs::read(&path).ok();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[test]
fn a_preview_shows_the_change_and_makes_none() {
    let bench = ToolboxFixture::new();
    bench.put("a.txt", "one\ntwo\n");
    bench.put("old.txt", "gone\n");
    std::os::unix::fs::symlink("a.txt", bench.path("link.txt")).unwrap();
    let before = everything(&bench);
    let patch = "*** Begin Patch\n*** Add File: new/deep/b.txt\n+hello\n*** Update File: a.txt\n-one\n+ONE\n*** Update File: missing.txt\n-x\n+y\n*** Delete File: old.txt\n*** End Patch";
    let preview = |path: &str, before: Option<&str>, after: Option<&str>| FilePreview {
        path: real(&bench, path),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: after.map(|text| text.as_bytes().to_vec()),
    };
    for (name, call, shown) in [
        (
            "write",
            json!({"path": "some/new/folder/c.txt", "content": "c\n"}),
            vec![preview("some/new/folder/c.txt", None, Some("c\n"))],
        ),
        (
            "write",
            json!({"path": "link.txt", "content": "three\n"}),
            vec![preview("a.txt", Some("one\ntwo\n"), Some("three\n"))],
        ),
        (
            "edit",
            json!({"path": "a.txt", "oldText": "two", "newText": "2"}),
            vec![preview("a.txt", Some("one\ntwo\n"), Some("one\n2\n"))],
        ),
        (
            "edit",
            json!({"path": "a.txt", "oldText": "nothing like it", "newText": "2"}),
            vec![],
        ),
        ("write", json!({"path": "../../x", "content": ""}), vec![]),
        (
            "write",
            json!({"path": ".git/hooks/x", "content": ""}),
            vec![],
        ),
        (
            "write",
            json!({"path": "new/.git/x", "content": ""}),
            vec![],
        ),
        (
            "apply_patch",
            json!({"patch": patch}),
            vec![
                preview("new/deep/b.txt", None, Some("hello\n")),
                preview("a.txt", Some("one\ntwo\n"), Some("ONE\ntwo\n")),
                preview("old.txt", Some("gone\n"), None),
            ],
        ),
    ] {
        let tool = tool(&bench, name);
        let call = arguments(call);
        assert_eq!(tool.preview(&call), shown, "{name} {call:?}");
        // Neither does asking what it would do.
        tool.prospect(&call);
        tool.writes(&call);
        tool.targets(&call);
        assert_eq!(everything(&bench), before, "{name} {call:?}");
    }
}

#[test]
fn what_a_call_is_about_has_one_form() {
    let bench = ToolboxFixture::new();
    bench.put("a.txt", "one\n");
    std::os::unix::fs::symlink("a.txt", bench.path("link.txt")).unwrap();
    let absolute = bench.path("./sub/../a.txt").display().to_string();
    bench.put("sub/x", "");
    for written in ["a.txt", "./a.txt", "link.txt", "sub/../a.txt", &absolute] {
        let read = arguments(json!({ "path": written }));
        let file = [CallTarget::File(real(&bench, "a.txt"))];
        assert_eq!(tool(&bench, "read").targets(&read), file, "{written}");
        let write = arguments(json!({ "path": written, "content": "x" }));
        let writes = CallWrites::Files {
            paths: vec![real(&bench, "a.txt")],
            extent: crate::WriteExtent::Whole,
        };
        assert_eq!(tool(&bench, "write").writes(&write), writes, "{written}");
        assert_eq!(tool(&bench, "write").targets(&write), file, "{written}");
    }
    let tree = [CallTarget::Tree(real(&bench, "sub"))];
    for (name, looked) in [
        ("grep", json!({ "path": "sub", "pattern": "x" })),
        ("find", json!({ "path": "sub/../sub", "pattern": "x" })),
        ("ls", json!({ "path": "sub/" })),
    ] {
        let looked = arguments(looked);
        assert_eq!(tool(&bench, name).targets(&looked), tree, "{name}");
        assert_eq!(tool(&bench, name).writes(&looked), CallWrites::Nothing);
    }
    // Without arguments it is said what could be written at all.
    for name in ["write", "edit", "apply_patch"] {
        let could = tool(&bench, name).writes(&Map::new());
        assert!(matches!(could, CallWrites::Files { .. }), "{name}");
    }
}
