use super::super::tests_support::{Fixture, assistant, calls, key, lines, result, user};
use super::super::{Body, Frozen, Inherited, Meta, Override, Sender, Source};
use chela_model::{Message, Usage};
use chela_store::block_on;

#[test]
fn undo_moves_and_redo_returns() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    assert!(block_on(sessions.undo(&session)).unwrap().is_none());
    for body in [
        user("one"),
        assistant("1"),
        user("two"),
        calls(&["a"]),
        result("a", "x"),
        assistant("2"),
    ] {
        block_on(sessions.append(&session, body)).unwrap();
    }
    let undone = block_on(sessions.undo(&session)).unwrap().unwrap();
    assert_eq!((undone.message, undone.entries), (Message::user("two"), 4));
    assert_eq!(
        lines(&block_on(sessions.context(&session)).unwrap()),
        ["user: one", "assistant: 1[]"]
    );
    block_on(sessions.undo(&session)).unwrap().unwrap();
    assert!(block_on(sessions.context(&session)).unwrap().is_empty());
    assert!(block_on(sessions.undo(&session)).unwrap().is_none());
    block_on(sessions.redo(&session)).unwrap().unwrap();
    block_on(sessions.redo(&session)).unwrap().unwrap();
    assert_eq!(block_on(sessions.branch(&session)).unwrap().len(), 6);
    assert!(block_on(sessions.redo(&session)).unwrap().is_none());
    // Something else is said: the way back is gone, the entries are not.
    block_on(sessions.undo(&session)).unwrap().unwrap();
    block_on(sessions.append(&session, user("three"))).unwrap();
    assert!(block_on(sessions.redo(&session)).unwrap().is_none());
    assert_eq!(
        lines(&block_on(sessions.context(&session)).unwrap()),
        ["user: one", "assistant: 1[]", "user: three"]
    );
    assert_eq!(block_on(sessions.entries(&session)).unwrap().len(), 7);
}

#[test]
fn what_has_no_outcome_is_found() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    let open = || {
        let open = block_on(sessions.unanswered(&session)).unwrap();
        open.iter()
            .map(|entry| entry.id.to_string())
            .collect::<Vec<_>>()
    };
    block_on(sessions.append(&session, user("one"))).unwrap();
    assert_eq!(open(), ["00000001"]);
    block_on(sessions.append(&session, calls(&["a"]))).unwrap();
    block_on(sessions.begin_call(&session, "a", chela_store::Durability::Disk)).unwrap();
    block_on(sessions.append(&session, user("also"))).unwrap();
    assert_eq!(open(), ["00000001", "00000004"]);
    block_on(sessions.append(&session, result("a", "x"))).unwrap();
    block_on(sessions.append(&session, assistant("done"))).unwrap();
    assert!(open().is_empty());
    block_on(sessions.append(&session, user("two"))).unwrap();
    block_on(sessions.append(
        &session,
        Body::TurnEnded {
            how: "failed".into(),
        },
    ))
    .unwrap();
    assert!(open().is_empty());
}

#[test]
fn a_child_inherits_what_is_short_enough() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let parent = fixture.session("agent:main:main");
    block_on(sessions.append_all(&parent, &[user("one"), assistant("1"), user("two")])).unwrap();
    block_on(sessions.undo(&parent)).unwrap();
    block_on(sessions.append(&parent, user("three"))).unwrap();
    let child = key("agent:main:subagent:x");
    let forked = block_on(sessions.fork(&parent, &child, 100_000)).unwrap();
    assert_eq!(forked.inherited, Inherited::Branch { entries: 3 });
    assert_eq!(
        block_on(sessions.context(&forked.session)).unwrap(),
        block_on(sessions.context(&parent)).unwrap()
    );
    let next = block_on(sessions.append(&forked.session, assistant("3"))).unwrap();
    assert_eq!(next.to_string(), "00000005");
    assert_eq!(block_on(sessions.branch(&parent)).unwrap().len(), 3);
    assert_eq!(
        block_on(sessions.parent(&forked.session)).unwrap(),
        Some(parent.id.clone())
    );

    block_on(sessions.append(&parent, user(&"x".repeat(10_000)))).unwrap();
    let forked = block_on(sessions.fork(&parent, &child, 2_000)).unwrap();
    assert!(matches!(
        forked.inherited,
        Inherited::Nothing { tokens: 2_500.. }
    ));
    assert!(forked.session.fresh);
}

#[test]
fn what_is_known_about_a_session_is_kept() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    let usage = Usage {
        input: 10,
        output: 5,
        cache_read: 7,
        ..Usage::default()
    };
    block_on(sessions.add_usage(&session, usage, 10)).unwrap();
    block_on(sessions.add_usage(&session, usage, 12)).unwrap();
    block_on(sessions.set(
        &session,
        Override::Thinking(Some(chela_config::model::ThinkingLevel::High)),
    ))
    .unwrap();
    let frozen = Frozen {
        sections: Vec::new(),
        stable: "You are".into(),
        tools: Vec::new(),
        model: "a/b".into(),
        compaction: None,
        made_at: 1,
    };
    assert_eq!(block_on(sessions.frozen(&session)).unwrap(), None);
    block_on(sessions.freeze(&session, &frozen)).unwrap();
    let meta = Meta {
        lead: 1,
        sender: Some(Sender {
            id: "42".into(),
            ..Sender::default()
        }),
        source: Source::Cron,
        ..Meta::default()
    };
    block_on(sessions.accept(&session, Message::user("hi"), meta.clone())).unwrap();

    let again = fixture.again();
    let info = block_on(again.info(&session)).unwrap();
    assert_eq!(
        (info.totals.input, info.totals.output, info.totals.context),
        (20, 10, 12)
    );
    assert_eq!(
        serde_json::to_value(&info).unwrap()["thinkingLevel"],
        "high"
    );
    assert_eq!(block_on(again.frozen(&session)).unwrap(), Some(frozen));
    let branch = block_on(again.branch(&session)).unwrap();
    assert!(matches!(&branch[0].body, Body::Message { meta: kept, .. } if *kept == meta));
    block_on(sessions.remove(&session)).unwrap();
    assert!(matches!(
        block_on(again.info(&session)),
        Err(super::SessionError::Gone)
    ));
    assert!(matches!(
        block_on(again.append(&session, user("x"))),
        Err(super::SessionError::Gone)
    ));
}
