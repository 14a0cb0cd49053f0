use super::super::tests_support::{SessionsFixture, assistant, calls, key, lines, result, user};
use super::super::{
    EntryBody, EntryMeta, FrozenPrefix, InheritedContext, MessageSender, MessageSource,
    SessionOverride,
};
use chela_model::{ModelMessage, Usage};
use chela_store::block_on;

#[test]
fn undo_moves_and_deletes_nothing() {
    let fixture = SessionsFixture::new();
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
    assert_eq!(
        (undone.message, undone.entries),
        (ModelMessage::user("two"), 4)
    );
    assert_eq!(
        lines(&block_on(sessions.context(&session)).unwrap()),
        ["user: one", "assistant: 1[]"]
    );
    block_on(sessions.undo(&session)).unwrap().unwrap();
    assert!(block_on(sessions.context(&session)).unwrap().is_empty());
    assert!(block_on(sessions.undo(&session)).unwrap().is_none());
    // Something else is said: what was taken back is still on record.
    block_on(sessions.append(&session, user("three"))).unwrap();
    assert_eq!(
        lines(&block_on(sessions.context(&session)).unwrap()),
        ["user: three"]
    );
    assert_eq!(block_on(sessions.entries(&session)).unwrap().len(), 7);
}

#[test]
fn a_child_inherits_what_is_short_enough() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let parent = fixture.session("agent:main:main");
    block_on(sessions.append_all(&parent, &[user("one"), assistant("1"), user("two")])).unwrap();
    block_on(sessions.undo(&parent)).unwrap();
    block_on(sessions.append(&parent, user("three"))).unwrap();
    let child = key("agent:main:subagent:x");
    let forked = block_on(sessions.fork(&parent, &child, 100_000)).unwrap();
    assert_eq!(forked.inherited, InheritedContext::Branch { entries: 3 });
    assert_eq!(
        block_on(sessions.context(&forked.session)).unwrap(),
        block_on(sessions.context(&parent)).unwrap()
    );
    let next = block_on(sessions.append(&forked.session, assistant("3"))).unwrap();
    assert_eq!(next.to_string(), "00000005");
    assert_eq!(block_on(sessions.branch(&parent)).unwrap().len(), 3);
    assert_eq!(
        block_on(sessions.info(&forked.session)).unwrap().parent,
        Some(parent.id.clone())
    );

    block_on(sessions.append(&parent, user(&"x".repeat(10_000)))).unwrap();
    let forked = block_on(sessions.fork(&parent, &child, 2_000)).unwrap();
    assert!(matches!(
        forked.inherited,
        InheritedContext::Nothing { tokens: 2_500.. }
    ));
    assert!(forked.session.fresh);
}

#[test]
fn what_is_known_about_a_session_is_kept() {
    let fixture = SessionsFixture::new();
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
        SessionOverride::Thinking(Some(chela_config::model::ThinkingLevel::High)),
    ))
    .unwrap();
    let frozen = FrozenPrefix {
        sections: Vec::new(),
        stable: "You are".into(),
        deferred: Vec::new(),
        tools: Vec::new(),
        model: "a/b".into(),
        compaction: None,
        made_at: 1,
    };
    assert_eq!(block_on(sessions.frozen(&session)).unwrap(), None);
    block_on(sessions.freeze(&session, &frozen)).unwrap();
    let meta = EntryMeta {
        lead: 1,
        sender: Some(MessageSender {
            id: "42".into(),
            ..MessageSender::default()
        }),
        source: MessageSource::Cron,
        ..EntryMeta::default()
    };
    block_on(sessions.accept(&session, ModelMessage::user("hi"), meta.clone())).unwrap();

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
    assert!(matches!(&branch[0].body, EntryBody::Message { meta: kept, .. } if *kept == meta));
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
