use std::process::{Command, Stdio};

use chela_model::ModelMessage;
use chela_store::{StoreError, WriteDurability, block_on};

use super::super::tests_support::{HOUR, SessionsFixture, assistant, key, user};
use super::super::{
    AppendBatch, DailyReset, EntryBody, EntryMeta, ModelSource, ResetReason, ResetRules,
    SessionOverride, Sessions, UsageOfCall,
};
use super::SessionError;

#[test]
fn a_key_has_one_session_until_it_starts_anew() {
    let fixture = SessionsFixture::new();
    let first = fixture.session("agent:main:main");
    assert!(first.fresh);
    assert_eq!(fixture.session("agent:main:main").id, first.id);
    assert_ne!(fixture.session("agent:main:other").id, first.id);
    block_on(fixture.sessions.append(&first, user("hi"))).unwrap();
    assert!(!fixture.session("agent:main:main").fresh);

    let keep = SessionOverride::Model(Some(("a/b".into(), ModelSource::User)));
    block_on(fixture.sessions.set(&first, keep)).unwrap();
    block_on(fixture.sessions.rename(&first, Some("Trip"))).unwrap();
    let next = block_on(fixture.sessions.reset(&first, ResetReason::Asked)).unwrap();
    assert!(next.fresh && next.id != first.id);
    assert_eq!(next.replaced, Some((first.id.clone(), ResetReason::Asked)));
    let info = block_on(fixture.sessions.info(&next)).unwrap();
    assert_eq!(info.settings.model.as_deref(), Some("a/b"));
    assert_eq!(info.label.as_deref(), Some("Trip"));
    // Resetting a session that is over changes nothing.
    let again = block_on(fixture.sessions.reset(&first, ResetReason::Asked)).unwrap();
    assert_eq!(again.id, next.id);
    let old = block_on(fixture.sessions.by_id(first.id.as_str()))
        .unwrap()
        .unwrap();
    assert_eq!(block_on(fixture.sessions.branch(&old)).unwrap().len(), 1);
    assert_eq!(
        block_on(fixture.sessions.info(&old))
            .unwrap()
            .ended_why
            .as_deref(),
        Some("asked")
    );
}

#[test]
fn a_fallback_model_does_not_outlive_its_session() {
    let fixture = SessionsFixture::new();
    let session = fixture.session("agent:main:main");
    let auto = SessionOverride::Model(Some(("a/b".into(), ModelSource::Auto)));
    block_on(fixture.sessions.set(&session, auto)).unwrap();
    let next = block_on(fixture.sessions.reset(&session, ResetReason::Asked)).unwrap();
    assert_eq!(
        block_on(fixture.sessions.info(&next))
            .unwrap()
            .settings
            .model,
        None
    );
}

#[test]
fn only_people_keep_a_session_fresh() {
    let fixture = SessionsFixture::new();
    let rules = ResetRules {
        idle_minutes: Some(60),
        ..ResetRules::default()
    };
    let main = key("agent:main:main");
    let first = block_on(fixture.sessions.current(&main, &rules)).unwrap();
    fixture.wait(HOUR / 2);
    block_on(fixture.sessions.append(&first, user("hi"))).unwrap();
    fixture.wait(HOUR / 2 + 1);
    let heartbeat = EntryMeta {
        source: super::super::MessageSource::Heartbeat,
        ..EntryMeta::default()
    };
    block_on(
        fixture
            .sessions
            .accept(&first, ModelMessage::user("beat"), heartbeat),
    )
    .unwrap();
    assert_eq!(
        block_on(fixture.sessions.current(&main, &rules))
            .unwrap()
            .id,
        first.id
    );
    fixture.wait(HOUR / 2);
    let second = block_on(fixture.sessions.current(&main, &rules)).unwrap();
    assert_eq!(second.replaced, Some((first.id, ResetReason::Idle)));
}

#[test]
fn a_new_day_starts_at_the_local_hour() {
    let fixture = SessionsFixture::new();
    let rules = ResetRules {
        daily: Some(DailyReset {
            at_hour: 4,
            utc_offset_minutes: 60,
        }),
        ..ResetRules::default()
    };
    // It is 23:13 local time; the hour strikes in four hours and 47 minutes.
    let main = key("agent:main:main");
    let first = block_on(fixture.sessions.current(&main, &rules)).unwrap();
    fixture.wait(4 * HOUR);
    assert_eq!(
        block_on(fixture.sessions.current(&main, &rules))
            .unwrap()
            .id,
        first.id
    );
    fixture.wait(HOUR);
    let second = block_on(fixture.sessions.current(&main, &rules)).unwrap();
    assert_eq!(second.replaced, Some((first.id, ResetReason::Daily)));
    fixture.wait(20 * HOUR);
    assert_eq!(
        block_on(fixture.sessions.current(&main, &rules))
            .unwrap()
            .id,
        second.id
    );
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let fixture = SessionsFixture::new();
    let path = fixture.sessions.path().to_owned();
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    let error = Sessions::open_file(&fixture.host, &path).unwrap_err();
    assert!(matches!(
        error,
        SessionError::File(StoreError::Newer { found: 99, .. })
    ));
    assert!(error.to_string().contains("newer Chela"), "{error}");
}

