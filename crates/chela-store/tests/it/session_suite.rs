//! What a store of sessions has to do.

use chela_store::{
    BranchInherited, CurrentSession, EntryBatch, FileSoundness, ImportedEntry, LeafMove, NewEntry,
    SessionChange, SessionChanged, SessionFork, SessionForked, SessionImport, SessionImported,
    SessionQuery, SessionRecord, SessionResume, SessionSpan, SessionStart, SessionStarted,
    SessionStore, UsageSums, WriteDurability, block_on,
};

use crate::{SESSION_STORES, with_each};

const KEY: &str = "agent:main:main";

pub fn start_of(id: &str, key: &str, at: u64) -> SessionStart {
    SessionStart {
        id: id.to_owned(),
        key: key.to_owned(),
        at,
        settings: "{}".to_owned(),
        label: None,
        display_name: None,
        parent: None,
        ends: None,
    }
}

pub fn started(store: &dyn SessionStore, id: &str, key: &str) -> SessionRecord {
    match block_on(store.start(start_of(id, key, 10))).unwrap() {
        SessionStarted::Started(record) => record,
        other => panic!("{other:?}"),
    }
}

pub fn entry(kind: &str, body: &str) -> NewEntry {
    NewEntry {
        kind: kind.to_owned(),
        body: body.to_owned(),
    }
}

