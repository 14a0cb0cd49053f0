use proptest::prelude::*;
use serde_json::json;

use super::{FrontMatterError, plain, read, yaml};

fn text(head: &str) -> String {
    format!("---\n{head}\n---\nBody\n")
}

#[test]
fn a_head_is_taken_apart() {
    let file = text(
        "name: pdf-tools\ndescription: Work with PDF files.\nlicense: MIT\nallowed-tools: Read Bash(git add *)\n\
         user-invocable: false\ndisable-model-invocation: true\nhomepage: https://example.org\n\
         metadata:\n  chela:\n    always: true\n    os: [linux, darwin]\n    emoji: \"📄\"\n    skillKey: pdf\n\
         \x20   primaryEnv: PDF_KEY\n    requires:\n      bins:\n        - qpdf\n      anyBins: [a, b]\n      env: PDF_KEY\n\
         \x20     config: [browser.enabled]\n    invocation:\n      allowRemote: true",
    );
    let read = read(file.as_bytes()).unwrap();
    insta::assert_debug_snapshot!((read.front, read.body, read.body_line, read.findings));
}

#[test]
fn gating_is_read_from_every_dialect() {
    for head in [
        "description: d\nmetadata: {\"openclaw\": {\"requires\": {\"bins\": [\"gh\"]}}}",
        "description: d\nmetadata: {\"clawdbot\":{\"requires\":{\"bins\":[\"gh\"]}}}",
        "description: d\nmetadata:\n  openclaw:\n    requires: {bins: [gh]}",
        "description: d\nmetadata:\n  {\n    \"openclaw\":\n      {\n        \"requires\": { \"bins\": [\"gh\"] },\n      },\n  }",
        "description: d\nmetadata: '{\"openclaw\": {\"requires\": {\"bins\": [\"gh\"]}}}'",
        "description: d\nmetadata: |\n  {openclaw: {requires: {bins: ['gh'],},},}",
        "description: d\nmetadata:\n  openclaw: '{requires: {bins: [gh]}}'",
        "description: d\nmetadata: |\n  {\n    // JSON5, with comments\n    openclaw: {requires: {bins: ['gh'],},},\n  }",
        "description: d\nmetadata:\n  chela: {requires: {bins: gh}}\n  openclaw: {requires: {bins: [other]}}",
    ] {
        let file = text(head);
        let front = read(file.as_bytes()).unwrap().front;
        assert_eq!(front.gating.requires.bins, ["gh"], "{head}");
    }
}

#[test]
fn odd_shapes_are_noted_and_never_fatal() {
    for head in [
        "description: d\nmetadata:\n  openclaw:\n    requires: \"officecli (>= 1.0)\"\n    install: |\n      nothing needed",
        "description: d\nmetadata: [1, 2]",
        "description: d\nmetadata: {openclaw: {os: {a: b}, requires: {env: [1, 2]}}}",
        "description: d\nallowed-tools:\n  - file.read\n  - shell.run",
        "description: d\nuser-invocable: maybe",
        "description: d\ncommand-dispatch: magic",
        "name: 42\ndescription: 7\nversion: 1.0",
    ] {
        let file = text(head);
        assert!(read(file.as_bytes()).is_ok(), "{head}");
    }
    let file = text("name: [a]\ndescription: {a: b}");
    let read = read(file.as_bytes()).unwrap();
    assert_eq!(read.front.description, None);
    assert!(
        read.findings
            .iter()
            .any(|finding| finding.message.contains("`description` is not text"))
    );
}

#[test]
fn a_bare_colon_is_repaired() {
    for (head, expected) in [
        (
            "description: Use when: the owner asks",
            "Use when: the owner asks",
        ),
        (
            "description: Reads mail. Note: slow\n  and goes on: here",
            "Reads mail. Note: slow and goes on: here",
        ),
        ("description: [beta] does things", "[beta] does things"),
        ("description: `code` first", "`code` first"),
        ("description: \"A\" and \"B\"", "\"A\" and \"B\""),
        ("description: @someone", "@someone"),
        ("description: ends with:", "ends with:"),
    ] {
        let file = text(&format!("name: x\n{head}"));
        let read = read(file.as_bytes()).unwrap();
        assert_eq!(read.front.description.as_deref(), Some(expected), "{head}");
        assert!(
            !read.findings.is_empty(),
            "{head} is not valid and nobody says so"
        );
    }
}