#[test]
fn damage_is_explained_and_what_is_left_is_saved() {
    let fixture = SessionsFixture::new();
    let session = fixture.session("agent:main:main");
    for _ in 0..200 {
        block_on(fixture.sessions.append(&session, user(&"x".repeat(500)))).unwrap();
    }
    let path = fixture.sessions.path().to_owned();
    let SessionsFixture {
        sessions,
        host,
        dir,
        ..
    } = fixture;
    drop(sessions);
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..half + 8192].fill(0xff);
    std::fs::write(&path, &bytes).unwrap();

    let sessions = Sessions::open_file(&host, &path).unwrap();
    let error = block_on(sessions.by_id(session.id.as_str()))
        .and_then(|found| block_on(sessions.branch(&found.unwrap())))
        .unwrap_err();
    assert!(
        matches!(error, SessionError::File(StoreError::Damaged { .. })),
        "{error:?}"
    );
    drop(sessions);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "nothing was changed");

    let saved = super::super::salvage(&host, &path, &dir.path().join("saved")).unwrap();
    assert!(
        saved.entries > 20 && saved.entries < 200,
        "{}",
        saved.entries
    );
    assert_eq!(saved.files.len(), 1);
    assert!(!saved.lost.is_empty());
    assert!(!path.exists() && saved.aside.unwrap().exists());
    let sessions = Sessions::open_file(&host, &path).unwrap();
    let file = std::fs::File::open(&saved.files[0]).unwrap();
    let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600, "what was private stays so");
    let back = block_on(sessions.import_jsonl(
        std::io::BufReader::new(file),
        None,
        crate::ImportOrigin::ThisHome,
    ))
    .unwrap();
    assert_eq!(back.session.id, session.id);
    assert_eq!(back.entries, saved.entries);
    assert!(
        !block_on(sessions.context(&back.session))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_file_that_is_no_database_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sessions.sqlite");
    let text = "no database ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let host = chela_core::Host::fixed(dir.path());
    let error = Sessions::open_file(&host, &path).unwrap_err();
    assert!(
        matches!(error, SessionError::File(StoreError::Damaged { .. })),
        "{error:?}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = SessionsFixture::new();
    let session = fixture.session("agent:main:main");
    block_on(fixture.sessions.append(&session, user("hi"))).unwrap();
    for file in std::fs::read_dir(fixture.dir.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
    }
}

#[test]
fn two_processes_write_one_conversation() {
    let fixture = SessionsFixture::new();
    let session = fixture.session("agent:main:main");
    let other = fixture.again();
    std::thread::scope(|scope| {
        for sessions in [&fixture.sessions, &other] {
            let session = &session;
            scope.spawn(move || {
                for n in 0..50 {
                    block_on(sessions.append(session, assistant(&n.to_string()))).unwrap();
                }
            });
        }
    });
    let branch = block_on(fixture.sessions.branch(&session)).unwrap();
    assert_eq!(branch.len(), 100);
    assert!(
        branch
            .windows(2)
            .all(|pair| pair[1].parent == Some(pair[0].id))
    );
}

/// Names the child process of [`what_was_accepted_survives_being_killed`].
const CHILD: &str = "CHELA_TEST_APPENDING_CHILD";

#[test]
fn what_was_accepted_survives_being_killed() {
    use std::io::{BufRead, BufReader, Write};
    if let Ok(path) = std::env::var(CHILD) {
        let path = std::path::PathBuf::from(path);
        let host = chela_core::Host::fixed(path.parent().unwrap());
        let sessions = Sessions::open_file(&host, &path).unwrap();
        let session =
            block_on(sessions.current(&key("agent:main:main"), &ResetRules::default())).unwrap();
        let mut out = std::io::stdout();
        loop {
            let id = block_on(sessions.append(&session, user(&"word ".repeat(50)))).unwrap();
            writeln!(out, "accepted {id}").unwrap();
            out.flush().unwrap();
        }
    }
    let fixture = SessionsFixture::new();
    let path = fixture.sessions.path().to_owned();
    let mut reported = Vec::new();
    for round in 0..8_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "store::tests::what_was_accepted_survives_being_killed",
            ])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 3 + round * 5;
        for line in lines {
            let Ok(line) = line else { break };
            if let Some(id) = line.rsplit("accepted ").next().filter(|id| id.len() == 8) {
                reported.push(id.to_owned());
                left -= 1;
            }
            if left == 0 {
                // The child is somewhere in its next write.
                child.kill().unwrap();
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();

        let sessions = fixture.again();
        let session = block_on(sessions.look_up(&key("agent:main:main")))
            .unwrap()
            .unwrap();
        let branch = block_on(sessions.branch(&session)).unwrap();
        let there: Vec<String> = branch.iter().map(|entry| entry.id.to_string()).collect();
        assert!(reported.iter().all(|id| there.contains(id)));
        assert!(
            branch
                .windows(2)
                .all(|pair| pair[1].parent == Some(pair[0].id))
        );
        assert_eq!(
            block_on(sessions.info(&session)).unwrap().entries as usize,
            branch.len()
        );
    }
    assert!(reported.len() >= 8 * 3);
}