pub fn said(text: &str) -> NewEntry {
    let text = serde_json_text(text);
    entry(
        "message",
        &format!(r#"{{"message":{{"role":"user","content":[{{"type":"text","text":{text}}}]}}}}"#),
    )
}

fn serde_json_text(text: &str) -> String {
    format!("{text:?}")
}

pub fn append(store: &dyn SessionStore, id: &str, entries: Vec<NewEntry>) -> Option<Vec<u32>> {
    let batch = EntryBatch {
        entries,
        at: 20,
        usage: None,
    };
    block_on(store.append(id, batch, WriteDurability::Process)).unwrap()
}

fn by_id(store: &dyn SessionStore, id: &str) -> SessionRecord {
    block_on(store.by_id(id)).unwrap().unwrap()
}

fn ends(record: &SessionRecord) -> Option<CurrentSession> {
    Some(CurrentSession {
        id: record.id.clone(),
        version: record.version,
        why: "asked".to_owned(),
    })
}

#[test]
fn a_key_stands_for_one_session() {
    with_each(&SESSION_STORES, |store| {
        assert_eq!(block_on(store.current(KEY)).unwrap(), None);
        let first = started(store, "s1", KEY);
        assert_eq!((first.leaf, first.started, first.version), (0, 10, 0));
        assert_eq!(block_on(store.current(KEY)).unwrap(), Some(first.clone()));
        // Somebody who does not know of it starts nothing.
        let second = start_of("s2", KEY, 11);
        let overtaken = SessionStarted::Overtaken(Some(first.clone()));
        assert_eq!(block_on(store.start(second.clone())).unwrap(), overtaken);
        // Nor somebody who knows it was before.
        append(store, "s1", vec![said("hi")]);
        let second = SessionStart {
            ends: ends(&first),
            label: Some("Trip".to_owned()),
            ..second
        };
        let now = by_id(store, "s1");
        let overtaken = SessionStarted::Overtaken(Some(now.clone()));
        assert_eq!(block_on(store.start(second.clone())).unwrap(), overtaken);
        let second = SessionStart {
            ends: ends(&now),
            ..second
        };
        let begun = block_on(store.start(second.clone())).unwrap();
        assert!(matches!(begun, SessionStarted::Started(record) if record.id == "s2"));
        let old = by_id(store, "s1");
        assert_eq!(old.ended, Some(11));
        assert_eq!(old.ended_why.as_deref(), Some("asked"));
        let current = block_on(store.current(KEY)).unwrap().unwrap();
        assert_eq!(
            (current.id.as_str(), current.label.as_deref()),
            ("s2", Some("Trip"))
        );
        // An id is given once.
        let other = start_of("s2", "agent:main:other", 12);
        assert_eq!(
            block_on(store.start(other)).unwrap(),
            SessionStarted::IdTaken
        );
        assert_eq!(block_on(store.current("agent:main:other")).unwrap(), None);
    });
}

#[test]
fn a_session_that_ended_goes_on_and_the_one_in_its_place_ends() {
    with_each(&SESSION_STORES, |store| {
        let first = started(store, "s1", KEY);
        append(
            store,
            "s1",
            vec![said("the first"), entry("note", "{}"), said("the last")],
        );
        let second = SessionStart {
            ends: ends(&by_id(store, "s1")),
            ..start_of("s2", KEY, 30)
        };
        block_on(store.start(second)).unwrap();
        let resume = |id: &str| SessionResume {
            id: id.to_owned(),
            at: 40,
            ends_why: "resumed".to_owned(),
        };
        let back = block_on(store.resume(resume("s1"))).unwrap().unwrap();
        assert_eq!(
            (back.ended, back.resumed, back.interacted),
            (None, Some(40), 40)
        );
        assert_eq!(back.started, first.started, "it began when it began");
        assert_eq!(block_on(store.current(KEY)).unwrap(), Some(back));
        let left = by_id(store, "s2");
        assert_eq!(
            (left.ended, left.ended_why.as_deref()),
            (Some(40), Some("resumed"))
        );
        // One that was put away comes back, too; one that goes on stays.
        block_on(store.archive("s1", 50)).unwrap();
        let back = block_on(store.resume(resume("s1"))).unwrap().unwrap();
        assert_eq!((back.archived, back.ended), (None, None));
        block_on(store.resume(resume("s1"))).unwrap().unwrap();
        assert_eq!(block_on(store.resume(resume("nobody"))).unwrap(), None);
        let said = block_on(store.said_ends("s1")).unwrap().unwrap();
        assert!(said.first.unwrap().body.contains("the first"));
        assert!(said.last.unwrap().body.contains("the last"));
        let nothing = block_on(store.said_ends("s2")).unwrap().unwrap();
        assert_eq!((nothing.first, nothing.last), (None, None));
    });
}

#[test]
fn entries_are_appended_together_or_not_at_all() {
    with_each(&SESSION_STORES, |store| {
        assert_eq!(append(store, "gone", vec![said("x")]), None);
        started(store, "s1", KEY);
        let batch = EntryBatch {
            entries: vec![
                said("one"),
                entry(
                    "message",
                    r#"{"message":{"role":"assistant","content":[]}}"#,
                ),
                entry("compaction", "{}"),
            ],
            at: 33,
            usage: Some(UsageSums {
                input: 5,
                output: 4,
                cache_read: 3,
                cache_write: 2,
                context: 9,
            }),
        };
        let bytes: usize = batch.entries.iter().map(|entry| entry.body.len()).sum();
        let numbers = block_on(store.append("s1", batch, WriteDurability::Disk)).unwrap();
        assert_eq!(numbers, Some(vec![1, 2, 3]));
        let record = by_id(store, "s1");
        assert_eq!((record.leaf, record.entries, record.compactions), (3, 3, 1));
        assert_eq!((record.updated, record.interacted), (33, 33));
        assert_eq!(record.bytes, bytes as u64);
        assert_eq!((record.usage.input, record.usage.context), (5, 9));
        let branch = block_on(store.branch("s1")).unwrap().unwrap();
        let parents: Vec<u32> = branch.iter().map(|entry| entry.parent).collect();
        assert_eq!(parents, [0, 1, 2]);
        assert_eq!(branch[0].source.as_deref(), Some("person"));
        assert_eq!(branch[0].at, 33);
        // Nobody but a person keeps a session in use.
        append(store, "s1", vec![entry("turn_ended", r#""done""#)]);
        assert_eq!(by_id(store, "s1").interacted, 33);
        assert_eq!(by_id(store, "s1").updated, 20);
    });
}

#[test]
fn what_is_new_is_read_by_itself() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s0", "agent:main:before");
        started(store, "s1", KEY);
        started(store, "s2", "agent:main:after");
        for id in ["s0", "s1", "s2"] {
            append(store, id, vec![said("one"), said("two"), said("three")]);
        }
        let since = |after| {
            let tree = block_on(store.read_since("s1", after)).unwrap().unwrap();
            let numbers: Vec<u32> = tree.entries.iter().map(|entry| entry.number).collect();
            (tree.leaf, numbers)
        };
        assert_eq!(since(0), (3, vec![1, 2, 3]));
        assert_eq!(since(2), (3, vec![3]));
        assert_eq!(since(3), (3, vec![]));
        assert_eq!(since(u32::MAX), (3, vec![]));
        let back = LeafMove {
            expected: 3,
            target: 1,
        };
        assert_eq!(block_on(store.move_leaf("s1", back)).unwrap(), Some(true));
        assert_eq!(since(3), (1, vec![]));
        append(store, "s1", vec![said("four")]);
        assert_eq!(since(3), (4, vec![4]));
        assert_eq!(block_on(store.read_since("gone", 0)).unwrap(), None);
    });
}

#[test]
fn a_leaf_moves_only_from_where_it_was_seen() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s1", KEY);
        append(store, "s1", vec![said("one"), said("two")]);
        let to = |expected, target| {
            block_on(store.move_leaf("s1", LeafMove { expected, target })).unwrap()
        };
        assert_eq!(to(1, 0), Some(false));
        assert_eq!(to(2, 0), Some(true));
        assert_eq!(block_on(store.branch("s1")).unwrap().unwrap(), []);
        assert_eq!(to(0, 1), Some(true));
        assert_eq!(block_on(store.branch("s1")).unwrap().unwrap().len(), 1);
        let gone = LeafMove {
            expected: 0,
            target: 0,
        };
        assert_eq!(block_on(store.move_leaf("gone", gone)).unwrap(), None);
    });
}

