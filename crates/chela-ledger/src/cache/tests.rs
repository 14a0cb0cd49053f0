use std::ops::Range;

use chela_core::{ContentHash, Origin};
use serde_json::{Value, json};

use super::{BreakCause, CachedRequest, ContextRewrite, PrefixReuse, compare};
use crate::mark::SectionMark;
use crate::shape::RequestPlace;
use crate::testing::{LedgerFixture, TestRequest, chat, section};
use chela_core::Prices;
use chela_store::WaitHere as _;

/// A byte is a token.
fn bytes(range: Range<usize>) -> u64 {
    range.len() as u64
}

fn seen<'a>(body: &'a [u8], sections: &'a [SectionMark]) -> CachedRequest<'a> {
    CachedRequest {
        body,
        unread: &[],
        model: "openai/gpt-5",
        url: "https://api.example.com",
        sections,
    }
}

fn reuse(before: &Value, after: &Value) -> PrefixReuse {
    let (before, after) = (before.to_string(), after.to_string());
    let (before, after) = (seen(before.as_bytes(), &[]), seen(after.as_bytes(), &[]));
    compare(Some(&before), &after, None, &bytes)
}

fn cause(before: &Value, after: &Value) -> Option<BreakCause> {
    reuse(before, after).broken.map(|broken| broken.cause)
}

#[test]
fn a_conversation_that_goes_on_breaks_nothing() {
    let before = chat("you", &["hi"], &["read"]);
    let after = chat("you", &["hi", "hello", "how are you?"], &["read"]);
    let reuse = reuse(&before, &after);
    assert_eq!(reuse.broken, None);
    assert_eq!(reuse.reread_tokens, 0);
    let new = r#"{"role":"assistant","content":"hello"}{"role":"user","content":"how are you?"}"#;
    assert_eq!(reuse.total_bytes - reuse.bytes, new.len() as u64);
    assert_eq!(reuse.tokens, reuse.bytes);
}

#[test]
fn what_was_rewritten_on_purpose_is_named() {
    let before = chat(
        "you",
        &["hi", "hello", "old result", "fine", "go on"],
        &["read"],
    )
    .to_string();
    let after = |rewrite, system: &str, said: &[&str]| {
        let after = chat(system, said, &["read"]).to_string();
        let (before, after) = (seen(before.as_bytes(), &[]), seen(after.as_bytes(), &[]));
        compare(Some(&before), &after, rewrite, &bytes)
    };
    let cause = |reuse: PrefixReuse| reuse.broken.map(|broken| broken.cause);
    let undone = ["hi", "hello", "something else"];
    let taken_back = after(Some(ContextRewrite::Undo), "you", &undone);
    assert_eq!(taken_back.broken, None);
    assert_eq!(taken_back.reread_tokens, 0);
    assert!(taken_back.bytes > 0 && taken_back.bytes < taken_back.total_bytes);
    assert!(
        cause(after(None, "you", &undone)).is_some(),
        "not asked for"
    );
    let moved = cause(after(Some(ContextRewrite::Undo), "me", &undone));
    assert_eq!(
        moved,
        Some(BreakCause::SystemChanged),
        "an undo excuses nothing else"
    );
    let pruned = ["hi", "hello", "[cleared]", "fine", "go on", "yes"];
    for (rewrite, expected) in [
        (ContextRewrite::Pruning, BreakCause::Pruning),
        (
            ContextRewrite::CompactionUndone,
            BreakCause::CompactionUndone,
        ),
        (ContextRewrite::Compaction, BreakCause::Compaction),
    ] {
        let found = cause(after(Some(rewrite), "you", &pruned));
        assert!(expected.is_meant());
        assert_eq!(found, Some(expected));
    }
}

#[test]
fn what_does_not_reach_the_prompt_breaks_nothing() {
    let before = chat("you", &["hi"], &["read"]);
    let mut after = before.clone();
    after["stream"] = json!(false);
    after["temperature"] = json!(0.3);
    assert_eq!(cause(&before, &after), None);
    // Marks for the cache move with the conversation.
    let marked = |last: bool| {
        let mut part = json!({ "type": "text", "text": "hi" });
        if last {
            part["cache_control"] = json!({ "type": "ephemeral" });
        }
        json!({ "role": "user", "content": [part] })
    };
    let before = json!({ "system": "you", "messages": [marked(true)] });
    let after = json!({ "system": "you", "messages": [marked(false), marked(true)] });
    assert_eq!(cause(&before, &after), None);
    // A message that was taken back costs nothing.
    let longer = chat("you", &["hi", "hello"], &[]);
    assert_eq!(cause(&longer, &chat("you", &["hi"], &[])), None);
}

