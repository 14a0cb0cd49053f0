use chela_config::model::{Elevated, ElevatedLevel, IdText};
use chela_guard::flow::SessionTaint;

use super::{ElevationAsk, ElevationRequester, elevation};
use crate::policy::Sender;

fn allowing(channel: &str, ids: &[&str]) -> Elevated {
    Elevated {
        enabled: Some(true),
        allow_from: [(
            channel.to_owned(),
            ids.iter().map(|id| IdText((*id).to_owned())).collect(),
        )]
        .into(),
    }
}

fn sender(channel: &str, id: &str) -> Sender {
    Sender {
        channel: Some(channel.to_owned()),
        id: Some(id.to_owned()),
        ..Sender::default()
    }
}

fn ask<'a>(global: &'a Elevated, who: ElevationRequester<'a>) -> ElevationAsk<'a> {
    ElevationAsk {
        global,
        own: None,
        default: ElevatedLevel::On,
        session: None,
        who,
        taint: SessionTaint::Clean,
    }
}

#[test]
fn w24_a_default_alone_elevates_nobody() {
    let off = Elevated::default();
    let me = sender("telegram", "42");
    for default in [ElevatedLevel::On, ElevatedLevel::Ask, ElevatedLevel::Full] {
        for who in [
            ElevationRequester::Terminal,
            ElevationRequester::Sender(&me),
            ElevationRequester::Nobody,
        ] {
            let ask = ElevationAsk {
                default,
                ..ask(&off, who)
            };
            assert!(!elevation(&ask).is_allowed(), "{default:?} {who:?}");
        }
    }
}

#[test]
fn w24_the_sender_must_be_listed_for_the_channel() {
    let global = allowing("telegram", &["42"]);
    for (who, may) in [
        (sender("telegram", "42"), true),
        (sender("Telegram", "42"), true),
        (sender("telegram", "43"), false),
        (sender("discord", "42"), false),
        (
            Sender {
                username: Some("42".to_owned()),
                name: Some("42".to_owned()),
                channel: Some("telegram".to_owned()),
                ..Sender::default()
            },
            false,
        ),
        (
            Sender {
                id: Some("42".to_owned()),
                ..Sender::default()
            },
            false,
        ),
    ] {
        let level = elevation(&ask(&global, ElevationRequester::Sender(&who)));
        assert_eq!(level.is_allowed(), may, "{who:?} {level:?}");
    }
    let everyone = allowing("telegram", &["*"]);
    let me = sender("telegram", "42");
    assert!(!elevation(&ask(&everyone, ElevationRequester::Sender(&me))).is_allowed());
    assert!(!elevation(&ask(&global, ElevationRequester::Nobody)).is_allowed());
    assert!(elevation(&ask(&global, ElevationRequester::Terminal)).is_allowed());
}

#[test]
fn w24_never_in_a_tainted_turn() {
    let global = allowing("telegram", &["42"]);
    let me = sender("telegram", "42");
    for session in [None, Some(ElevatedLevel::Full)] {
        let tainted = ElevationAsk {
            taint: SessionTaint::Tainted,
            session,
            ..ask(&global, ElevationRequester::Sender(&me))
        };
        let denied = elevation(&tainted);
        assert_eq!(denied.level, ElevatedLevel::Off);
        assert!(denied.why_not.unwrap().contains("untrusted"));
    }
}

#[test]
fn an_agent_can_only_restrict_and_the_session_decides_the_level() {
    let global = allowing("telegram", &["42", "43"]);
    let (me, other) = (sender("telegram", "42"), sender("telegram", "43"));
    let narrower = allowing("telegram", &["42", "99"]);
    let own = |who| ElevationAsk {
        own: Some(&narrower),
        ..ask(&global, who)
    };
    assert!(elevation(&own(ElevationRequester::Sender(&me))).is_allowed());
    assert!(!elevation(&own(ElevationRequester::Sender(&other))).is_allowed());
    let stranger = sender("telegram", "99");
    assert!(!elevation(&own(ElevationRequester::Sender(&stranger))).is_allowed());
    let off = Elevated {
        enabled: Some(false),
        ..Elevated::default()
    };
    let switched_off = ElevationAsk {
        own: Some(&off),
        ..ask(&global, ElevationRequester::Sender(&me))
    };
    assert!(!elevation(&switched_off).is_allowed());
    for (session, level) in [
        (Some(ElevatedLevel::Off), ElevatedLevel::Off),
        (Some(ElevatedLevel::Full), ElevatedLevel::Full),
        (None, ElevatedLevel::On),
    ] {
        let chosen = ElevationAsk {
            session,
            ..ask(&global, ElevationRequester::Sender(&me))
        };
        assert_eq!(elevation(&chosen).level, level);
    }
}