#[test]
fn a_session_file_that_is_gone_is_missed() {
    let fixture = SessionsFixture::new();
    assert_eq!(fixture.sessions.loss(), None);
    let session = fixture.session("agent:main:main");
    block_on(fixture.sessions.append(&session, user("hi"))).unwrap();
    let path = fixture.sessions.path().to_owned();
    std::fs::remove_file(&path).unwrap();
    // Under an open chat: nothing is written into a file nobody will find.
    let error = block_on(fixture.sessions.append(&session, user("lost"))).unwrap_err();
    assert!(
        matches!(error, SessionError::File(StoreError::Replaced { .. })),
        "{error:?}"
    );
    let SessionsFixture {
        sessions,
        host,
        dir: _dir,
        ..
    } = fixture;
    drop(sessions);
    let sessions = Sessions::open_file(&host, &path).unwrap();
    let told = sessions.loss().unwrap().to_string();
    assert!(told.contains("sessions.sqlite is empty or gone"), "{told}");
    drop(sessions);
    let sessions = Sessions::open_file(&host, &path).unwrap();
    assert_eq!(sessions.loss(), None, "it is told once");
    drop(sessions);
    std::fs::write(&path, "").unwrap();
    assert!(Sessions::open_file(&host, &path).unwrap().loss().is_some());
}

#[test]
fn a_turn_waits_for_the_disk_twice() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let synced = || sessions.store.counts().synced;
    let session = fixture.session("agent:main:main");
    let frozen = super::super::FrozenPrefix {
        stable: "You are".into(),
        deferred: Vec::new(),
        tools: Vec::new(),
        sections: Vec::new(),
        model: "a/b".into(),
        compaction: None,
        made_at: 1,
    };
    block_on(sessions.freeze(&session, &frozen)).unwrap();
    assert_eq!(synced(), 0, "what can be made again need not be safe");
    block_on(sessions.accept(&session, ModelMessage::user("hi"), EntryMeta::default())).unwrap();
    assert_eq!(synced(), 1);
    let usage = chela_model::Usage::default();
    block_on(sessions.append(&session, assistant("hello"))).unwrap();
    block_on(sessions.add_usage(&session, usage, 7)).unwrap();
    assert_eq!(synced(), 1);
    let ended = EntryBody::TurnEnded { how: "done".into() };
    block_on(sessions.append(&session, ended)).unwrap();
    assert_eq!(synced(), 2);
    block_on(sessions.begin_call(&session, "a", chela_store::WriteDurability::Disk)).unwrap();
    assert_eq!(synced(), 3);
    // All of it at once, as safe as the caller wants it.
    let batch = AppendBatch {
        bodies: &[
            assistant("bye"),
            EntryBody::TurnEnded { how: "done".into() },
        ],
        usage: Some(UsageOfCall { usage, context: 9 }),
    };
    let commits = sessions.store.counts().commits;
    block_on(sessions.append_batch(&session, batch, WriteDurability::Process)).unwrap();
    assert_eq!(synced(), 3);
    assert_eq!(sessions.store.counts().commits, commits + 1);
    let info = block_on(sessions.info(&session)).unwrap();
    assert_eq!((info.totals.context, info.entries), (9, 6));
}

#[test]
fn somebody_who_reads_on_gets_what_is_new() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    let none = block_on(sessions.read_since(&session, None)).unwrap();
    assert_eq!((none.leaf, none.entries.len()), (None, 0));
    let one = block_on(sessions.append(&session, user("one"))).unwrap();
    let two = block_on(sessions.append(&session, assistant("two"))).unwrap();
    let since = block_on(sessions.read_since(&session, Some(one))).unwrap();
    assert_eq!(since.leaf, Some(two));
    assert_eq!(since.entries.len(), 1);
    assert_eq!(since.entries[0].parent, Some(one));
}

/// The daily reset must not end at once what somebody has just gone back to.
#[test]
fn what_is_resumed_is_not_yesterdays() {
    let fixture = SessionsFixture::new();
    let daily = ResetRules {
        daily: Some(DailyReset {
            at_hour: 4,
            utc_offset_minutes: 0,
        }),
        idle_minutes: None,
    };
    let current = || block_on(fixture.sessions.current(&key("agent:main:main"), &daily)).unwrap();
    let old = current();
    block_on(fixture.sessions.append(&old, user("plan the trip"))).unwrap();
    fixture.wait(48 * HOUR);
    let today = current();
    assert_ne!(today.id, old.id);
    let back = block_on(fixture.sessions.resume(&old)).unwrap();
    assert!(!back.fresh);
    fixture.wait(HOUR);
    assert_eq!(current().id, old.id);
    let ended = block_on(fixture.sessions.info(&today)).unwrap();
    assert_eq!(ended.ended_why.as_deref(), Some("resumed"));
    fixture.wait(48 * HOUR);
    assert_ne!(
        current().id,
        old.id,
        "the next morning ends it as any other"
    );
}