#[test]
fn what_is_no_yaml_is_read_by_its_lines_or_refused_with_one() {
    let file = text("name: x\ndescription: fine\nmetadata:\n\t\"openclaw\": {");
    let read_file = read(file.as_bytes()).unwrap();
    assert_eq!(read_file.front.description.as_deref(), Some("fine"));
    assert_eq!(read_file.findings[0].code, "yaml-line-by-line");

    let open = text("name: x\ndescription: \"never closed\nlicense: MIT");
    let open = read(open.as_bytes()).unwrap();
    assert_eq!(open.front.description.as_deref(), Some("never closed"));
    assert_eq!(open.findings[0].code, "yaml-line-by-line");

    let broken = text("- [\n- {");
    let error = read(broken.as_bytes()).unwrap_err();
    assert!(matches!(error, FrontMatterError::Yaml { .. }), "{error}");

    let prose = text("this is not a list of keys\nat all");
    assert_eq!(
        read(prose.as_bytes()).unwrap_err(),
        FrontMatterError::NotAMap
    );
}

#[test]
fn descriptions_over_several_lines_and_unclosed_heads_are_read_as_far_as_they_go() {
    let over_lines = "---\nname: draw\ndescription: Draws diagrams of many kinds.\nNatural language: from a plain sentence.\n\
        Customization: Takes a path.\nversion\u{ff1a} 1.1\nlicense: MIT\n---\n# Draw\n";
    let broken_block = "---\nname: reach\ndescription: |\nFinds suppliers.\n\nUse it for:\n- \"find [product]\"\n\
        argument-hint: [product] | \"check\"\nmetadata:\n  openclaw:\n    requires: {bins: [gh]}\n---\nBody\n";
    let unclosed = "---\nname: talk\ndescription: Writes down what is said.\nemoji: x\n\nrequires:\n  bins: [whisper]\n\n\
        # Talk\n\nSend a voice message.\n\n---\n\nMore.\n";
    let marked_by_git = "---\nname: daily\ndescription: Daily notes.\n<<<<<<< Updated\nmetadata:\n  author: x\n=======\n>>>>>>> Stashed\n---\n";
    let longer_line = "---\nname: line\ndescription: Ends with a longer line.\n-----\nBody\n";
    for (file, description) in [
        (
            over_lines,
            "Draws diagrams of many kinds. Natural language: from a plain sentence. Customization: Takes a path. version\u{ff1a} 1.1",
        ),
        (
            broken_block,
            "Finds suppliers. Use it for: - \"find [product]\"",
        ),
        (unclosed, "Writes down what is said."),
        (marked_by_git, "Daily notes."),
        (longer_line, "Ends with a longer line."),
    ] {
        let read = read(file.as_bytes()).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(read.front.description.as_deref(), Some(description));
        assert_eq!(
            read.findings.is_empty(),
            file == longer_line,
            "{:?}",
            read.findings
        );
    }
    let read_block = read(broken_block.as_bytes()).unwrap();
    assert_eq!(read_block.front.gating.requires.bins, ["gh"]);
    let read_unclosed = read(unclosed.as_bytes()).unwrap();
    assert!(read_unclosed.body.starts_with("# Talk\n"));
    assert_eq!(read_unclosed.body_line, 9);
}

#[test]
fn what_an_invocation_needs_is_read() {
    let file = text(
        "name: fix\ndescription: d\nargument-hint: [issue] [priority]\ncontext: fork\nmodel: openai/gpt-5.6-mini\n\
         version: 1.2.0\nallowed-tools: Read\nmetadata:\n  chela: {onlyTools: [read, exec], draft: true}\n  moltbot: {os: [linux]}",
    );
    let front = read(file.as_bytes()).unwrap().front;
    assert_eq!(front.argument_hint.as_deref(), Some("[issue] [priority]"));
    assert_eq!(front.context, super::SkillContext::Fork);
    assert_eq!(front.model.as_deref(), Some("openai/gpt-5.6-mini"));
    assert_eq!(front.version.as_deref(), Some("1.2.0"));
    assert_eq!(front.only_tools.unwrap(), ["read", "exec"]);
    assert!(front.draft);
    for dialect in ["moltbot", "clawdis"] {
        let file = text(&format!(
            "description: d\nmetadata: {{\"{dialect}\": {{\"requires\": {{\"bins\": [\"gh\"]}}}}}}"
        ));
        assert_eq!(
            read(file.as_bytes()).unwrap().front.gating.requires.bins,
            ["gh"]
        );
    }
    // A bound that is written down and cannot be read leaves no tool; a list of others is none.
    let file = text("description: d\nmetadata: {chela: {onlyTools: {a: b}}}");
    assert_eq!(
        read(file.as_bytes()).unwrap().front.only_tools,
        Some(Vec::new())
    );
    let file = text("description: d\nmetadata: {openclaw: {onlyTools: [read]}}");
    assert_eq!(read(file.as_bytes()).unwrap().front.only_tools, None);
}

