use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{ArgumentKind, ArgumentSchema, check, read};

fn parameters() -> Value {
    ArgumentSchema::object()
        .required(
            "path",
            ArgumentKind::text().not_empty().such_as("notes.md"),
            "File",
        )
        .optional("limit", ArgumentKind::integer().min(1).max(2000), "Lines")
        .optional("score", ArgumentKind::number(), "Least score")
        .optional("all", ArgumentKind::flag(), "All of them")
        .optional("mode", ArgumentKind::one_of(&["fast", "slow"]), "How")
        .optional("names", ArgumentKind::list(ArgumentKind::text()), "Which")
        .optional(
            "edits",
            ArgumentKind::list(ArgumentKind::nested(ArgumentSchema::object().required(
                "old",
                ArgumentKind::text(),
                "Old text",
            ))),
            "Edits",
        )
        .optional("env", ArgumentKind::text_map(), "Variables")
        .build()
}

fn given(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => panic!("an object"),
    }
}

fn complaint(value: Value) -> String {
    check(&parameters(), &given(value))
        .unwrap_err()
        .to_text("sample")
}

#[test]
fn keys_keep_their_order() {
    insta::assert_snapshot!(
        ArgumentSchema::object()
            .required("path", ArgumentKind::text().such_as("a.md"), "File")
            .optional("limit", ArgumentKind::integer().min(1), "Lines")
            .build(),
        @r#"{"type":"object","properties":{"path":{"type":"string","examples":["a.md"],"description":"File"},"limit":{"type":"integer","minimum":1,"description":"Lines"}},"required":["path"],"additionalProperties":false}"#
    );
}

#[test]
fn slips_are_put_right() {
    let fitted = check(
        &parameters(),
        &given(json!({
            "path": "a", "limit": "20", "score": "0.5", "all": "true", "mode": null,
            "names": "one", "edits": "[{\"old\": \"x\"}]", "env": {"A": 1}
        })),
    )
    .unwrap();
    assert_eq!(
        Value::Object(fitted),
        json!({
            "path": "a", "limit": 20, "score": 0.5, "all": true,
            "names": ["one"], "edits": [{"old": "x"}], "env": {"A": "1"}
        })
    );
    let fitted = check(&parameters(), &given(json!({"path": "a", "limit": 3.0}))).unwrap();
    assert_eq!(fitted["limit"], json!(3));
}

#[test]
fn complaints_name_the_argument_and_show_a_good_call() {
    let all = [
        json!({}),
        json!({"path": ""}),
        json!({"path": ["a"]}),
        json!({"path": "a", "limit": 0}),
        json!({"path": "a", "limit": 2.5}),
        json!({"path": "a", "limit": "many"}),
        json!({"path": "a", "all": "perhaps"}),
        json!({"path": "a", "mode": "medium"}),
        json!({"path": "a", "names": {"x": 1}}),
        json!({"path": "a", "edits": [{"old": "x"}, {"new": "y"}]}),
        json!({"path": "a", "edits": [{}]}),
        json!({"path": "a", "limt": 3}),
        json!({"path": "a", "zebra": 3}),
        json!({"path": "a", "env": {"A": []}}),
        json!({"path": "a", "score": "x".repeat(100)}),
    ];
    insta::assert_snapshot!(all.map(complaint).join("\n"), @r#"
    sample: argument `path` is missing: expected text that is not empty. Example of a valid call: {"path":"notes.md"}
    sample: argument `path` is ""; expected text that is not empty. Example of a valid call: {"path":"notes.md"}
    sample: argument `path` is ["a"]; expected text that is not empty. Example of a valid call: {"path":"notes.md"}
    sample: argument `limit` is 0; expected a whole number from 1 to 2000. Example of a valid call: {"path":"notes.md","limit":1}
    sample: argument `limit` is 2.5; expected a whole number from 1 to 2000. Example of a valid call: {"path":"notes.md","limit":1}
    sample: argument `limit` is "many"; expected a whole number from 1 to 2000. Example of a valid call: {"path":"notes.md","limit":1}
    sample: argument `all` is "perhaps"; expected true or false. Example of a valid call: {"path":"notes.md","all":true}
    sample: argument `mode` is "medium"; expected one of fast, slow. Example of a valid call: {"path":"notes.md","mode":"fast"}
    sample: argument `names` is {"x":1}; expected a list of texts. Example of a valid call: {"path":"notes.md","names":["…"]}
    sample: argument `edits[1].new` does not exist; the arguments are old. Example of a valid call: {"path":"notes.md","edits":[{"old":"…"}]}
    sample: argument `edits[0].old` is missing: expected text. Example of a valid call: {"path":"notes.md","edits":[{"old":"…"}]}
    sample: argument `limt` does not exist (did you mean `limit`?). Example of a valid call: {"path":"notes.md"}
    sample: argument `zebra` does not exist; the arguments are path, limit, score, all, mode, names, edits, env. Example of a valid call: {"path":"notes.md"}
    sample: argument `env.A` is []; expected text. Example of a valid call: {"path":"notes.md","env":{}}
    sample: argument `score` is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…; expected a number. Example of a valid call: {"path":"notes.md","score":1}
    "#);
}

#[test]
fn what_the_check_lets_through_the_type_can_read() {
    #[derive(Deserialize)]
    struct Arguments {
        path: String,
        limit: Option<u32>,
    }
    let fitted = check(&parameters(), &given(json!({"path": "a", "limit": "7"}))).unwrap();
    let read: Arguments = read(&fitted).unwrap();
    assert_eq!((read.path.as_str(), read.limit), ("a", Some(7)));
}

#[test]
fn another_name_counts_where_the_argument_itself_is_not_there() {
    let parameters = ArgumentSchema::object()
        .optional(
            "command",
            ArgumentKind::text().chief().such_as("ls -la"),
            "",
        )
        .optional(
            "timeoutSeconds",
            ArgumentKind::integer().min(1).also_named("timeout"),
            "",
        )
        .build();
    let fitted = check(
        &parameters,
        &given(json!({"command": "ls", "timeout": "9"})),
    )
    .unwrap();
    assert_eq!(fitted["timeoutSeconds"], json!(9));
    assert!(!fitted.contains_key("timeout"));
    let both = json!({"command": "ls", "timeout": 9, "timeoutSeconds": 3});
    assert!(check(&parameters, &given(both)).is_err());
    let wrong = check(&parameters, &given(json!({"comand": "ls"}))).unwrap_err();
    assert_eq!(
        wrong.to_text("exec"),
        r#"exec: argument `comand` does not exist (did you mean `command`?). Example of a valid call: {"command":"ls -la"}"#
    );
}