#[test]
fn the_newest_compaction_of_the_branch_is_found() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s1", KEY);
        let last = || block_on(store.last_compaction("s1")).unwrap();
        assert_eq!(last(), None);
        append(store, "s1", vec![said("one")]);
        assert_eq!(last(), None);
        append(store, "s1", vec![entry("compaction", "{}"), said("two")]);
        append(store, "s1", vec![entry("compaction", "{}"), said("three")]);
        assert_eq!(last(), Some(4));
        let back = LeafMove {
            expected: 5,
            target: 3,
        };
        block_on(store.move_leaf("s1", back)).unwrap();
        assert_eq!(last(), Some(2));
        append(store, "s1", vec![said("four")]);
        assert_eq!(last(), Some(2));
    });
}

fn fork_of(parent: &str, id: &str, most_bytes: u64) -> SessionFork {
    SessionFork {
        parent: parent.to_owned(),
        id: id.to_owned(),
        key: "agent:main:subagent:x".to_owned(),
        at: 40,
        settings: "{}".to_owned(),
        ends_why: "forked over".to_owned(),
        most_bytes,
    }
}

#[test]
fn a_child_begins_where_its_parent_stands() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s1", KEY);
        append(store, "s1", vec![said("one"), said("two")]);
        let back = LeafMove {
            expected: 2,
            target: 1,
        };
        block_on(store.move_leaf("s1", back)).unwrap();
        append(store, "s1", vec![said("three")]);
        let forked = block_on(store.fork(fork_of("s1", "c1", 1 << 20))).unwrap();
        let SessionForked::Forked { child, inherited } = forked else {
            panic!("{forked:?}")
        };
        assert_eq!(inherited, BranchInherited::Branch { entries: 2 });
        assert_eq!((child.leaf, child.parent.as_deref()), (3, Some("s1")));
        let branch = |id| block_on(store.branch(id)).unwrap().unwrap();
        assert_eq!(branch("c1"), branch("s1"));
        assert_eq!(append(store, "c1", vec![said("four")]), Some(vec![4]));
        assert_eq!(branch("s1").len(), 2);

        let forked = block_on(store.fork(fork_of("s1", "c2", 10))).unwrap();
        let SessionForked::Forked { child, inherited } = forked else {
            panic!("{forked:?}")
        };
        assert!(matches!(inherited, BranchInherited::Nothing { bytes } if bytes > 10));
        assert_eq!(child.leaf, 0);
        assert_eq!(by_id(store, "c1").ended_why.as_deref(), Some("forked over"));
        assert_eq!(
            block_on(store.fork(fork_of("s1", "c2", 10))).unwrap(),
            SessionForked::IdTaken
        );
        assert_eq!(
            block_on(store.fork(fork_of("gone", "c3", 10))).unwrap(),
            SessionForked::ParentGone
        );
    });
}

