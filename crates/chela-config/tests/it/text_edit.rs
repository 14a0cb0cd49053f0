//! Editing: what changes in the text, and what does not.

use chela_config::KeyPath;
use chela_config::text::edit::{EditError, KeyExisted, merge_patch, replace_all, set, unset};
use serde_json::{Value, json};

const COMMENTED: &str = include_str!("fixtures/commented.json5");

fn path(text: &str) -> KeyPath {
    KeyPath::parse(text).unwrap()
}

fn after_set(source: &str, at: &str, value: Value) -> String {
    set(source, &path(at), &value).unwrap()
}

fn after_unset(source: &str, at: &str) -> String {
    let (text, existed) = unset(source, &path(at)).unwrap();
    assert_eq!(existed, KeyExisted::Yes, "{at}");
    text
}

/// The lines that differ, as `-` and `+`.
fn changes(before: &str, after: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - same_start;
    let same_end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(most)
        .take_while(|(a, b)| a == b)
        .count();
    let gone = old[same_start..old.len() - same_end]
        .iter()
        .map(|line| format!("- {line}"));
    let come = new[same_start..new.len() - same_end]
        .iter()
        .map(|line| format!("+ {line}"));
    gone.chain(come).collect::<Vec<_>>().join("\n")
}

#[test]
fn setting_changes_only_the_line_concerned() {
    let change = |at, value| changes(COMMENTED, &after_set(COMMENTED, at, value));
    insta::assert_snapshot!(change("gateway.port", json!(1)), @r"
    -     port: 18789,
    +     port: 1,
    ");
    insta::assert_snapshot!(change("agents.defaults.workspace", json!("~/w")), @r#"
    -       workspace: "~/.chela/workspace", // a git repository
    +       workspace: "~/w", // a git repository
    "#);
    insta::assert_snapshot!(change("agents.list[0].model", json!({ "primary": "a/b", "fallbacks": [] })), @r#"
    +         model: {
    +           primary: "a/b",
    +           fallbacks: [],
    +         },
    "#);
    insta::assert_snapshot!(change("agents.list[3]", json!({ "id": "new" })), @r#"
    +       {
    +         id: "new",
    +       },
    "#);
    assert_eq!(
        change("tools.exec.allow[4]", json!("ls")),
        r#"+         "ls","#
    );
    assert_eq!(
        change("channels.telegram.allowFrom[2]", json!("9")),
        r#"+         "9","#
    );
    insta::assert_snapshot!(change("channels.webchat.enabled", json!(true)), @r"
    -     webchat: {}, // nothing to say about it
    +     webchat: {
    +       enabled: true,
    +     }, // nothing to say about it
    ");
    insta::assert_snapshot!(change("logging.file", json!("x")), @r#"
    -   logging: { level: "info", redact: ["apiKey", "token"] },
    +   logging: { level: "info", redact: ["apiKey", "token"], file: "x" },
    "#);
    assert_eq!(
        change("models.aliases[\"local/qwen3\"]", json!("q")),
        r#"+       "local/qwen3": "q","#
    );
    insta::assert_snapshot!(change("skills.entries.deploy.env.KEY", json!("it's")), @r#"
    +   skills: {
    +     entries: {
    +       deploy: {
    +         env: {
    +           KEY: "it's",
    +         },
    +       },
    +     },
    +   },
    "#);
    let long = "a".repeat(60);
    insta::assert_snapshot!(change("tools.web.fetch.userAgent", json!(long)), @r#"
    -     web: { search: { enabled: true, maxResults: 5 }, fetch: { enabled: false } },
    +     web: { search: { enabled: true, maxResults: 5 }, fetch: {
    +       enabled: false,
    +       userAgent: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    +     } },
    "#);
}

#[test]
fn unsetting_takes_the_line_and_its_own_comment() {
    let change = |at| changes(COMMENTED, &after_unset(COMMENTED, at));
    assert_eq!(
        change("agents.defaults.workspace"),
        r#"-       workspace: "~/.chela/workspace", // a git repository"#
    );
    assert_eq!(
        change("channels.telegram.allowFrom[1]"),
        r#"-         "23456789", // the neighbour"#
    );
    insta::assert_snapshot!(change("session.reset"), @r#"
    -     reset: {
    -       mode: "daily",
    -       atHour: 4,
    -     },
    "#);
    insta::assert_snapshot!(change("tools.exec.allow[1]"), @r#"
    -         "git", "ls", "rg",
    +         "git", "rg",
    "#);
    insta::assert_snapshot!(change("tools.web.fetch"), @r"
    -     web: { search: { enabled: true, maxResults: 5 }, fetch: { enabled: false } },
    +     web: { search: { enabled: true, maxResults: 5 } },
    ");
    insta::assert_snapshot!(change("tools.web.fetch.enabled"), @r"
    -     web: { search: { enabled: true, maxResults: 5 }, fetch: { enabled: false } },
    +     web: { search: { enabled: true, maxResults: 5 }, fetch: {} },
    ");
    insta::assert_snapshot!(change("gateway"), @r#"
    -   gateway: {
    -     port: 18789,
    -     bind: "loopback",
    -     auth: { mode: "token", token: "${CHELA_GATEWAY_TOKEN}" },
    -   },
    - 
    "#);
    let (same, existed) = unset(COMMENTED, &path("agents.nobody.home[3]")).unwrap();
    assert_eq!((same.as_str(), existed), (COMMENTED, KeyExisted::No));
}

#[test]
fn strict_json_stays_strict_json() {
    let source =
        "{\n    \"a\": 1,\n    \"b\": [1, 2],\n    \"c\": {\n        \"d\": null\n    }\n}\n";
    let strict = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(
        after_set(source, "c.e.f", json!([true, {}])),
        "{\n    \"a\": 1,\n    \"b\": [1, 2],\n    \"c\": {\n        \"d\": null,\n        \"e\": {\n            \"f\": [\n                true,\n                {}\n            ]\n        }\n    }\n}\n"
    );
    for at in ["a", "b", "c", "c.d", "b[0]", "b[1]"] {
        strict(&after_unset(source, at));
        strict(&after_set(source, at, json!({ "x": ["y"] })));
    }
    let all_gone = merge_patch(
        source,
        &KeyPath::root(),
        &json!({ "a": null, "b": null, "c": null }),
    )
    .unwrap();
    assert_eq!(all_gone, "{}\n");
}

#[test]
fn the_style_of_the_file_is_followed() {
    // Tabs, single quotes, carriage returns, no final newline.
    assert_eq!(
        after_set(
            "{\r\n\ta: 'x',\r\n\tb: {\r\n\t\tc: 1\r\n\t}\r\n}",
            "b.d",
            json!({ "e": "it's" })
        ),
        "{\r\n\ta: 'x',\r\n\tb: {\r\n\t\tc: 1,\r\n\t\td: {\r\n\t\t\te: 'it\\'s'\r\n\t\t}\r\n\t}\r\n}"
    );
    // A comma that is not there is put before the comment.
    assert_eq!(
        after_set("{\n  a: 1 // one\n}\n", "b", json!(2)),
        "{\n  a: 1, // one\n  b: 2\n}\n"
    );
    // Minified stays minified, however long.
    assert_eq!(
        after_set("{\"a\":{\"b\":1}}", "a.c", json!([1, 2])),
        "{\"a\":{\"b\":1,\"c\":[1,2]}}"
    );
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(200));
    assert!(!after_set(&long, "b", json!(1)).contains('\n'));
    // One line that grows too long is spread.
    let wide = format!("{{\n  a: {{ b: \"{}\", c: 1 }},\n}}\n", "x".repeat(70));
    insta::assert_snapshot!(after_set(&wide, "a.d", json!("0123456789")), @r#"
    {
      a: {
        b: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        c: 1,
        d: "0123456789",
      },
    }
    "#);
    // A key that needs quotes gets them, one beside it does not.
    assert_eq!(
        after_set("{ a: 1 }", "b-c", json!(1)),
        "{ a: 1, \"b-c\": 1 }"
    );
    assert_eq!(
        after_set("{ a: { 'b-c': 1 } }", "a.d", json!(1)),
        "{ a: { 'b-c': 1, d: 1 } }"
    );
    assert_eq!(after_set("{ a: 1, }", "b", json!(1)), "{ a: 1, b: 1, }");
    assert_eq!(after_set("{ a: [] }", "a[0]", json!(1)), "{ a: [1] }");
}

#[test]
fn comments_stay_where_they_belong() {
    let source = "{\n  // above a\n  a: 1, // beside a\n  // above b\n  b: 2 /* inside b */, /* beside b */\n  // below all\n}\n";
    assert_eq!(
        after_unset(source, "a"),
        "{\n  // above a\n  // above b\n  b: 2 /* inside b */, /* beside b */\n  // below all\n}\n"
    );
    assert_eq!(
        after_unset(source, "b"),
        "{\n  // above a\n  a: 1, // beside a\n  // above b\n  // below all\n}\n"
    );
    assert_eq!(
        after_set(source, "c", json!(3)),
        "{\n  // above a\n  a: 1, // beside a\n  // above b\n  b: 2 /* inside b */, /* beside b */\n  c: 3,\n  // below all\n}\n"
    );
    assert_eq!(
        after_unset(
            "[0]".replace("[0]", "{ a: 1, /* for b */ b: 2 }").as_str(),
            "a"
        ),
        "{ /* for b */ b: 2 }"
    );
    assert_eq!(
        after_unset("{ a: [1 /*x*/, 1 /*y*/] }", "a[0]"),
        "{ a: [1 /*y*/] }"
    );
    assert_eq!(
        after_set("{ /* none yet */ }", "a", json!(1)),
        "{ /* none yet */\n  \"a\": 1\n}"
    );
    assert_eq!(
        after_set("{\n  // none yet\n}\n", "a", json!(1)),
        "{\n  // none yet\n  \"a\": 1\n}\n"
    );
}

#[test]
fn duplicates_are_edited_as_they_count() {
    let source = "{\n  a: 1,\n  b: 2,\n  a: 3,\n}\n";
    assert_eq!(
        after_set(source, "a", json!(4)),
        "{\n  a: 1,\n  b: 2,\n  a: 4,\n}\n"
    );
    assert_eq!(after_set(source, "a", json!(3)), source);
    assert_eq!(after_unset(source, "a"), "{\n  b: 2,\n}\n");
}

#[test]
fn a_value_that_is_right_already_is_not_touched() {
    for (at, value) in [
        ("agents.defaults.bootstrapTotalMaxChars", json!(0x24000)),
        ("agents.defaults.temperature", json!(0.7)),
        ("agents.list[1].identity.name", json!("Tür")),
        (
            "models.aliases",
            json!({ "anthropic/claude-sonnet-4-5": "sonnet", "openai/gpt-5": "gpt" }),
        ),
    ] {
        assert_eq!(after_set(COMMENTED, at, value), COMMENTED, "{at}");
    }
    let whole = chela_config::text::parse(COMMENTED, chela_config::FileId(0))
        .root
        .unwrap()
        .to_json();
    assert_eq!(replace_all(COMMENTED, &whole).unwrap(), COMMENTED);
    assert_eq!(
        merge_patch(COMMENTED, &KeyPath::root(), &json!({})).unwrap(),
        COMMENTED
    );
}

#[test]
fn a_file_without_a_config_becomes_one() {
    for blank in ["", "\n", "  \n\t", "\u{feff}"] {
        assert_eq!(
            after_set(blank, "a.b", json!(1)),
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"
        );
        assert_eq!(
            unset(blank, &path("a")).unwrap(),
            (blank.to_owned(), KeyExisted::No)
        );
    }
    assert_eq!(
        after_set("// mine\r\n", "a", json!(1)),
        "// mine\r\n{\r\n  \"a\": 1\r\n}\r\n"
    );
    assert_eq!(after_set("{}", "a", json!(1)), "{\n  \"a\": 1\n}");
}

#[test]
fn a_patch_deletes_merges_and_replaces() {
    let source = "{\n  a: { x: 1, y: [1, 2] }, // keep\n  b: 'gone', // with it\n  c: 3,\n}\n";
    let patch =
        json!({ "a": { "x": null, "y": [3], "z": { "n": null, "m": 1 } }, "b": null, "d": "new" });
    assert_eq!(
        merge_patch(source, &KeyPath::root(), &patch).unwrap(),
        "{\n  a: { y: [3], z: { m: 1 } }, // keep\n  c: 3,\n  d: 'new',\n}\n"
    );
    assert_eq!(
        merge_patch("{ a: { b: 1 } }", &path("a"), &json!({ "c": 2 })).unwrap(),
        "{ a: { b: 1, c: 2 } }"
    );
    assert_eq!(
        merge_patch("{ a: { b: 1 } }", &path("a.b"), &Value::Null).unwrap(),
        "{ a: {} }"
    );
    assert_eq!(
        merge_patch("{ a: 1 }", &path("a"), &json!({ "b": 2 })).unwrap(),
        "{ a: { b: 2 } }"
    );
}

#[test]
fn replacing_everything_keeps_the_comments_of_what_stays() {
    let source = "{\n  // the port\n  port: 1, // low\n  gone: true,\n  list: [\n    1, // one\n    2, // two\n  ],\n}\n";
    assert_eq!(
        replace_all(source, &json!({ "new": {}, "list": [2], "port": 80 })).unwrap(),
        "{\n  // the port\n  port: 80, // low\n  list: [\n    2, // two\n  ],\n  new: {},\n}\n"
    );
}

#[test]
fn impossible_edits_say_why() {
    let said = |source: &str, at: &str| set(source, &path(at), &json!(1)).unwrap_err().to_string();
    let report = [
        said("{ a: 'x' }", "a.b.c"),
        said("{ a: [1] }", "a.b"),
        said("{ a: [1] }", "a[2]"),
        said("{}", "a[1]"),
        said("{ a: {} }", "a[0]"),
        said("{ agents: { $include: './agents.json5' } }", "agents.list"),
        said("{ a: 1,\n  b }", "a"),
        said("[1]", "a"),
        set("{}", &KeyPath::root(), &json!(1))
            .unwrap_err()
            .to_string(),
        unset("{ a: { $include: ['x', 'y'] } }", &path("a.b"))
            .unwrap_err()
            .to_string(),
        merge_patch(
            "{ a: { $include: 'x' } }",
            &KeyPath::root(),
            &json!({ "a": { "b": 1 } }),
        )
        .unwrap_err()
        .to_string(),
    ];
    insta::assert_snapshot!(report.join("\n"), @r"
    cannot set `a.b.c`: `a` is a string, and has no keys; set `a` itself, or unset it first
    cannot set `a.b`: `a` is a list; name an item as `a[0]`
    cannot set `a[2]`: `a` has 1 items; `[1]` appends one
    cannot set `a[1]`: `a` has 0 items; `[0]` appends one
    cannot set `a[0]`: `a` is an object, and `[0]` asks for an item of a list
    `agents.list` comes from the included file ./agents.json5; edit that file
    the config has an error on line 2, column 4: expected `:` after the key; correct that first
    the config is a list; it must be an object `{ … }`
    the config is a number; it must be an object `{ … }`
    `a.b` comes from the included file x, y; edit that file
    `a.b` comes from the included file x; edit that file
    ");
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(set("{}", &path("a"), &deep), Err(EditError::TooDeep));
    // Beside other keys, and at the top, a key overrides what is included.
    assert_eq!(
        after_set("{ $include: 'x' }", "a", json!(1)),
        "{ $include: 'x', a: 1 }"
    );
    assert_eq!(
        after_set("{ a: { $include: 'x', b: 1 } }", "a.c", json!(1)),
        "{ a: { $include: 'x', b: 1, c: 1 } }"
    );
    assert_eq!(
        after_set("{ a: { $include: 'x' } }", "a", json!(1)),
        "{ a: 1 }"
    );
}