#[test]
fn tools_are_named() {
    let name = |name: &str| name.to_owned();
    let with = |tools: &[&str]| chat("you", &["hi"], tools);
    let cases = [
        (
            with(&["a", "b"]),
            with(&["a", "b", "c"]),
            BreakCause::ToolAdded { name: name("c") },
        ),
        (
            with(&["a", "c"]),
            with(&["a", "b", "c"]),
            BreakCause::ToolAdded { name: name("b") },
        ),
        (
            with(&["a", "b"]),
            with(&["a"]),
            BreakCause::ToolRemoved { name: name("b") },
        ),
        (
            with(&["a", "b", "c"]),
            with(&["b", "c"]),
            BreakCause::ToolRemoved { name: name("a") },
        ),
        (
            with(&["a", "b"]),
            with(&["b", "a"]),
            BreakCause::ToolsReordered,
        ),
    ];
    for (before, after, expected) in cases {
        assert_eq!(cause(&before, &after), Some(expected));
    }
    let before = with(&["a", "b"]);
    let mut after = before.clone();
    after["tools"][1]["function"]["description"] = json!("news");
    let reuse = reuse(&before, &after);
    let broken = reuse.broken.unwrap();
    assert_eq!(broken.cause, BreakCause::ToolChanged { name: name("b") });
    assert_eq!(broken.place, RequestPlace::Tool { name: name("b") });
    assert_eq!(broken.path, "tools[1]");
    // Everything behind it is read again, though only a few bytes are new.
    assert!(reuse.reread_tokens > 34, "{}", reuse.reread_tokens);
}

#[test]
fn the_offset_is_where_the_bytes_part() {
    let before = chat("you are kind", &["hi"], &[]);
    let after = chat("you are kinder", &["hi"], &[]);
    let broken = reuse(&before, &after).broken.unwrap();
    let text = after.to_string();
    let offset = usize::try_from(broken.offset).unwrap();
    assert_eq!(&text[offset..offset + 2], "er");
    assert_eq!(broken.path, "messages[0].content");
    assert_eq!(
        (broken.place, broken.cause),
        (RequestPlace::System, BreakCause::SystemChanged)
    );
}

#[test]
fn history_settings_models_and_endpoints_are_told_apart() {
    let before = chat("you", &["hi", "hello", "how?"], &["read"]);
    let edited = chat("you", &["hi", "HELLO", "how?"], &["read"]);
    assert_eq!(
        cause(&before, &edited),
        Some(BreakCause::HistoryEdited { message: 2 })
    );
    let mut thinking = before.clone();
    thinking["reasoning_effort"] = json!("high");
    let found = reuse(&before, &thinking).broken.unwrap();
    assert_eq!(
        found.cause,
        BreakCause::SettingChanged {
            key: "reasoning_effort".into()
        }
    );
    let text = before.to_string();
    let here = seen(text.as_bytes(), &[]);
    let cases = [
        (
            CachedRequest {
                model: "openai/gpt-4",
                ..here
            },
            "model",
        ),
        (
            CachedRequest {
                model: "azure/gpt-5",
                ..here
            },
            "provider",
        ),
        (
            CachedRequest {
                url: "https://elsewhere.example.com",
                ..here
            },
            "provider",
        ),
    ];
    for (elsewhere, word) in cases {
        let reuse = compare(Some(&elsewhere), &here, None, &bytes);
        assert_eq!(reuse.broken.unwrap().cause.word(), word);
        assert_eq!(reuse.tokens, 0);
        assert_eq!(reuse.reread_tokens, reuse.total_tokens);
    }
    let first = compare(None, &here, None, &bytes);
    assert_eq!(first.broken.unwrap().cause, BreakCause::FirstRequest);
    assert_eq!(first.reread_tokens, 0);
    let shortened = chat("you", &["summary"], &["read"]).to_string();
    let after = seen(shortened.as_bytes(), &[]);
    let reuse = compare(
        Some(&here),
        &after,
        Some(ContextRewrite::Compaction),
        &bytes,
    );
    assert_eq!(reuse.broken.unwrap().cause, BreakCause::Compaction);
    assert!(reuse.tokens > 0, "the prompt itself is still there");
    let same = compare(Some(&here), &here, Some(ContextRewrite::Compaction), &bytes);
    assert_eq!(same.broken, None);
}

