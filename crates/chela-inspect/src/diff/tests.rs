use super::{ChangeKind, diff};
use crate::saved::SavedPrompt;

/// Sections as (id, text); everything but the last two is stable.
fn prompt(sections: &[(&str, &str)]) -> SavedPrompt {
    let mut text = String::new();
    let mut rows = Vec::new();
    for (id, body) in sections {
        let start = text.len();
        text.push_str(body);
        text.push_str("\n\n");
        rows.push(serde_json::json!({
            "id": id, "zone": "stable", "start": start, "end": text.len(), "origin": "chela"
        }));
    }
    let document = serde_json::json!({ "text": text, "boundary": text.len(), "sections": rows });
    SavedPrompt::from_json(&document.to_string()).unwrap()
}

#[test]
fn equal_prompts_have_no_break() {
    let a = prompt(&[("identity", "hello"), ("safety", "be good")]);
    let result = diff(&a, &a);
    assert_eq!(result.first_break, None);
    assert!(
        result
            .sections
            .iter()
            .all(|section| section.change == ChangeKind::Same)
    );
}

#[test]
fn sections_are_told_in_order_with_what_happened() {
    let a = prompt(&[
        ("identity", "hello"),
        ("skills", "x"),
        ("safety", "be good"),
        ("time", "t"),
    ]);
    let b = prompt(&[
        ("identity", "hello"),
        ("safety", "be better"),
        ("sandbox", "s"),
        ("time", "t"),
    ]);
    let result = diff(&a, &b);
    let told: Vec<(&str, ChangeKind)> = result
        .sections
        .iter()
        .map(|section| (section.section.as_str(), section.change))
        .collect();
    assert_eq!(
        told,
        [
            ("identity", ChangeKind::Same),
            ("skills", ChangeKind::Removed),
            ("safety", ChangeKind::Changed),
            ("sandbox", ChangeKind::Added),
            ("time", ChangeKind::Same),
        ]
    );
    let first = result.first_break.unwrap();
    assert_eq!(first.byte, "hello\n\n".len());
    assert_eq!(first.cause, "section `skills` is only in the first");
}

#[test]
fn the_break_is_never_inside_a_character() {
    let a = prompt(&[("identity", "x é")]);
    let b = prompt(&[("identity", "x è")]);
    let first = diff(&a, &b).first_break.unwrap();
    assert_eq!(first.byte, 2);
    assert_eq!(
        (first.line_a.as_str(), first.line_b.as_str()),
        ("x é", "x è")
    );
    assert_eq!(first.cause, "section `identity` differs");
}

#[test]
fn what_is_no_saved_prompt_is_refused() {
    assert!(SavedPrompt::from_json("{}").is_err());
    let gap = r#"{"text":"abc","boundary":0,"sections":[{"id":"x","start":1,"end":3}]}"#;
    assert!(
        SavedPrompt::from_json(gap)
            .unwrap_err()
            .to_string()
            .contains("byte 0")
    );
    let split = r#"{"text":"é","boundary":1,"sections":[{"id":"x","start":0,"end":2}]}"#;
    assert!(SavedPrompt::from_json(split).is_err());
}
