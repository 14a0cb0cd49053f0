use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;

fn patch(lines: &[&str]) -> serde_json::Value {
    let body = lines.join("\n");
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch") })
}

fn project() -> ToolboxFixture {
    let bench = ToolboxFixture::new();
    bench.put("a.txt", "one\ntwo\nthree\nfour\n");
    bench.put("b.txt", "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n");
    bench.put("c.txt", "bye\n");
    bench
}

#[test]
fn several_files_at_once() {
    let bench = project();
    let said = bench.said(
        "apply_patch",
        patch(&[
            "*** Add File: new/d.txt",
            "+hello",
            "+world",
            "*** Update File: a.txt",
            "@@",
            " one",
            "-two",
            "+2",
            " three",
            "@@",
            "-four",
            "+4",
            "+5",
            "*** End of File",
            "*** Update File: b.txt",
            "@@ class B:",
            "     def f(self):",
            "-        return 1",
            "+        return 2",
            "*** Delete File: c.txt",
        ]),
    );
    insta::assert_snapshot!(said, @r#"
    Added new/d.txt (12 bytes)
    Updated a.txt: lines 2-4 replaced by 4
    Updated b.txt: line 7 changed
    Deleted c.txt
    "#);
    assert_eq!(bench.text("new/d.txt"), "hello\nworld\n");
    assert_eq!(bench.text("a.txt"), "one\n2\nthree\n4\n5\n");
    assert_eq!(
        bench.text("b.txt"),
        "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n"
    );
    assert!(!bench.path("c.txt").exists());
}

#[test]
fn moving_and_loose_matches() {
    let bench = project();
    bench.put("quotes.txt", "say “hi” – now  \nnext\n");
    let said = bench.said(
        "apply_patch",
        patch(&[
            "*** Update File: quotes.txt",
            "*** Move to: moved/q.txt",
            "@@",
            " say \"hi\" - now",
            "-next",
            "+after",
        ]),
    );
    insta::assert_snapshot!(said, @r#"Moved quotes.txt to moved/q.txt"#);
    // Lines that are kept stay as the file has them.
    assert_eq!(bench.text("moved/q.txt"), "say “hi” – now  \nafter\n");
    assert!(!bench.path("quotes.txt").exists());
    bench.put("crlf.txt", "a\r\nb\r\n");
    bench.said(
        "apply_patch",
        patch(&["*** Update File: crlf.txt", "-b", "+c"]),
    );
    assert_eq!(bench.text("crlf.txt"), "a\r\nc\r\n");
    // Lines with nothing to hold on to go to the end.
    bench.said("apply_patch", patch(&["*** Update File: c.txt", "+more"]));
    assert_eq!(bench.text("c.txt"), "bye\nmore\n");
    let fenced =
        json!({"patch": "```\n*** Begin Patch\n*** Delete File: c.txt\n*** End Patch\n```"});
    bench.said("apply_patch", fenced);
}

#[test]
fn all_or_nothing() {
    let bench = project();
    let delete = "*** Delete File: a.txt";
    let all = [
        bench.refused("apply_patch", json!({"patch": "hello"})),
        bench.refused("apply_patch", patch(&[])),
        bench.refused("apply_patch", patch(&["hello"])),
        bench.refused("apply_patch", patch(&[delete, "*** Add File: c.txt", "+x"])),
        bench.refused("apply_patch", patch(&[delete, "*** Delete File: a.txt"])),
        bench.refused("apply_patch", patch(&[delete, "*** Delete File: ../x"])),
        bench.refused(
            "apply_patch",
            patch(&[delete, "*** Update File: c.txt", "-nope", "+x"]),
        ),
        bench.refused(
            "apply_patch",
            patch(&[delete, "*** Add File: x", "no plus"]),
        ),
        bench.refused(
            "apply_patch",
            patch(&[delete, "*** Update File: c.txt", "?what"]),
        ),
        bench.refused(
            "apply_patch",
            patch(&["*** Update File: a.txt", "@@ three", "-one", "+1"]),
        ),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    The patch cannot be read: it does not begin with `*** Begin Patch`. Nothing was changed.
    The patch cannot be read: it changes no file. Nothing was changed.
    The patch cannot be read: line 2 is `hello`; expected `*** Add File: …`, `*** Update File: …` or `*** Delete File: …`. Nothing was changed.
    c.txt exists already. Use `*** Update File:` to change it.
    Nothing was changed.
    a.txt stands in the patch twice. Put all its changes in one section.
    Nothing was changed.
    ../x leaves the workspace, through `..` or a link. Use a path inside it.
    Nothing was changed.
    c.txt: these lines of the patch are not in the file. Call read and copy them exactly.
    nope
    Nothing was changed.
    The patch cannot be read: line 4 is `no plus`; lines of a new file begin with `+`. Nothing was changed.
    The patch cannot be read: line 4 is `?what`; lines begin with a space, `-`, `+` or `@@`. Nothing was changed.
    a.txt: these lines of the patch are not in the file after line 3. Call read and copy them exactly.
    one
    Nothing was changed.
    "#);
    assert_eq!(bench.text("a.txt"), "one\ntwo\nthree\nfour\n");
    assert_eq!(bench.text("c.txt"), "bye\n");
}
