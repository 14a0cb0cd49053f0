use chela_config::load_text;
use chela_core::{AgentId, Host, SessionKey, ThreadWord};

use super::{Inbound, Peer, route};

fn inbound(channel: &str, account: &str, peer: Peer, thread: &str) -> Inbound {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Inbound {
        agent: AgentId::normalize("main"),
        channel: given(channel),
        account: given(account),
        peer,
        thread: given(thread).map(|id| (ThreadWord::Thread, id)),
    }
}

#[test]
fn messages_find_their_session() {
    let direct = || Peer::Direct("42".into());
    let group = || Peer::Group("-7".into());
    let links = "identityLinks: {ann: ['telegram:42', 'discord:99']}";
    let table = [
        ("", "", "", Peer::Owner, "", "agent:main:main"),
        ("", "telegram", "", direct(), "", "agent:main:main"),
        (
            "",
            "telegram",
            "",
            group(),
            "",
            "agent:main:telegram:group:-7",
        ),
        (
            "",
            "slack",
            "",
            Peer::Channel("C1".into()),
            "",
            "agent:main:slack:channel:c1",
        ),
        (
            "",
            "matrix",
            "",
            Peer::Room("!a:b.org".into()),
            "",
            "agent:main:matrix:room:!a:b.org",
        ),
        (
            "",
            "telegram",
            "",
            group(),
            "9",
            "agent:main:telegram:group:-7:thread:9",
        ),
        ("", "telegram", "", direct(), "9", "agent:main:main"),
        (
            "mainKey: 'home'",
            "telegram",
            "",
            direct(),
            "",
            "agent:main:home",
        ),
        (
            "mainKey: ''",
            "telegram",
            "",
            direct(),
            "",
            "agent:main:main",
        ),
        ("scope: 'global'", "telegram", "", group(), "9", "global"),
        (
            "dmScope: 'per-peer'",
            "telegram",
            "",
            direct(),
            "",
            "agent:main:direct:42",
        ),
        (
            "dmScope: 'per-channel-peer'",
            "Telegram",
            "",
            direct(),
            "",
            "agent:main:telegram:direct:42",
        ),
        (
            "dmScope: 'per-account-channel-peer'",
            "telegram",
            "work",
            direct(),
            "",
            "agent:main:telegram:work:direct:42",
        ),
        (
            "dmScope: 'per-account-channel-peer'",
            "telegram",
            "",
            direct(),
            "",
            "agent:main:telegram:default:direct:42",
        ),
        (
            "dmScope: 'per-channel-peer'",
            "",
            "",
            direct(),
            "",
            "agent:main:direct:42",
        ),
        (
            "dmScope: 'per-channel-peer'",
            "telegram",
            "",
            Peer::Direct(" : ".into()),
            "",
            "agent:main:main",
        ),
        (
            "groupScope: 'main'",
            "telegram",
            "",
            group(),
            "9",
            "agent:main:main",
        ),
    ];
    for (config, channel, account, peer, thread, want) in table {
        let loaded = load_text(
            &Host::fixed("/home/me"),
            &format!("{{session: {{{config}}}}}"),
        );
        let key = route(&loaded, &inbound(channel, account, peer, thread));
        assert_eq!(key.to_string(), want, "{config}");
        assert_eq!(SessionKey::parse(want).as_ref(), Ok(&key), "{config}");
    }
    for scope in ["per-peer", "per-channel-peer", "per-account-channel-peer"] {
        let config = format!("{{session: {{dmScope: '{scope}', {links}}}}}");
        let loaded = load_text(&Host::fixed("/home/me"), &config);
        for (channel, id) in [("telegram", "42"), ("discord", "99")] {
            let key = route(&loaded, &inbound(channel, "", Peer::Direct(id.into()), ""));
            assert_eq!(key.to_string(), "agent:main:direct:ann", "{scope}");
        }
    }
}
