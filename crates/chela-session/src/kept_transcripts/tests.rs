use std::sync::Arc;

use chela_store::block_on;
use proptest::prelude::*;

use crate::tests_support::{SessionsFixture, assistant, user};
use crate::{Sessions, TranscriptEntry};

/// What whoever has nothing kept reads.
fn afresh(fixture: &SessionsFixture, session: &crate::OpenSession) -> Vec<TranscriptEntry> {
    let other = Sessions::on(
        Arc::clone(&fixture.sessions.store),
        fixture.sessions.path(),
        fixture.sessions.host(),
    );
    block_on(other.branch(session)).unwrap().to_vec()
}

#[test]
fn what_is_new_is_added_to_what_is_kept() {
    let fixture = SessionsFixture::new();
    let (sessions, main) = (&fixture.sessions, fixture.session("agent:main:main"));
    block_on(sessions.append(&main, user("one"))).unwrap();
    let first = block_on(sessions.branch(&main)).unwrap();
    let before = sessions.store.counts().reads;
    // Read by somebody who holds it: their look does not change under them.
    block_on(sessions.append(&main, assistant("two"))).unwrap();
    let second = block_on(sessions.branch(&main)).unwrap();
    assert_eq!((first.len(), second.len()), (1, 2));
    assert_eq!(sessions.store.counts().reads, before + 1);
    assert_eq!(*second, afresh(&fixture, &main));
}

#[test]
fn a_session_that_is_gone_is_not_answered_from_what_is_kept() {
    let fixture = SessionsFixture::new();
    let (sessions, main) = (&fixture.sessions, fixture.session("agent:main:main"));
    block_on(sessions.append(&main, user("one"))).unwrap();
    block_on(sessions.branch(&main)).unwrap();
    block_on(sessions.remove(&main)).unwrap();
    assert!(block_on(sessions.branch(&main)).is_err());
}

#[test]
fn another_session_of_the_same_id_is_read_anew() {
    let fixture = SessionsFixture::new();
    let (sessions, main) = (&fixture.sessions, fixture.session("agent:main:main"));
    block_on(sessions.append(&main, user("one"))).unwrap();
    let mut lines = Vec::new();
    block_on(sessions.export_jsonl(&main, &mut lines)).unwrap();
    let before = block_on(sessions.branch(&main)).unwrap();
    let other = Sessions::on(
        Arc::clone(&sessions.store),
        sessions.path(),
        sessions.host(),
    );
    block_on(other.remove(&main)).unwrap();
    let changed = String::from_utf8(lines).unwrap().replace("one", "two");
    let home = crate::ImportOrigin::ThisHome;
    block_on(other.import_jsonl(changed.as_bytes(), None, home)).unwrap();
    let after = block_on(sessions.branch(&main)).unwrap();
    assert_ne!(before.incarnation(), after.incarnation());
    assert_eq!(*after, afresh(&fixture, &main));
    assert!(format!("{after:?}").contains("two"), "{after:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Two processes write and take back in any order: each reads what is there.
    #[test]
    fn whoever_reads_reads_what_is_there(steps in prop::collection::vec((any::<bool>(), 0..4_u8), 1..30)) {
        let fixture = SessionsFixture::new();
        let main = fixture.session("agent:main:main");
        let other = Sessions::on(
            Arc::clone(&fixture.sessions.store),
            fixture.sessions.path(),
            fixture.sessions.host(),
        );
        for (mine, what) in steps {
            let sessions = if mine { &fixture.sessions } else { &other };
            match what {
                0 => drop(block_on(sessions.append(&main, user("said"))).unwrap()),
                1 => drop(block_on(sessions.append(&main, assistant("answered"))).unwrap()),
                2 => drop(block_on(sessions.undo(&main)).unwrap()),
                _ => {}
            }
            prop_assert_eq!(&*block_on(sessions.branch(&main)).unwrap(), &afresh(&fixture, &main));
        }
    }
}