#[test]
fn a_session_from_elsewhere_stands_beside_the_one_that_goes_on() {
    with_each(&SESSION_STORES, |store| {
        let import = |id: &str| SessionImport {
            id: id.to_owned(),
            key: KEY.to_owned(),
            started: 1,
            updated: 5,
            settings: "{}".to_owned(),
            label: Some("old".to_owned()),
            parent: None,
            leaf: 2,
            past_why: "imported".to_owned(),
            entries: [0, 1, 1]
                .into_iter()
                .map(|parent| ImportedEntry {
                    parent,
                    at: 3,
                    kind: "message".to_owned(),
                    body: said("x").body,
                })
                .collect(),
        };
        let first = block_on(store.import(import("i1"))).unwrap();
        assert!(matches!(&first, SessionImported::Current(record) if record.ended.is_none()));
        let second = block_on(store.import(import("i2"))).unwrap();
        assert!(matches!(&second, SessionImported::Past(record) if record.ended == Some(5)));
        assert_eq!(
            block_on(store.import(import("i2"))).unwrap(),
            SessionImported::IdTaken
        );
        let branch = block_on(store.branch("i2")).unwrap().unwrap();
        let numbers: Vec<u32> = branch.iter().map(|entry| entry.number).collect();
        assert_eq!(numbers, [1, 2]);
        assert_eq!(append(store, "i2", vec![said("y")]), Some(vec![4]));
    });
}

#[test]
fn a_setting_is_not_written_over_another() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s1", KEY);
        let set = |change| block_on(store.set("s1", change)).unwrap();
        let settings = |text: &str, version| SessionChange::Settings {
            text: text.to_owned(),
            version,
        };
        assert_eq!(set(settings("{\"a\":1}", 0)), SessionChanged::Changed);
        assert_eq!(set(settings("{\"b\":1}", 0)), SessionChanged::Overtaken);
        assert_eq!(by_id(store, "s1").settings, "{\"a\":1}");
        set(SessionChange::Label(Some("Trip".to_owned())));
        set(SessionChange::DisplayName(Some("Chat".to_owned())));
        set(SessionChange::Pinned(true));
        set(SessionChange::Flushed {
            at: 7,
            compaction: 2,
        });
        let record = by_id(store, "s1");
        assert_eq!(record.label.as_deref(), Some("Trip"));
        assert_eq!(record.display_name.as_deref(), Some("Chat"));
        assert!(record.pinned);
        assert_eq!(
            (record.flushed_at, record.flushed_compaction),
            (Some(7), Some(2))
        );
        assert_eq!(record.version, 5);
        let gone = block_on(store.set("gone", SessionChange::Pinned(true))).unwrap();
        assert_eq!(gone, SessionChanged::Gone);
    });
}

