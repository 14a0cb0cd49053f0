//! Reading JSON5: what is understood, and what is said about the rest.

use chela_config::text::{self, LineIndex};
use chela_config::{FileId, Severity};
use serde_json::{Value, json};

const COMMENTED: &str = include_str!("fixtures/commented.json5");

fn value(source: &str) -> Value {
    let parsed = text::parse(source, FileId(0));
    assert_eq!(parsed.problems, [], "{source}");
    parsed.root.unwrap().to_json()
}

/// The problems as an editor would list them.
fn complaints(source: &str) -> String {
    let lines = LineIndex::new(source);
    let parsed = text::parse(source, FileId(0));
    let failed = parsed
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    assert_eq!(
        parsed.root.is_none(),
        failed,
        "an error and a value exclude each other: {source}"
    );
    let listed = parsed.problems.iter().map(|problem| {
        let (line, column) = lines.position(source, problem.at);
        let hint = problem
            .hint
            .as_ref()
            .map(|hint| format!(" ({hint})"))
            .unwrap_or_default();
        format!("{line}:{column}: {}{hint}", problem.message)
    });
    listed.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_shape_of_json5_is_read() {
    let source = "\u{feff}// c\n{ a: 1, 'b': \"x\", \"c d\": 'it\\'s', $e_1: [1, 2,], /* f */ f: null, é: true,\n\
                  hex: 0xFF, neg: -0x10, plus: +3, dot: .5, end: 5., exp: 1e3, big: 18446744073709551615,\n\
                  esc: '\\x41\\u00e9\\ud83d\\ude00\\0\\v\\q\\\r\nnext', \\u0061b: false,\u{a0}\u{2028}}\n";
    assert_eq!(
        value(source),
        json!({
            "a": 1, "b": "x", "c d": "it's", "$e_1": [1, 2], "f": null, "é": true,
            "hex": 255, "neg": -16, "plus": 3, "dot": 0.5, "end": 5.0, "exp": 1000.0,
            "big": 18446744073709551615_u64,
            "esc": "Aé😀\0\u{b}qnext", "ab": false,
        })
    );
}

#[test]
fn places_point_at_keys_and_values() {
    let source = "{\n  agents: { list: [1, \"two\"] },\n}";
    let root = text::parse(source, FileId(3)).root.unwrap();
    let agents = root.member("agents").unwrap();
    let cut = |at: chela_config::NodeSpan| &source[at.start as usize..at.end as usize];
    assert_eq!(cut(agents.key_at), "agents");
    assert_eq!(cut(agents.value.at), "{ list: [1, \"two\"] }");
    assert_eq!(
        cut(agents.value.get("list").unwrap().items()[1].at),
        "\"two\""
    );
    assert_eq!(agents.value.at.file, FileId(3));
}

#[test]
fn mistakes_are_explained() {
    let cases = [
        "",
        "  // only a comment\n",
        "{ model: 'x' port: 1 }",
        "{\n  a: 1\n  b: 2\n  c: 3,\n}",
        "{ list: [1 2] }",
        "{ a: 1",
        "{ a: [1, { b: 2 }",
        "{ a: 1 ]",
        "[1, 2 }",
        "{ a: 1 } }",
        "{ a: 1 } trailing",
        "{ a: \"never\n}",
        "{ a: 'never",
        "{ a }",
        "{ a = 1 }",
        "{ a: , b: 1 }",
        "{ , a: 1 }",
        "{ foo-bar: 1 }",
        "{ 1a: 1 }",
        "{ a: sk-very-secret, b: 1 }",
        "{ a: ${TOKEN} }",
        "{ a: True, \n b: undefined, \n c: NaN, \n d: -Infinity, \n e: 007, \n f: 1.2.3, \n g: 0xZZ, \n h: 1e999 }",
        "{ a: “x” }",
        "# comment\n{}",
        "{ a: 1, # note\n }",
        "{ /* open",
        "{ a: '\\u12' }",
        "{ a: '\\ud800' }",
        "{ a: '\\udc00\\ud800' }",
        "{ a: '\\1' }",
        "{ a: 1, b: 2, a: 3 }",
        "{ a: 1,\u{200b} }",
        "{ a: \0 }",
        "true",
        "/",
    ];
    let report: Vec<_> = cases
        .iter()
        .map(|source| {
            let shown = source
                .escape_debug()
                .to_string()
                .replace("\\'", "'")
                .replace("\\\"", "\"");
            format!(
                "{shown}\n    {}",
                complaints(source).replace('\n', "\n    ")
            )
        })
        .collect();
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn messages_never_repeat_values() {
    for source in [
        "{ token: s3cr3t }",
        "{ token: 's3cr3t",
        "{ token: 's3cr3t' 's3cr3t' }",
        "{ token: 's3cr3t\n' }",
        "{ env: { s3cr3t-x } }",
        "{ env: { 's3cr3t' } }",
        "{ token: 5s3cr3t }",
        "s3cr3t",
    ] {
        let said = complaints(source);
        assert!(
            !said.is_empty() && !said.contains("s3cr3t"),
            "{source}: {said}"
        );
    }
}

#[test]
fn the_last_of_two_equal_keys_counts_and_both_lines_are_named() {
    let source = "{\n a: 1,\n b: 2,\n a: 3,\n}";
    let parsed = text::parse(source, FileId(0));
    assert_eq!(parsed.root.unwrap().to_json(), json!({ "b": 2, "a": 3 }));
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(parsed.problems[0].severity, Severity::Warning);
    assert!(parsed.problems[0].message.contains("line 2 and line 4"));
    // Many keys take another way to the same answer.
    let many: String = (0..40).map(|n| format!("k{}: {n}, ", n % 20)).collect();
    let parsed = text::parse(&format!("{{ {many} }}"), FileId(0));
    assert_eq!(parsed.root.as_ref().unwrap().members().len(), 20);
    assert_eq!(parsed.root.unwrap().get("k3").unwrap().to_json(), json!(23));
    assert_eq!(parsed.problems.len(), 20);
}

#[test]
fn many_warnings_do_not_crowd_out_an_error() {
    let many: String = (0..60).map(|n| format!("k{}: {n}, ", n % 30)).collect();
    for broken in ["x: oops }", "x: }", "x: 1"] {
        let source = format!("{{ o: {{ {many} }},\n {broken}");
        assert!(text::parse(&source, FileId(0)).root.is_none(), "{broken}");
        assert_eq!(complaints(&source).lines().count(), 21, "{broken}");
    }
}

#[test]
fn a_file_cut_off_anywhere_is_read_or_explained() {
    value(COMMENTED);
    for end in (0..COMMENTED.len()).filter(|end| COMMENTED.is_char_boundary(*end)) {
        let source = &COMMENTED[..end];
        let parsed = text::parse(source, FileId(0));
        match parsed.root {
            Some(root) => assert_eq!(
                root.to_json(),
                value(COMMENTED),
                "only the end comment may miss"
            ),
            None => {
                let problem = &parsed.problems[0];
                assert!(problem.at <= source.len() && !problem.message.is_empty());
            }
        }
    }
}

#[test]
fn depth_is_bounded_and_deep_input_is_cheap() {
    for (open, close) in [("{a:", "}"), ("[", "]"), ("{", ""), ("[{a:", "}]")] {
        let source = format!("{}{}", open.repeat(10_000), close.repeat(10_000));
        let said = complaints(&source);
        assert!(!said.is_empty() && said.len() < 400, "{open}: {said}");
    }
    let fits = format!(
        "{}{}",
        "[".repeat(text::MAX_DEPTH),
        "]".repeat(text::MAX_DEPTH)
    );
    assert_eq!(complaints(&fits), "");
    assert!(complaints(&format!("[{fits}]")).contains("nested more than 128 levels"));
}

#[test]
fn size_is_bounded_and_long_strings_are_fine() {
    let long = "x".repeat(4 << 20);
    assert_eq!(
        value(&format!("{{ a: \"{long}\" }}"))["a"],
        Value::String(long)
    );
    let huge = " ".repeat(text::MAX_BYTES + 1);
    assert!(complaints(&huge).contains("16 MiB"));
    let flags = "{a:1".repeat(3) + &",".repeat(100_000);
    assert!(complaints(&flags).lines().count() <= 20);
}
