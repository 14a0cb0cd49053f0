use chela_store::block_on;
use std::time::Duration;

use chela_core::SessionKind;

use super::super::tests_support::{HOUR, SessionsFixture, key, user};
use super::super::{OpenSession, ResetReason};
use super::{ListScope, SessionFilter};

#[test]
fn sessions_are_found_by_kind_age_and_name() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let say = |name: &str| -> OpenSession {
        let session = fixture.session(name);
        block_on(sessions.append(&session, user("hi"))).unwrap();
        fixture.wait(HOUR);
        session
    };
    let main = say("agent:main:main");
    let group = say("agent:main:telegram:group:1");
    let cron = say("cron:daily:1");
    block_on(sessions.rename(&group, Some("Family chat"))).unwrap();
    let listed = |filter: SessionFilter| -> Vec<String> {
        let found = block_on(sessions.list(&filter)).unwrap();
        found.iter().map(|info| info.key.to_string()).collect()
    };
    assert_eq!(
        listed(SessionFilter::default()),
        [
            "cron:daily:1",
            "agent:main:telegram:group:1",
            "agent:main:main"
        ]
    );
    let kinds = vec![SessionKind::Main, SessionKind::Group];
    assert_eq!(
        listed(SessionFilter {
            kinds,
            ..SessionFilter::default()
        })
        .len(),
        2
    );
    let recent = Some(Duration::from_secs(3600));
    assert_eq!(
        listed(SessionFilter {
            active_within: recent,
            ..SessionFilter::default()
        }),
        ["cron:daily:1"]
    );
    let label = Some("FAMILY".to_owned());
    assert_eq!(
        listed(SessionFilter {
            label,
            ..SessionFilter::default()
        }),
        ["agent:main:telegram:group:1"]
    );
    assert_eq!(
        listed(SessionFilter {
            limit: Some(1),
            ..SessionFilter::default()
        })
        .len(),
        1
    );

    block_on(sessions.reset(&main, ResetReason::Asked)).unwrap();
    block_on(sessions.archive(&group)).unwrap();
    block_on(sessions.remove(&cron)).unwrap();
    assert_eq!(listed(SessionFilter::default()), ["agent:main:main"]);
    let show = ListScope::Everything;
    assert_eq!(
        listed(SessionFilter {
            show,
            ..SessionFilter::default()
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