/// Shapes that people write and that no parser should stumble over.
#[test]
fn heads_as_people_write_them_are_read() {
    for head in [
        "allowed-tools: Bash(git add:*), Bash(git status:*)\nargument-hint: [message]\ndescription: Commit with context",
        "description: \"[DEV] Scan the tree\"\nargument-hint: \"[path] [--staged]\"",
        "description: Audit a page\nargument-hint: [URL or path] [--mobile]",
        "description: Draft a reply\nargument-hint: <issue-number> [--draft]",
        "name: release\ndescription: >-\n  Publish a release. Use when: asked.\n  Goes on here.\narguments: [version]",
        "name: 日報\ndescription: 毎日の報告を書く。「日報」と言われたら使う。\nversion: 1.0.0",
        "name: Hub\ndescription: Data, filtered: by policy\nskillKey: hub\nos: darwin, linux\nmetadata: {}\nalways: false",
        "name: x\ndescription: Has 'single' and \"double\" quotes: both",
        "name: x\ndescription: |\n  Line one.\n  - a list: item\n\n  # not a comment\nmetadata:\n  author: Someone\n  version: \"2.0\"",
        "name: x\ndescription: Trailing blanks   \nlicense: Complete terms in LICENSE.txt",
        "name:  x \ndescription:   Many   blanks",
        "---x: y\ndescription: a head that begins oddly",
    ] {
        let file = text(head);
        let front = read(file.as_bytes())
            .unwrap_or_else(|error| panic!("{head}: {error}"))
            .front;
        assert!(front.description.is_some(), "{head}");
    }
    let tools = text("description: d\nallowed-tools: Bash(git add:*), Bash(gh issue view *) Read");
    let front = read(tools.as_bytes()).unwrap().front;
    assert_eq!(
        front.allowed_tools.unwrap(),
        ["Bash(git add:*)", "Bash(gh issue view *)", "Read"]
    );
}

#[test]
fn missing_and_unclosed_heads_say_so() {
    assert_eq!(read(b"# Title\n").unwrap_err(), FrontMatterError::Missing);
    assert_eq!(read(b"").unwrap_err(), FrontMatterError::Missing);
    assert_eq!(
        read(b"---\nname: x\n").unwrap_err(),
        FrontMatterError::Unclosed
    );
    let spaced = read(b"\xef\xbb\xbf\n\n---\r\nname: x\r\ndescription: d\r\n---\r\nBody").unwrap();
    assert_eq!(
        (spaced.front.name.as_deref(), spaced.body, spaced.body_line),
        (Some("x"), "Body", 7)
    );
    let empty = read(b"---\n---\nBody").unwrap_err();
    assert_eq!(empty, FrontMatterError::NotAMap);
}

#[test]
fn wrong_encodings_are_named() {
    let utf16: Vec<u8> = "---\nname: x"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(
        read(&[&[0xff, 0xfe][..], &utf16].concat()).unwrap_err(),
        FrontMatterError::Utf16
    );
    assert_eq!(read(&utf16).unwrap_err(), FrontMatterError::Utf16);
    let latin = b"---\nname: x\ndescription: caf\xe9\n---\n";
    assert_eq!(
        read(latin).unwrap_err(),
        FrontMatterError::NotUtf8 { line: 3 }
    );
    assert_eq!(
        read(b"---\nname: x\0\n---\n").unwrap_err(),
        FrontMatterError::Nul { line: 2 }
    );
}

