use chela_config::load_text;
use chela_core::Host;
use chela_store::block_on;

use super::super::tests_support::{HOUR, SessionsFixture, user};
use super::super::{ListScope, ResetReason, SessionFilter, SessionOverride};
use super::{CleanupReason, MaintenanceRules};

fn rules(config: &str) -> MaintenanceRules {
    let config = format!("{{session: {{maintenance: {{{config}}}}}}}");
    MaintenanceRules::of(&load_text(&Host::fixed("/home/me"), &config))
}

#[test]
fn the_config_says_how_long() {
    let day = 24 * HOUR;
    let default = rules("");
    assert_eq!(default.prune_after_ms, Some(30 * day));
    assert_eq!(default.max_entries, 500);
    assert_eq!(
        default.max_bytes,
        Some(10_000_000_000_u64.max(default.max_bytes.unwrap()))
    );
    assert_eq!(
        default.high_water_bytes,
        default.max_bytes.map(|bytes| bytes / 10 * 8)
    );
    assert_eq!(default.archive_retention_ms, None);
    let set = rules(
        "pruneAfter: 2, maxDiskBytes: false, resetArchiveRetention: '1d', preserveRecent: '3h'",
    );
    assert_eq!(set.prune_after_ms, Some(2 * day));
    assert_eq!(set.max_bytes, None);
    assert_eq!(set.archive_retention_ms, Some(day));
    assert_eq!(set.preserve_recent_ms, Some(3 * HOUR));
}

#[test]
fn old_sessions_go_to_an_archive_first() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let say = |name: &str| {
        let session = fixture.session(name);
        block_on(sessions.append(&session, user("hi"))).unwrap();
        session
    };
    let old = say("cron:a:1");
    let pinned = say("cron:b:1");
    block_on(sessions.set(&pinned, SessionOverride::Pinned(true))).unwrap();
    let chat = say("agent:main:telegram:group:1");
    let ended = say("agent:main:main");
    block_on(sessions.reset(&ended, ResetReason::Asked)).unwrap();
    fixture.wait(40 * 24 * HOUR);
    let new = say("cron:c:1");

    let rules = rules("");
    let plan = block_on(sessions.plan_cleanup(&rules)).unwrap();
    let mut doomed: Vec<&str> = plan
        .sessions
        .iter()
        .map(|doomed| doomed.key.as_str())
        .collect();
    doomed.sort_unstable();
    assert_eq!(doomed, ["agent:main:main", "cron:a:1"]);
    assert!(
        plan.sessions
            .iter()
            .all(|doomed| doomed.why == CleanupReason::Old)
    );
    let count = || {
        block_on(sessions.list(&SessionFilter {
            show: ListScope::Everything,
            ..SessionFilter::default()
        }))
        .unwrap()
        .len()
    };
    assert_eq!(count(), 6, "planning removes nothing");

    let cleaned = block_on(sessions.cleanup(&plan)).unwrap();
    assert_eq!((cleaned.sessions, cleaned.archives_written.len()), (2, 2));
    assert_eq!(count(), 4);
    for kept in [&pinned, &chat, &new] {
        assert!(
            block_on(sessions.by_id(kept.id.as_str()))
                .unwrap()
                .is_some()
        );
    }
    let file =
        std::fs::File::open(sessions.archive_dir().join(format!("{}.jsonl", old.id))).unwrap();
    let back = block_on(sessions.import_jsonl(
        std::io::BufReader::new(file),
        None,
        crate::ImportOrigin::ThisHome,
    ))
    .unwrap();
    assert_eq!(back.session.id, old.id);
    assert_eq!(block_on(sessions.context(&back.session)).unwrap().len(), 1);
}

#[test]
fn too_many_and_too_large_lose_the_oldest() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    for n in 0..6 {
        let session = fixture.session(&format!("cron:job:{n}"));
        block_on(sessions.append(&session, user(&"x".repeat(20_000)))).unwrap();
        fixture.wait(2 * HOUR);
    }
    let plan = block_on(sessions.plan_cleanup(&rules("maxEntries: 4"))).unwrap();
    let keys: Vec<&str> = plan
        .sessions
        .iter()
        .map(|doomed| doomed.key.as_str())
        .collect();
    assert_eq!(keys, ["cron:job:0", "cron:job:1"]);
    let size = block_on(sessions.store.stored_bytes()).unwrap();
    let tight = rules(&format!(
        "maxDiskBytes: {}, highWaterBytes: {}",
        size - 1,
        size - 30_000
    ));
    let plan = block_on(sessions.plan_cleanup(&tight)).unwrap();
    let keys: Vec<&str> = plan
        .sessions
        .iter()
        .map(|doomed| doomed.key.as_str())
        .collect();
    assert_eq!(keys, ["cron:job:0", "cron:job:1"]);
    assert!(
        plan.sessions
            .iter()
            .all(|doomed| doomed.why == CleanupReason::TooLarge)
    );
    assert!(plan.bytes_after < plan.bytes_before);
}