#[test]
fn what_was_fixed_is_found_again_until_the_session_goes() {
    with_each(&SESSION_STORES, |store| {
        started(store, "s1", KEY);
        assert_eq!(block_on(store.frozen("s1")).unwrap(), None);
        for body in ["one", "two"] {
            assert!(block_on(store.freeze("s1", body.to_owned())).unwrap());
        }
        assert_eq!(
            block_on(store.frozen("s1")).unwrap().as_deref(),
            Some("two")
        );
        let usage = UsageSums {
            input: 1,
            output: 1,
            cache_read: 1,
            cache_write: 1,
            context: 8,
        };
        for _ in 0..2 {
            assert!(block_on(store.add_usage("s1", usage, WriteDurability::Process)).unwrap());
        }
        let sums = by_id(store, "s1").usage;
        assert_eq!((sums.input, sums.cache_write, sums.context), (2, 2, 8));
        append(store, "s1", vec![said("x")]);
        assert!(block_on(store.remove("s1")).unwrap());
        assert!(!block_on(store.remove("s1")).unwrap());
        assert_eq!(block_on(store.frozen("s1")).unwrap(), None);
        assert_eq!(block_on(store.branch("s1")).unwrap(), None);
        assert!(!block_on(store.freeze("s1", String::new())).unwrap());
        assert!(!block_on(store.add_usage("s1", usage, WriteDurability::Disk)).unwrap());
        // A session that begins later finds nothing of it.
        started(store, "s2", KEY);
        assert_eq!(block_on(store.frozen("s2")).unwrap(), None);
        assert_eq!(block_on(store.branch("s2")).unwrap().unwrap(), []);
    });
}

#[test]
fn sessions_are_listed_the_newest_first() {
    with_each(&SESSION_STORES, |store| {
        for (at, id) in ["s1", "s2", "s3"].into_iter().enumerate() {
            let start = start_of(id, &format!("agent:main:{id}"), at as u64);
            block_on(store.start(start)).unwrap();
        }
        assert!(block_on(store.archive("s2", 50)).unwrap());
        assert!(!block_on(store.archive("gone", 50)).unwrap());
        let list_most = |updated_since, span, most| {
            let query = SessionQuery {
                updated_since,
                span,
                most,
            };
            let found = block_on(store.list(query)).unwrap();
            found
                .into_iter()
                .map(|record| record.id)
                .collect::<Vec<_>>()
        };
        let list = |updated_since, span| list_most(updated_since, span, None);
        assert_eq!(list(0, SessionSpan::Current), ["s3", "s1"]);
        assert_eq!(list_most(0, SessionSpan::Current, Some(1)), ["s3"]);
        assert_eq!(list(0, SessionSpan::Everything), ["s3", "s2", "s1"]);
        assert_eq!(list(1, SessionSpan::Everything), ["s3", "s2"]);
        let names = block_on(store.names()).unwrap();
        assert_eq!(names[0], ("s3".to_owned(), "agent:main:s3".to_owned()));
        let away = by_id(store, "s2");
        assert_eq!((away.archived, away.ended), (Some(50), Some(50)));
        assert_eq!(away.ended_why.as_deref(), Some("archived"));
        assert_eq!(block_on(store.check()).unwrap(), FileSoundness::Sound);
        block_on(store.give_room_back()).unwrap();
        block_on(store.stored_bytes()).unwrap();
    });
}

#[test]
fn sessions_with_foreign_text_are_known_without_reading_them() {
    with_each(&SESSION_STORES, |store| {
        let label = |label: &str| {
            entry(
                "message",
                &format!(
                    r#"{{"message":{{"role":"toolResult","content":[]}},"meta":{{"label":{label}}}}}"#
                ),
            )
        };
        let bodies = [
            ("own", label(r#"{"trust":"agent"}"#)),
            ("foreign", label(r#"{"trust":"external"}"#)),
            ("unreadable", label(r#"{"trust":"whatever"}"#)),
            ("plain", said("hi")),
            ("quoted", said(r#""trust":"external""#)),
        ];
        for (id, body) in bodies {
            started(store, id, &format!("agent:main:{id}"));
            append(store, id, vec![said("before"), body, said("after")]);
        }
        let found = block_on(store.foreign_sessions()).unwrap();
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["foreign", "unreadable"]
        );
        // What a child inherits is no better.
        block_on(store.fork(fork_of("foreign", "child", 1 << 20))).unwrap();
        assert!(
            block_on(store.foreign_sessions())
                .unwrap()
                .contains("child")
        );
        let branch = block_on(store.branch("own")).unwrap().unwrap();
        assert_eq!(branch[1].trust.as_deref(), Some("agent"));
    });
}