#[test]
fn sections_say_what_changed() {
    let skills = |names: &[&str]| SectionMark {
        lists: names.iter().map(|name| (*name).to_owned()).collect(),
        hash: ContentHash::of(names.join(",")),
        ..section("skills", Origin::Runtime, "")
    };
    let base = || {
        vec![
            section("identity", Origin::BuiltIn, "you"),
            skills(&["deploy"]),
            section("project", Origin::file("SOUL.md", "kind"), "kind"),
            section("project", Origin::file("MEMORY.md", "tea"), "tea"),
            section("extra", Origin::config("agents.defaults.extra"), "x"),
        ]
    };
    let changed = |at: usize, mark: SectionMark| {
        let mut marks = base();
        marks[at] = mark;
        marks
    };
    let without = |at: usize| {
        let mut marks = base();
        marks.remove(at);
        marks
    };
    let cases = [
        (
            changed(
                3,
                section("project", Origin::file("MEMORY.md", "coffee"), "coffee"),
            ),
            BreakCause::FileChanged {
                path: "MEMORY.md".into(),
            },
        ),
        (
            without(2),
            BreakCause::FileChanged {
                path: "SOUL.md".into(),
            },
        ),
        (
            changed(1, skills(&["deploy", "news"])),
            BreakCause::SkillsChanged {
                names: vec!["news".into()],
            },
        ),
        (
            without(1),
            BreakCause::SkillsChanged {
                names: vec!["deploy".into()],
            },
        ),
        (
            changed(
                4,
                section("extra", Origin::config("agents.defaults.extra"), "y"),
            ),
            BreakCause::SettingChanged {
                key: "agents.defaults.extra".into(),
            },
        ),
        (
            changed(0, section("identity", Origin::BuiltIn, "me")),
            BreakCause::SectionChanged {
                id: "identity".into(),
            },
        ),
    ];
    let before = chat("one prompt", &["hi"], &[]).to_string();
    let after = chat("another prompt", &["hi"], &[]).to_string();
    let base = base();
    for (marks, expected) in cases {
        let reuse = compare(
            Some(&seen(before.as_bytes(), &base)),
            &seen(after.as_bytes(), &marks),
            None,
            &bytes,
        );
        assert_eq!(reuse.broken.unwrap().cause, expected);
    }
}

#[test]
fn other_providers_are_read_too() {
    let google = |tool: &str, system: &str| {
        json!({
            "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }],
            "systemInstruction": { "parts": [{ "text": system }] },
            "tools": [{ "functionDeclarations": [{ "name": "read" }, { "name": tool }] }],
        })
    };
    let found = reuse(&google("a", "you"), &google("b", "you"))
        .broken
        .unwrap();
    assert_eq!(found.cause, BreakCause::ToolAdded { name: "b".into() });
    assert_eq!(found.path, "tools[0].functionDeclarations[1]");
    let found = reuse(&google("a", "you"), &google("a", "me"))
        .broken
        .unwrap();
    assert_eq!(found.path, "systemInstruction.parts[0]");
    let responses = |text: &str| json!({ "instructions": "you", "input": [{ "type": "message", "role": "user", "content": text }] });
    assert_eq!(
        cause(&responses("hi"), &responses("ho")),
        Some(BreakCause::HistoryEdited { message: 0 })
    );
}

#[test]
fn a_session_explains_its_cache() {
    let desk = LedgerFixture::new();
    let prompt = "rule ".repeat(400);
    let mut said = TestRequest::new("s1", &chat(&prompt, &["hi"], &["read"]));
    desk.record(&said);
    let mut next = |body: Value, rewrite: Option<ContextRewrite>| {
        said.body = body.to_string().into_bytes();
        said.rewrite = rewrite;
        desk.record(&said).1
    };
    let on = next(chat(&prompt, &["hi", "hello", "and?"], &["read"]), None);
    assert_eq!(on.broken, None);
    assert!(on.tokens > 390 && on.tokens < on.total_tokens, "{on:?}");
    next(
        chat(&prompt, &["summary"], &["read"]),
        Some(ContextRewrite::Compaction),
    );
    next(chat(&prompt, &["summary"], &["read", "write"]), None);
    let anew = TestRequest {
        session: "s2".into(),
        ..said.clone()
    };
    // A new session under the same key may begin with what the old one began with.
    assert_eq!(desk.record(&anew).1.broken, None);
    let prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
    };
    let report = desk
        .ledger
        .cache_report("s1", &|_| Some(prices))
        .wait()
        .unwrap()
        .unwrap();
    let causes: Vec<Option<&str>> = report
        .turns
        .iter()
        .map(|turn| turn.reuse.broken.as_ref().map(|broken| broken.cause.word()))
        .collect();
    assert_eq!(
        causes,
        [Some("first"), None, Some("compaction"), Some("tools")]
    );
    assert_eq!(report.avoidable_breaks, 1);
    let last = report.turns.last().unwrap();
    assert_eq!(
        last.reread_cost,
        Some(prices.reread(last.reuse.reread_tokens))
    );
    assert!(last.reuse.reread_tokens > 390, "{:?}", last.reuse);
    assert!(
        desk.ledger
            .cache_report("s9", &|_| None)
            .wait()
            .unwrap()
            .is_none()
    );
}
