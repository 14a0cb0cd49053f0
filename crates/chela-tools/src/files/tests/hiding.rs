//! Secrets in files: seen as stand-ins, kept when the file is changed.

use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;

const VALUE: &str = "open sesame 7";

fn key() -> String {
    format!(
        "-----BEGIN OPENSSH {}-----\n{}\n{}\n-----END OPENSSH PRIVATE KEY-----",
        "PRIVATE KEY",
        "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ",
        "AAAAAAAAABAAAAMwAAAAtzc2gtZWQyNTUxOQAAACBq"
    )
}

#[test]
fn a_passage_with_a_stand_in_is_edited_and_the_secret_stays() {
    let bench = ToolboxFixture::new();
    bench.put("a.env", format!("NAME=one\nDOOR={VALUE}\nPORT=1\n"));
    let seen = bench.said("read", json!({"path": "a.env"}));
    assert_eq!(seen, "NAME=one\nDOOR=[secret:vault]\nPORT=1");
    let said = bench.said(
        "edit",
        json!({
            "path": "a.env",
            "oldText": "NAME=one\nDOOR=[secret:vault]\nPORT=1",
            "newText": "NAME=two\nDOOR=[secret:vault]\nPORT=2",
        }),
    );
    assert_eq!(said, "Edited a.env: lines 1-3 changed.");
    assert_eq!(
        bench.text("a.env"),
        format!("NAME=two\nDOOR={VALUE}\nPORT=2\n")
    );
    // A part of it matches nothing, so that nobody finds it out letter by letter.
    let why = bench.refused(
        "edit",
        json!({"path": "a.env", "oldText": "DOOR=open", "newText": "DOOR=x"}),
    );
    assert!(!why.contains("sesame"), "{why}");
    let found = bench.said("grep", json!({"pattern": "DOOR=open"}));
    assert!(found.starts_with("No match"), "{found}");
    let found = bench.said("grep", json!({"pattern": "DOOR"}));
    assert_eq!(found, "a.env:2: DOOR=[secret:vault]");
}

#[test]
fn what_becomes_of_a_secret_is_said() {
    let bench = ToolboxFixture::new();
    bench.put("a.env", format!("DOOR={VALUE}\n"));
    let gone = bench.said(
        "edit",
        json!({"path": "a.env", "oldText": "DOOR=[secret:vault]", "newText": "DOOR="}),
    );
    assert!(
        gone.contains("The secrets it held are gone from it now: vault"),
        "{gone}"
    );
    let copied = bench.said(
        "write",
        json!({"path": "b.env", "content": "DOOR=[secret:vault]\n"}),
    );
    assert!(copied.contains("A secret cannot be copied"), "{copied}");
    assert_eq!(bench.text("b.env"), "DOOR=[secret:vault]\n");
    // A text that speaks of stand-ins is a text.
    let again = bench.said(
        "edit",
        json!({"path": "b.env", "oldText": "DOOR=[secret:vault]", "newText": "GATE=[secret:vault]"}),
    );
    assert_eq!(again, "Edited b.env: line 1 changed.");
}

#[test]
fn a_file_written_back_keeps_its_secrets() {
    let bench = ToolboxFixture::new();
    let text = format!("first\n{}\nDOOR={VALUE}\nlast\n", key());
    bench.put("a.txt", &text);
    let seen = bench.said("read", json!({"path": "a.txt"}));
    // Lines keep their numbers; no part of a key is shown by starting within it.
    assert_eq!(
        seen,
        "first\n[secret:private-key]\n\n\n\nDOOR=[secret:vault]\nlast"
    );
    for offset in 2..=5 {
        let part = bench.said(
            "read",
            json!({"path": "a.txt", "offset": offset, "limit": 1}),
        );
        assert!(!part.contains("AAAA") && !part.contains("b3Bl"), "{part}");
    }
    let written = bench.said(
        "write",
        json!({"path": "a.txt", "content": format!("{}\n", seen.replace("first", "FIRST"))}),
    );
    assert!(
        written.starts_with("Wrote a.txt: line 1 changed"),
        "{written}"
    );
    assert_eq!(bench.text("a.txt"), text.replace("first", "FIRST"));
}

#[test]
fn a_patch_leaves_secrets_where_they_are() {
    let bench = ToolboxFixture::new();
    bench.put("a.env", format!("NAME=one\nDOOR={VALUE}\nPORT=1\n"));
    let patch = "*** Begin Patch\n*** Update File: a.env\n@@\n-NAME=one\n+NAME=two\n DOOR=[secret:vault]\n-PORT=1\n+PORT=2\n*** End Patch";
    bench.said("apply_patch", json!({ "patch": patch }));
    assert_eq!(
        bench.text("a.env"),
        format!("NAME=two\nDOOR={VALUE}\nPORT=2\n")
    );
    let moved = "*** Begin Patch\n*** Update File: a.env\n*** Move to: b.env\n@@\n-DOOR=[secret:vault]\n+GATE=[secret:vault]\n*** End Patch";
    bench.said("apply_patch", json!({ "patch": moved }));
    assert_eq!(
        bench.text("b.env"),
        format!("NAME=two\nGATE={VALUE}\nPORT=2\n")
    );
    let lost = "*** Begin Patch\n*** Update File: b.env\n@@\n-GATE=[secret:vault]\n*** Add File: c.env\n+GATE=[secret:vault]\n*** End Patch";
    let said = bench.said("apply_patch", json!({ "patch": lost }));
    assert!(
        said.contains("gone from it now") && said.contains("cannot be copied"),
        "{said}"
    );
    let wrong = "*** Begin Patch\n*** Update File: b.env\n@@\n-DOOR=[secret:vault]\n*** End Patch";
    let why = bench.refused("apply_patch", json!({ "patch": wrong }));
    assert!(!why.contains("sesame"), "{why}");
}