#[test]
fn bombs_are_refused() {
    // Read out in full, the first would not end before the sun does.
    let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (at, name) in ('b'..='z').enumerate() {
        let before = char::from(b'a' + u8::try_from(at).unwrap());
        bomb.push_str(&format!(
            "{name}: &{name} [{}]\n",
            vec![format!("*{before}"); 10].join(", ")
        ));
    }
    let nested = format!("description: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    let deep: String = (0..2_000)
        .map(|depth| format!("{}k:\n", " ".repeat(depth)))
        .collect();
    for head in [bomb, nested, deep] {
        let file = text(&head);
        let outcome = read(file.as_bytes());
        assert!(outcome.is_err() || outcome.unwrap().front.description.is_none());
    }
    let alias_bomb = text(
        "description: d\na: &a [1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]",
    );
    assert!(matches!(
        read(alias_bomb.as_bytes()).unwrap_err(),
        FrontMatterError::Bomb { .. }
    ));
}

#[test]
fn huge_scalars_are_refused_or_cut() {
    let file = text(&format!("name: x\ndescription: {}", "long ".repeat(10_000)));
    assert!(read(file.as_bytes()).is_ok());
    let file = text(&format!(
        "name: x\ndescription: {}",
        "long ".repeat(100_000)
    ));
    assert!(matches!(
        read(file.as_bytes()).unwrap_err(),
        FrontMatterError::TooLarge { .. }
    ));
}

#[test]
fn the_plain_reader_answers_for_ordinary_heads() {
    let head = "name: a\n# comment\ndescription: It's fine, really (yes) 100% sure\nok: true\nlist: [a, \"b c\"]\n\
                nested:\n  deep:\n    - one\n    - \"two\"\n  empty:\nmeta: {\"a\": {\"b\": [1, 2]}}\nlast: 'x'\n";
    let map = plain::read(head).expect("plain enough");
    assert_eq!(serde_json::Value::Object(map), yaml::read(head).unwrap());
    for declined in [
        "a: 1",
        "a: yes",
        "a: b: c",
        "a: >\n  x",
        "a: \"x\\n\"",
        "a: x\n  y",
        "a: &x y",
        "a: x # y",
        "a: ~",
        "? a",
        "a: x\na: y",
    ] {
        assert!(plain::read(declined).is_none(), "{declined}");
    }
}

/// Lines that look like a head, with everything that makes YAML hard thrown in.
fn head() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "name",
        "description",
        "os",
        "a-b",
        "x_1",
        "metadata",
        "on",
        "true",
        "1",
        "é",
    ]);
    let word = prop::sample::select(vec![
        "text",
        "two words",
        "it's",
        "a: b",
        "a:",
        "#x",
        "x #y",
        "x#y",
        "[a, b]",
        "[a, \"b\"]",
        "[]",
        "[a,",
        "[a, b],",
        "{\"a\": 1}",
        "{\"a\":{\"b\":\"c\"}}",
        "{a: b}",
        "{\"a\": 1, \"a\": 2}",
        "\"q\"",
        "'q'",
        "\"q",
        "\"a\" b",
        "true",
        "True",
        "yes",
        "null",
        "~",
        "1",
        "1.5",
        "-",
        "- x",
        "|",
        ">-",
        "&a",
        "*a",
        "!t",
        "%x",
        "@x",
        "`x`",
        "é",
        "日本",
        "nan",
        "inf",
        "Infinity",
        "a,b",
        "x:y",
        "\"a\\n\"",
        "'it''s'",
        "",
        "a  b",
        "http://x.y/z",
        "a]b",
        "- - x",
        "\"\"",
        "''",
        "y",
        "N",
        "a\u{a0}b",
        "0x1f",
        "e5",
        "[true, no]",
        "[1]",
        "[ a , b ]",
        "[a, , b]",
    ]);
    let indent = prop::sample::select(vec!["", "", "", "  ", "  ", "    ", " "]);
    let line = (
        indent,
        prop::sample::select(vec!["kv", "kv", "kv", "k", "item", "raw", "comment"]),
        key,
        word,
    )
        .prop_map(|(indent, shape, key, word)| match shape {
            "kv" => format!("{indent}{key}: {word}"),
            "k" => format!("{indent}{key}:"),
            "item" => format!("{indent}- {word}"),
            "comment" => format!("{indent}# {word}"),
            _ => format!("{indent}{word}"),
        });
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]
    #[test]
    fn the_plain_reader_agrees_with_yaml_or_steps_aside(head in head()) {
        if let Some(map) = plain::read(&head) {
            let full = yaml::read(&head).map_err(|fault| TestCaseError::fail(fault.message))?;
            prop_assert_eq!(json!(map), full);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read(&[b"---\n".as_slice(), &bytes, b"\n---\n"].concat());
    }

    #[test]
    fn no_text_makes_it_panic(head in head(), body in ".{0,80}") {
        let _ = read(format!("---\n{head}\n---\n{body}").as_bytes());
    }
}
