use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;

#[test]
fn exact_text_is_replaced() {
    let bench = ToolboxFixture::new();
    bench.put("a.md", "one\ntwo\ntwo\n");
    let all = [
        bench.said(
            "edit",
            json!({"path": "a.md", "oldText": "one", "newText": "1"}),
        ),
        bench.refused(
            "edit",
            json!({"path": "a.md", "oldText": "two", "newText": "2"}),
        ),
        bench.said(
            "edit",
            json!({"path": "a.md", "oldText": "two", "newText": "2", "replaceAll": true}),
        ),
        bench.refused(
            "edit",
            json!({"path": "a.md", "oldText": "2", "newText": "2"}),
        ),
        bench.refused(
            "edit",
            json!({"path": "b.md", "oldText": "2", "newText": "3"}),
        ),
        bench.refused(
            "edit",
            json!({"path": "a.md", "oldText": "nothing of the kind", "newText": "3"}),
        ),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    Edited a.md: line 1 changed.
    oldText occurs 2 times in a.md, at lines 2, 3. Give more lines around the one you mean, or set replaceAll.
    Edited a.md in 2 places: lines 2-3 changed.
    edit: oldText and newText are the same; nothing would change.
    b.md does not exist. Did you mean `a.md`?
    oldText is not in a.md, and nothing in it comes near. Call read first and copy the text exactly.
    "#);
    assert_eq!(bench.text("a.md"), "1\n2\n2\n");
}

#[test]
fn a_near_miss_is_shown() {
    let bench = ToolboxFixture::new();
    bench.put("main.rs", "fn a() {}\n\nfn main() {\n    let x = 1;\n}\n");
    let blanks =
        json!({"path": "main.rs", "oldText": "fn main() {\n  let x = 1;\n}", "newText": ""});
    let typo = json!({"path": "main.rs", "oldText": "    let y = 1;", "newText": ""});
    let all = [bench.refused("edit", blanks), bench.refused("edit", typo)];
    insta::assert_snapshot!(all.join("\n\n"), @r#"
    oldText is not in main.rs. Closest are lines 3-5; they differ from oldText only in spaces, tabs or blank lines:
    fn main() {
        let x = 1;
    }

    oldText is not in main.rs. Closest are lines 4-4; compare them with oldText character by character:
        let x = 1;
    "#);
}

#[test]
fn the_shape_of_a_file_is_kept() {
    let bench = ToolboxFixture::new();
    bench.put("crlf.txt", "\u{feff}a\r\nb\r\nc\r\n");
    bench.put("mixed.txt", "a\r\nb\r\nc\nd\n");
    bench.put("utf16.txt", b"\xFE\xFF\0a\0\n");
    bench.put("latin1.txt", b"Gr\xFC\xDFe\n");
    bench.said(
        "edit",
        json!({"path": "crlf.txt", "oldText": "a\nb", "newText": "a\nx\nb"}),
    );
    assert_eq!(bench.text("crlf.txt"), "\u{feff}a\r\nx\r\nb\r\nc\r\n");
    bench.said(
        "edit",
        json!({"path": "mixed.txt", "oldText": "a\nb", "newText": "x\ny"}),
    );
    assert_eq!(bench.text("mixed.txt"), "x\r\ny\r\nc\nd\n");
    bench.said(
        "edit",
        json!({"path": "mixed.txt", "oldText": "c\nd", "newText": "e\nf"}),
    );
    assert_eq!(bench.text("mixed.txt"), "x\r\ny\r\ne\nf\n");
    bench.said(
        "edit",
        json!({"path": "utf16.txt", "oldText": "a", "newText": "ü"}),
    );
    assert_eq!(bench.bytes("utf16.txt"), b"\xFE\xFF\0\xFC\0\n");
    bench.said(
        "edit",
        json!({"path": "latin1.txt", "oldText": "Gr", "newText": "F"}),
    );
    assert_eq!(bench.bytes("latin1.txt"), b"F\xFC\xDFe\n");
    insta::assert_snapshot!(
        bench.refused("edit", json!({"path": "latin1.txt", "oldText": "F", "newText": "€"})),
        @r#"latin1.txt is Latin-1 and cannot hold `€`. Use other characters, or write the whole file anew."#
    );
}
