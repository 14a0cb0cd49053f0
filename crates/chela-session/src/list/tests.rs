use chela_store::block_on;
use std::time::Duration;

use chela_core::SessionKind;

use super::super::tests_support::{Fixture, HOUR, key, user};
use super::super::{ResetWhy, Session};
use super::{Filter, Show};

#[test]
fn sessions_are_found_by_kind_age_and_name() {
    let fixture = Fixture::new();
    let sessions = &fixture.sessions;
    let say = |name: &str| -> Session {
        let session = fixture.session(name);
        block_on(sessions.append(&session, user("hi"))).unwrap();
        fixture.wait(HOUR);
        session
    };
    let main = say("agent:main:main");
    let group = say("agent:main:telegram:group:1");
    let cron = say("cron:daily:1");
    block_on(sessions.rename(&group, Some("Family chat"))).unwrap();
    let listed = |filter: Filter| -> Vec<String> {
        let found = block_on(sessions.list(&filter)).unwrap();
        found.iter().map(|info| info.key.to_string()).collect()
    };
    assert_eq!(
        listed(Filter::default()),
        [
            "cron:daily:1",
            "agent:main:telegram:group:1",
            "agent:main:main"
        ]
    );
    let kinds = vec![SessionKind::Main, SessionKind::Group];
    assert_eq!(
        listed(Filter {
            kinds,
            ..Filter::default()
        })
        .len(),
        2
    );
    let recent = Some(Duration::from_secs(3600));
    assert_eq!(
        listed(Filter {
            active_within: recent,
            ..Filter::default()
        }),
        ["cron:daily:1"]
    );
    let label = Some("FAMILY".to_owned());
    assert_eq!(
        listed(Filter {
            label,
            ..Filter::default()
        }),
        ["agent:main:telegram:group:1"]
    );
    assert_eq!(
        listed(Filter {
            limit: Some(1),
            ..Filter::default()
        })
        .len(),
        1
    );

    block_on(sessions.reset(&main, ResetWhy::Asked)).unwrap();
    block_on(sessions.archive(&group)).unwrap();
    block_on(sessions.remove(&cron)).unwrap();
    assert_eq!(listed(Filter::default()), ["agent:main:main"]);
    let show = Show::Everything;
    assert_eq!(
        listed(Filter {
            show,
            ..Filter::default()
        })
        .len(),
        3
    );
    assert!(
        block_on(sessions.look_up(&key("agent:main:telegram:group:1")))
            .unwrap()
            .is_none()
    );
}
