use serde_json::json;

use crate::toolbox::tests::ToolboxFixture;
use crate::{ImageInput, OutputPiece};

mod editing;
mod foreseeing;
mod hiding;
mod keeping;
mod looking;
mod meanwhile;
mod patching;

#[test]
fn reading_by_lines() {
    let bench = ToolboxFixture::new();
    let lines: Vec<String> = (1..=20).map(|n| format!("line {n}")).collect();
    bench.put("a.txt", lines.join("\n") + "\n");
    insta::assert_snapshot!(bench.said("read", json!({"path": "a.txt", "offset": 3, "limit": 2, "lineNumbers": true})), @r#"
         3	line 3
         4	line 4
    [Lines 3-4 of 20. Go on with offset=5.]
    "#);
    assert_eq!(
        bench.said("read", json!({"path": "a.txt", "offset": 20})),
        "line 20"
    );
    assert_eq!(
        bench.said("read", json!({"path": "a.txt"})),
        lines.join("\n")
    );
    bench.put("empty.txt", "");
    let all = [
        bench.said("read", json!({"path": "empty.txt"})),
        bench.refused("read", json!({"path": "a.txt", "offset": 21})),
        bench.refused("read", json!({"path": "b.txt"})),
        bench.refused("read", json!({"path": "."})),
        bench.refused("read", json!({"path": "~/.ssh/id_rsa"})),
        bench.refused("read", json!({"path": "../../x"})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    [empty.txt is empty.]
    a.txt has 20 lines; there is no line 21. Call read with offset between 1 and 20.
    b.txt does not exist. Did you mean `a.txt`?
    . is a folder; a file is needed here. Call ls to see what is in it.
    ~/.ssh/id_rsa is outside the workspace. Use a path relative to the workspace.
    ../../x leaves the workspace, through `..` or a link. Use a path inside it.
    "#);
}

#[test]
fn long_files_and_long_lines_come_in_parts() {
    let bench = ToolboxFixture::new();
    let lines: Vec<String> = (1..=5_000)
        .map(|n| format!("this is line number {n}"))
        .collect();
    bench.put("long.txt", lines.join("\n"));
    let (mut offset, mut got) = (1, Vec::new());
    loop {
        let output = bench.run("read", json!({"path": "long.txt", "offset": offset}));
        assert!(output.text().chars().count() <= 16_000);
        let OutputPiece::Text(text) = &output.content[0] else {
            panic!("text")
        };
        got.extend(text.text().lines().map(str::to_owned));
        let to = output.details["toLine"].as_u64().unwrap();
        match output.content.len() {
            1 => break,
            _ => offset = to + 1,
        }
    }
    assert_eq!(got, lines);

    let wide: String = (0..9_999).map(|n| format!("{n:04}é")).collect();
    bench.put("wide.txt", format!("short\n{wide}\nend"));
    let (mut column, mut got) = (1, String::new());
    loop {
        let output = bench.run(
            "read",
            json!({"path": "wide.txt", "offset": 2, "limit": 1, "column": column}),
        );
        let OutputPiece::Text(text) = &output.content[0] else {
            panic!("text")
        };
        got.push_str(text.text());
        column += text.text().chars().count();
        match output.text().contains("goes on") {
            true => {}
            false => break,
        }
    }
    assert_eq!(got, wide);
}

#[test]
fn text_that_costs_many_tokens_is_shown_in_smaller_parts() {
    let bench = ToolboxFixture::new();
    let line: String = ('\u{4e00}'..'\u{4e40}').rev().collect();
    bench.put("dense.txt", format!("{line}\n").repeat(2_000));
    let text = bench.said("read", json!({"path": "dense.txt"}));
    let tokens = chela_core::tokens::count(&text);
    assert!((3_000..=32_768 * 3 / 10).contains(&tokens), "{tokens}");
}

#[test]
fn encodings_are_read() {
    let bench = ToolboxFixture::new();
    bench.put("latin1.txt", b"Gr\xFC\xDFe\r\nzwei\r\n");
    bench.put("utf16.txt", b"\xFF\xFEh\0i\0\r\0\n\0x\0");
    bench.put("bom.txt", b"\xEF\xBB\xBFhi");
    bench.put("data.bin", b"\x7FELF\0\0\0\x01");
    assert_eq!(
        bench.said("read", json!({"path": "latin1.txt"})),
        "Grüße\nzwei"
    );
    assert_eq!(bench.said("read", json!({"path": "utf16.txt"})), "hi\nx");
    assert_eq!(bench.said("read", json!({"path": "bom.txt"})), "hi");
    insta::assert_snapshot!(bench.refused("read", json!({"path": "data.bin"})), @r#"data.bin is not text (8 bytes). Use exec with a program that understands it, such as `file`."#);
}

#[test]
fn a_pipe_does_not_hang_a_read() {
    let bench = ToolboxFixture::new();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        bench.path("pipe"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    assert_eq!(
        bench.refused("read", json!({"path": "pipe"})),
        "pipe is a device, pipe or socket, not a file."
    );
}

#[test]
fn writing_says_what_changed() {
    let bench = ToolboxFixture::new();
    bench.put("crlf.txt", "a\r\nb\r\n");
    bench.put("latin1.txt", b"Gr\xFC\xDFe\n");
    let all = [
        bench.said(
            "write",
            json!({"path": "new/deep/a.md", "content": "one\ntwo\n"}),
        ),
        bench.said(
            "write",
            json!({"path": "new/deep/a.md", "content": "one\n2\nthree\n"}),
        ),
        bench.said(
            "write",
            json!({"path": "new/deep/a.md", "content": "one\n2\nthree\n"}),
        ),
        bench.said("write", json!({"path": "crlf.txt", "content": "a\nc\n"})),
        bench.said("write", json!({"path": "latin1.txt", "content": "Füße\n"})),
        bench.said("write", json!({"path": "latin1.txt", "content": "5 €\n"})),
        bench.refused("write", json!({"path": "new", "content": ""})),
        bench.refused("write", json!({"path": "../escape.md", "content": ""})),
        bench.refused("write", json!({"path": "/tmp/escape.md", "content": ""})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    Created new/deep/a.md (2 lines, 8 bytes).
    Wrote new/deep/a.md: line 2 replaced by 2 lines (3 lines, 12 bytes).
    new/deep/a.md already held this text; nothing changed (3 lines, 12 bytes).
    Wrote crlf.txt: line 2 changed (2 lines, 6 bytes, CRLF line endings kept).
    Wrote latin1.txt: line 1 changed (1 line, 5 bytes, Latin-1 kept).
    Wrote latin1.txt: line 1 changed (1 line, 6 bytes, now UTF-8).
    new is a folder; a file is needed here. Call ls to see what is in it.
    ../escape.md leaves the workspace, through `..` or a link. Use a path inside it.
    /tmp/escape.md is outside the workspace. Use a path relative to the workspace.
    "#);
    assert_eq!(bench.text("new/deep/a.md"), "one\n2\nthree\n");
    assert_eq!(bench.text("crlf.txt"), "a\r\nc\r\n");
    assert_eq!(bench.text("latin1.txt"), "5 €\n");
}

#[test]
fn pictures() {
    const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0";
    let seeing = ToolboxFixture::new();
    seeing.put("a.png", PIXEL);
    for tool in ["read", "image"] {
        let output = seeing.run(tool, json!({"path": "a.png"}));
        assert_eq!(output.text(), "a.png: image/png, 2×3, 29 bytes.");
        let OutputPiece::Image { mime, data } = &output.content[1] else {
            panic!("a picture")
        };
        assert_eq!(mime, "image/png");
        let again = seeing.run(
            "image",
            json!({"data": format!("data:image/png;base64,{data}")}),
        );
        assert_eq!(again.content.len(), 2);
    }
    seeing.put("notes.md", "no picture");
    let blind = ToolboxFixture::with("{tools: {media: {image: {maxBytes: 10}}}}", ImageInput::No);
    blind.put("a.png", PIXEL);
    let large = ToolboxFixture::with("{tools: {media: {image: {maxBytes: 10}}}}", ImageInput::Yes);
    large.put("a.png", PIXEL);
    let all = [
        blind.refused("read", json!({"path": "a.png"})),
        large.refused("image", json!({"path": "a.png"})),
        seeing.refused("image", json!({"path": "notes.md"})),
        seeing.refused("image", json!({"path": "b.png"})),
        seeing.refused("image", json!({"data": "%%%"})),
        seeing.refused("image", json!({})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    a.png is a picture (image/png), and this model cannot look at pictures. Say so; do not guess what it shows.
    a.png has 29 bytes; pictures of at most 10 can be shown. Make it smaller first.
    notes.md is not a PNG, JPEG, GIF or WebP picture.
    b.png does not exist. Did you mean `a.png`?
    image: argument `data` is not base64.
    image: give either `path` or `data`. Example of a valid call: {"path":"photo.png"}
    "#);
}
