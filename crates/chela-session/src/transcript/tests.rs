use super::super::tests_support::{Fixture, assistant, calls, key, lines, result, user};
use super::super::{Body, Frozen, Inherited, Meta, Override, Sender, Source};
use chela_model::{Message, Usage};

#[test]
fn undo_moves_and_redo_returns() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    assert!(sessions.undo(&session).unwrap().is_none());
    for body in [
        user("one"),
        assistant("1"),
        user("two"),
        calls(&["a"]),
        result("a", "x"),
        assistant("2"),
    ] {
        sessions.append(&session, body).unwrap();
    }
    let undone = sessions.undo(&session).unwrap().unwrap();
    assert_eq!((undone.message, undone.entries), (Message::user("two"), 4));
    assert_eq!(
        lines(&sessions.context(&session).unwrap()),
        ["user: one", "assistant: 1[]"]
    );
    sessions.undo(&session).unwrap().unwrap();
    assert!(sessions.context(&session).unwrap().is_empty());
    assert!(sessions.undo(&session).unwrap().is_none());
    sessions.redo(&session).unwrap().unwrap();
    sessions.redo(&session).unwrap().unwrap();
    assert_eq!(sessions.branch(&session).unwrap().len(), 6);
    assert!(sessions.redo(&session).unwrap().is_none());
    // Something else is said: the way back is gone, the entries are not.
    sessions.undo(&session).unwrap().unwrap();
    sessions.append(&session, user("three")).unwrap();
    assert!(sessions.redo(&session).unwrap().is_none());
    assert_eq!(
        lines(&sessions.context(&session).unwrap()),
        ["user: one", "assistant: 1[]", "user: three"]
    );
    assert_eq!(sessions.entries(&session).unwrap().len(), 7);
}

#[test]
fn what_has_no_outcome_is_found() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    let open = || {
        let open = sessions.unanswered(&session).unwrap();
        open.iter()
            .map(|entry| entry.id.to_string())
            .collect::<Vec<_>>()
    };
    sessions.append(&session, user("one")).unwrap();
    assert_eq!(open(), ["00000001"]);
    sessions.append(&session, calls(&["a"])).unwrap();
    sessions.begin_call(&session, "a").unwrap();
    sessions.append(&session, user("also")).unwrap();
    assert_eq!(open(), ["00000001", "00000004"]);
    sessions.append(&session, result("a", "x")).unwrap();
    sessions.append(&session, assistant("done")).unwrap();
    assert!(open().is_empty());
    sessions.append(&session, user("two")).unwrap();
    sessions
        .append(
            &session,
            Body::TurnEnded {
                how: "failed".into(),
            },
        )
        .unwrap();
    assert!(open().is_empty());
}

#[test]
fn a_child_inherits_what_is_short_enough() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let parent = fixture.session("agent:main:main");
    sessions
        .append_all(&parent, &[user("one"), assistant("1"), user("two")])
        .unwrap();
    sessions.undo(&parent).unwrap();
    sessions.append(&parent, user("three")).unwrap();
    let child = key("agent:main:subagent:x");
    let forked = sessions.fork(&parent, &child, 100_000).unwrap();
    assert_eq!(forked.inherited, Inherited::Branch { entries: 3 });
    assert_eq!(
        sessions.context(&forked.session).unwrap(),
        sessions.context(&parent).unwrap()
    );
    let next = sessions.append(&forked.session, assistant("3")).unwrap();
    assert_eq!(next.to_string(), "00000005");
    assert_eq!(sessions.branch(&parent).unwrap().len(), 3);
    assert_eq!(
        sessions.parent(&forked.session).unwrap(),
        Some(parent.id.clone())
    );

    sessions.append(&parent, user(&"x".repeat(10_000))).unwrap();
    let forked = sessions.fork(&parent, &child, 2_000).unwrap();
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
    sessions.add_usage(&session, usage, 10).unwrap();
    sessions.add_usage(&session, usage, 12).unwrap();
    sessions
        .set(
            &session,
            Override::Thinking(Some(chela_config::model::ThinkingLevel::High)),
        )
        .unwrap();
    let frozen = Frozen {
        sections: Vec::new(),
        stable: "You are".into(),
        tools: Vec::new(),
        model: "a/b".into(),
        compaction: None,
        made_at: 1,
    };
    assert_eq!(sessions.frozen(&session).unwrap(), None);
    sessions.freeze(&session, &frozen).unwrap();
    let meta = Meta {
        lead: 1,
        sender: Some(Sender {
            id: "42".into(),
            ..Sender::default()
        }),
        source: Source::Cron,
        ..Meta::default()
    };
    sessions
        .accept(&session, Message::user("hi"), meta.clone())
        .unwrap();

    let again = fixture.again();
    let info = again.info(&session).unwrap();
    assert_eq!(
        (info.totals.input, info.totals.output, info.totals.context),
        (20, 10, 12)
    );
    assert_eq!(
        serde_json::to_value(&info).unwrap()["thinkingLevel"],
        "high"
    );
    assert_eq!(again.frozen(&session).unwrap(), Some(frozen));
    let branch = again.branch(&session).unwrap();
    assert!(matches!(&branch[0].body, Body::Message { meta: kept, .. } if *kept == meta));
    sessions.remove(&session).unwrap();
    assert!(matches!(
        again.info(&session),
        Err(super::SessionError::Gone)
    ));
    assert!(matches!(
        again.append(&session, user("x")),
        Err(super::SessionError::Gone)
    ));
}
