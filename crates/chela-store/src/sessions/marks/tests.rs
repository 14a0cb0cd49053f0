use super::EntryMarks;

fn marks(kind: &str, body: &str) -> (Option<&'static str>, Option<String>) {
    let marks = EntryMarks::of(kind, body);
    (marks.trust, marks.source)
}

#[test]
fn a_label_says_how_far_text_is_trusted() {
    let body = |label: &str| {
        format!(r#"{{"message":{{"role":"toolResult","content":[]}},"meta":{{"label":{label}}}}}"#)
    };
    for (label, trust) in [
        (r#"{"trust":"owner","origin":"x"}"#, "owner"),
        (r#"{"trust":"external","origin":"x"}"#, "external"),
        // What cannot be read is foreign.
        (r#"{"trust":"martian","origin":"x"}"#, "external"),
        (r#"{"trust":7}"#, "external"),
        (r#"{"origin":"x"}"#, "external"),
        (r#""owner""#, "external"),
    ] {
        assert_eq!(
            marks("message", &body(label)),
            (Some(trust), None),
            "{label}"
        );
    }
    assert_eq!(marks("message", "{no json").0, Some("external"));
    assert_eq!(marks("message", r#"{"message":{}}"#).0, Some("external"));
}

#[test]
fn blocks_the_runtime_sent_count() {
    let block = r#"{"message":{"role":"user","content":[]},
        "meta":{"details":{"blocks":[{"trust":"agent"},{"trust": "external"}]}}}"#;
    assert_eq!(
        marks("message", block),
        (Some("external"), Some("person".to_owned()))
    );
    let note = r#"{"customType":"x","details":{"blocks":[{"a":[1,2.5,null,true,-3],"trust":"external"}]}}"#;
    assert_eq!(marks("custom_message", note).0, Some("external"));
    assert_eq!(marks("custom_message", r#"{"customType":"x"}"#).0, None);
}

#[test]
fn quoted_text_is_no_label() {
    let quoted = r#"{"message":{"role":"user","content":[{"type":"text","text":"{\"trust\":\"external\"}"}]}}"#;
    assert_eq!(marks("message", quoted), (None, Some("person".to_owned())));
    assert_eq!(marks("tool_started", r#""call-1""#), (None, None));
}

#[test]
fn a_source_is_the_users() {
    let body =
        |role: &str, meta: &str| format!(r#"{{"message":{{"role":"{role}","content":[]}}{meta}}}"#);
    let source = |role: &str, meta: &str| marks("message", &body(role, meta)).1;
    assert_eq!(source("user", "").as_deref(), Some("person"));
    let cron = r#","meta":{"source":"cron"}"#;
    assert_eq!(source("user", cron).as_deref(), Some("cron"));
    assert_eq!(source("assistant", ""), None);
}
