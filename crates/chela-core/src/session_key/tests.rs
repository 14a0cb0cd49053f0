use proptest::prelude::*;

use super::{ChatType, SessionForm, SessionKey, SessionKeyError, SessionKind};
use crate::Audience;

/// Every documented form, with its kind, chat type and audience.
const FORMS: &[(&str, SessionKind, ChatType, Audience)] = {
    use Audience::{Private, Shared};
    use ChatType::{Direct, Group, Room};
    &[
        ("agent:main:main", SessionKind::Main, Direct, Private),
        ("global", SessionKind::Main, Direct, Private),
        ("agent:main:direct:42", SessionKind::Main, Direct, Private),
        (
            "agent:main:telegram:direct:42",
            SessionKind::Main,
            Direct,
            Private,
        ),
        (
            "agent:main:telegram:dm:42",
            SessionKind::Main,
            Direct,
            Private,
        ),
        (
            "agent:main:whatsapp:work:direct:+15550001",
            SessionKind::Main,
            Direct,
            Private,
        ),
        (
            "agent:main:whatsapp:group:123@g.us",
            SessionKind::Group,
            Group,
            Shared,
        ),
        (
            "agent:main:matrix:room:!abc:example.org",
            SessionKind::Group,
            Room,
            Shared,
        ),
        (
            "agent:main:discord:channel:99",
            SessionKind::Group,
            Room,
            Shared,
        ),
        (
            "agent:main:slack:channel:C1:thread:17.2",
            SessionKind::Group,
            Room,
            Shared,
        ),
        (
            "agent:main:telegram:group:-100:topic:7",
            SessionKind::Group,
            Group,
            Shared,
        ),
        (
            "agent:main:main:thread:9",
            SessionKind::Main,
            Direct,
            Private,
        ),
        ("cron:daily", SessionKind::Cron, Direct, Private),
        ("cron:daily:1700000000", SessionKind::Cron, Direct, Private),
        ("agent:main:cron:daily", SessionKind::Cron, Direct, Private),
        ("hook:8f1c", SessionKind::Hook, Direct, Shared),
        (
            "agent:main:subagent:u1",
            SessionKind::Other,
            Direct,
            Private,
        ),
        (
            "agent:main:subagent:u1:subagent:u2",
            SessionKind::Other,
            Direct,
            Private,
        ),
        (
            "agent:main:main:heartbeat",
            SessionKind::Main,
            Direct,
            Private,
        ),
        ("acp-bridge:77", SessionKind::Other, Direct, Private),
        ("agent:main:acp:77", SessionKind::Other, Direct, Private),
        (
            "agent:*:explicit:model-run-5",
            SessionKind::Other,
            Direct,
            Private,
        ),
        (
            "agent:main:discord:slash:88",
            SessionKind::Other,
            Direct,
            Private,
        ),
        ("telegram:slash:88", SessionKind::Other, Direct, Private),
        ("agent:main:node:phone", SessionKind::Node, Direct, Private),
        (
            "agent:main:some:thing:else",
            SessionKind::Other,
            Direct,
            Shared,
        ),
    ]
};

#[test]
fn every_documented_form_is_read_and_printed() {
    for (text, kind, chat, audience) in FORMS {
        let key = SessionKey::parse(text).unwrap();
        assert_eq!(key.to_string(), *text);
        assert_eq!(
            (key.kind(), key.chat_type(), key.audience()),
            (*kind, *chat, *audience),
            "{text}"
        );
    }
}

#[test]
fn parts_are_where_they_belong() {
    let key = SessionKey::parse("agent:home:matrix:acct:group:!r:ex.org:thread:$e").unwrap();
    assert_eq!(key.agent.as_deref(), Some("home"));
    assert_eq!(key.channel(), Some("matrix"));
    let SessionForm::Chat { account, peer, .. } = &key.form else {
        panic!("{key:?}")
    };
    assert_eq!(
        (account.as_deref(), peer.as_str()),
        (Some("acct"), "!r:ex.org")
    );
    assert_eq!(key.thread.as_ref().unwrap().id, "$e");

    let nested = SessionKey::parse("agent:main:telegram:group:5:subagent:a:subagent:b").unwrap();
    assert_eq!(nested.subagent_depth(), 2);
    assert_eq!(nested.audience(), Audience::Shared, "asked in a group");
    assert!(nested.is_reserved());
    assert!(
        SessionKey::parse("agent:main:incognito-9")
            .unwrap()
            .is_incognito()
    );
}

#[test]
fn what_is_no_key_is_refused_with_a_reason() {
    assert_eq!(SessionKey::parse(""), Err(SessionKeyError::Empty));
    assert!(matches!(
        SessionKey::parse("agent:main"),
        Err(SessionKeyError::NothingAfterAgent(_))
    ));
    for bad in [
        "agent::main",
        "agent:main:",
        ":",
        "a: :b",
        "agent:main:x\ny",
    ] {
        assert!(
            matches!(
                SessionKey::parse(bad),
                Err(SessionKeyError::BlankOrControl(_))
            ),
            "{bad:?}"
        );
    }
}

proptest! {
    #[test]
    fn printing_gives_back_what_was_parsed(text in "\\PC{0,60}") {
        if let Ok(key) = SessionKey::parse(&text) {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn made_of_known_words_it_still_round_trips(
        words in prop::collection::vec(prop::sample::select(vec![
            "agent", "main", "direct", "dm", "group", "channel", "room", "thread", "topic", "cron",
            "hook", "subagent", "acp", "slash", "telegram", "heartbeat", "node", "global", "x",
        ]), 1..9)
    ) {
        let text = words.join(":");
        if let Ok(key) = SessionKey::parse(&text) {
            prop_assert_eq!(key.to_string(), text);
            prop_assert_eq!(SessionKey::parse(&key.to_string()).unwrap(), key);
        }
    }
}
