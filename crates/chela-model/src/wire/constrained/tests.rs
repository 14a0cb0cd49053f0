use proptest::prelude::*;
use serde_json::json;

use super::ConstrainedReader;

/// What was shown and what is left, for an answer that arrives cut at these places.
fn read(answer: &str, cuts: &[usize]) -> (String, Option<(String, String)>) {
    let mut reader = ConstrainedReader::default();
    let mut shown = String::new();
    let mut cuts: Vec<usize> = cuts
        .iter()
        .map(|cut| answer.floor_char_boundary(cut % (answer.len() + 1)))
        .collect();
    cuts.extend([0, answer.len()]);
    cuts.sort_unstable();
    for pair in cuts.windows(2) {
        shown.push_str(&reader.push(&answer[pair[0]..pair[1]]));
    }
    let end = reader.finish();
    shown.push_str(&end.text);
    (shown, end.call)
}

#[test]
fn a_reply_is_shown_while_it_arrives() {
    let mut reader = ConstrainedReader::default();
    assert_eq!(reader.push("{\"re"), "");
    assert_eq!(reader.push("ply\": \"Hel"), "Hel");
    assert_eq!(reader.push("lo\\n\\u00"), "lo\n");
    assert_eq!(reader.push("e9 \\ud83e"), "é ");
    assert_eq!(reader.push("\\udd80\"}"), "🦀");
    assert!(reader.finish().call.is_none());
}

#[test]
fn a_call_is_whole_or_malformed() {
    let (shown, call) = read(r#"{"tool": "read", "arguments": {"path": "a"}}"#, &[5, 20]);
    assert_eq!(
        (shown.as_str(), call),
        ("", Some(("read".into(), r#"{"path":"a"}"#.into())))
    );
    let (_, call) = read(r#"{"tool": "read", "arguments": {"path": "#, &[]);
    assert_eq!(call, Some(("read".into(), r#"{"path":"#.into())));
    let (_, call) = read(r#"{"tool": "read""#, &[]);
    assert_eq!(call, Some(("read".into(), "{".into())));
}

#[test]
fn a_server_that_ignores_the_schema_is_heard_all_the_same() {
    assert_eq!(read("Hello there", &[3]), ("Hello there".into(), None));
    assert_eq!(
        read("```json\n{\"tool\":\"ls\",\"arguments\":{}}\n```", &[2]).1,
        Some(("ls".into(), "{}".into()))
    );
    assert_eq!(read("{\"what\": 1}", &[]), ("{\"what\": 1}".into(), None));
}

proptest! {
    #[test]
    fn any_text_survives_any_cut(
        text in any::<String>(),
        cuts in prop::collection::vec(0usize..4096, 0..8),
        pretty in any::<bool>(),
    ) {
        let answer = json!({"reply": text});
        let answer = if pretty {
            serde_json::to_string_pretty(&answer).unwrap()
        } else {
            answer.to_string()
        };
        prop_assert_eq!(read(&answer, &cuts), (text, None));
    }

    #[test]
    fn nothing_panics(text in ".*", cuts in prop::collection::vec(0usize..4096, 0..8)) {
        read(&format!("{{\"reply\":\"{text}"), &cuts);
        read(&text, &cuts);
    }
}
