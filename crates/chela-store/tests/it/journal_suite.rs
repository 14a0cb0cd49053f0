//! What a store of the journal has to do.

use chela_store::{
    ChangeQuery, FileSoundness, ForeignQuery, ForgetLimit, JournalStore, KeptFile, NewChange,
    TextMark, TrustChange, block_on,
};

use crate::{JOURNAL_STORES, with_each};

fn text(name: u8) -> TextMark {
    TextMark {
        hash: [name; 32],
        size: 100 + u64::from(name),
    }
}

fn change(turn: &str, path: &str) -> NewChange {
    NewChange {
        at: 1_000,
        session: "agent:main:main".to_owned(),
        session_id: "s1".to_owned(),
        turn: turn.to_owned(),
        call: format!("call-{turn}"),
        tool: "write".to_owned(),
        path: path.to_owned(),
        home: Some("/home".to_owned()),
        keeps: None,
        what: "1 line".to_owned(),
        before: None,
        packed_before: None,
        after: Some(text(1)),
        shortest_known: 16,
        tainted: false,
        keeps_own: true,
        trust: TrustChange::Follows,
    }
}

fn keep(store: &dyn JournalStore, change: NewChange) -> i64 {
    block_on(store.keep(change)).unwrap()
}

fn numbers(store: &dyn JournalStore, query: ChangeQuery) -> Vec<i64> {
    let found = block_on(store.changes(query)).unwrap();
    found.into_iter().map(|change| change.number).collect()
}

fn has_path(store: &dyn JournalStore, path: &str) -> bool {
    block_on(store.is_foreign(ForeignQuery::Path(path.to_owned()))).unwrap()
}

fn has_text(store: &dyn JournalStore, text: TextMark) -> bool {
    let by_size = block_on(store.is_foreign(ForeignQuery::Size(text.size))).unwrap();
    let by_hash = block_on(store.is_foreign(ForeignQuery::Text(text.hash))).unwrap();
    assert_eq!(by_size, by_hash);
    by_hash
}

#[test]
fn a_change_is_found_as_it_was_kept() {
    with_each(&JOURNAL_STORES, |store| {
        let first = keep(
            store,
            NewChange {
                before: Some(text(7)),
                packed_before: Some(b"packed".to_vec()),
                keeps: Some(KeptFile {
                    path: "/b".to_owned(),
                    text: None,
                }),
                ..change("t1", "/a")
            },
        );
        let found = block_on(store.changes(ChangeQuery::ByNumber(first))).unwrap();
        let [found] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!((found.turn.as_str(), found.path.as_str()), ("t1", "/a"));
        assert_eq!(found.keeps.as_deref(), Some("/b"));
        assert_eq!((found.before, found.after), (Some([7; 32]), Some([1; 32])));
        assert_eq!((found.undone, found.tainted), (None, false));
        let before = block_on(store.text_before(first)).unwrap();
        let before = before.unwrap().unwrap();
        assert_eq!(
            (before.packed.as_slice(), before.size),
            (&b"packed"[..], 107)
        );
        let made = keep(store, change("t1", "/new"));
        assert_eq!(block_on(store.text_before(made)).unwrap(), Some(None));
        assert_eq!(block_on(store.text_before(99)).unwrap(), None);
        assert_eq!(block_on(store.check()).unwrap(), FileSoundness::Sound);
    });
}

#[test]
fn changes_are_chosen_by_turn_call_and_file() {
    with_each(&JOURNAL_STORES, |store| {
        let one = keep(store, change("turn-1", "/a"));
        let two = keep(store, change("turn-1", "/b"));
        let other = keep(
            store,
            NewChange {
                session: "agent:main:other".to_owned(),
                session_id: "s2".to_owned(),
                ..change("turn-2", "/a")
            },
        );
        let newest = |limit| numbers(store, ChangeQuery::Newest { limit });
        assert_eq!(newest(2), [other, two]);
        assert_eq!(newest(u64::MAX), [other, two, one]);
        let last = |session: Option<&str>| {
            let session = session.map(str::to_owned);
            numbers(store, ChangeQuery::LastTurn { session })
        };
        assert_eq!(last(None), [other]);
        assert_eq!(last(Some("agent:main:main")), [one, two]);
        assert!(last(Some("agent:main:none")).is_empty());
        let turns = |begin: &str| numbers(store, ChangeQuery::TurnsBeginning(begin.to_owned()));
        assert_eq!(turns("turn-1"), [one, two]);
        assert_eq!(turns("turn-").len(), 3);
        let call = ChangeQuery::SameCall {
            turn: "turn-1".to_owned(),
            call: "call-turn-1".to_owned(),
            session_id: "s1".to_owned(),
        };
        assert_eq!(numbers(store, call), [one, two]);
        let later = |after| {
            let path = "/a".to_owned();
            numbers(store, ChangeQuery::LaterOf { path, after })
        };
        assert_eq!(later(one), [other]);
        assert!(later(other).is_empty());
    });
}

#[test]
fn what_was_taken_back_counts_again_when_that_is_taken_back() {
    with_each(&JOURNAL_STORES, |store| {
        let one = keep(store, change("t1", "/a"));
        let undo = keep(
            store,
            NewChange {
                tool: "undo".to_owned(),
                ..change("undo-1", "/a")
            },
        );
        let undone = |number| {
            let found = block_on(store.changes(ChangeQuery::ByNumber(number))).unwrap();
            found[0].undone
        };
        block_on(store.mark_undone(vec![one], undo)).unwrap();
        assert_eq!(undone(one), Some(undo));
        assert!(numbers(store, ChangeQuery::LastTurn { session: None }).is_empty());
        let again = keep(store, change("undo-2", "/a"));
        block_on(store.mark_undone(vec![undo], again)).unwrap();
        assert_eq!((undone(one), undone(undo)), (None, Some(again)));
    });
}

#[test]
fn foreign_text_stays_foreign_until_it_is_gone() {
    with_each(&JOURNAL_STORES, |store| {
        let tainted = |path: &str, after| NewChange {
            tainted: true,
            after: Some(after),
            ..change("t1", path)
        };
        keep(store, tainted("/a", text(2)));
        assert!(has_path(store, "/a") && has_text(store, text(2)));
        assert_eq!(block_on(store.foreign_files()).unwrap(), ["/a"]);
        // An edit keeps what was there, a copy is known by what it holds, a move takes it along.
        let edit = NewChange {
            before: Some(text(2)),
            after: Some(text(3)),
            keeps: Some(KeptFile {
                path: "/a".to_owned(),
                text: None,
            }),
            ..change("t2", "/a")
        };
        keep(store, edit.clone());
        assert!(has_path(store, "/a") && has_text(store, text(3)));
        let moved = |kept: &str, text| NewChange {
            keeps: Some(KeptFile {
                path: kept.to_owned(),
                text,
            }),
            after: Some(self::text(9)),
            ..change("t3", "/moved")
        };
        keep(store, moved("/a", None));
        assert!(has_path(store, "/moved"));
        keep(store, moved("/clean", None));
        assert!(!has_path(store, "/moved"));
        keep(store, moved("/clean", Some(text(3))));
        assert!(has_path(store, "/moved"));
        // Written anew in a clean turn, or gone.
        keep(store, change("t4", "/a"));
        assert!(!has_path(store, "/a"));
        let removed = NewChange {
            after: None,
            ..tainted("/moved", text(9))
        };
        keep(store, removed);
        assert!(!has_path(store, "/moved"));
        // Short texts are not known elsewhere.
        let short = TextMark {
            hash: [8; 32],
            size: 3,
        };
        keep(store, tainted("/short", short));
        assert!(has_path(store, "/short") && !has_text(store, short));
        // Brought back with the trust it had.
        keep(
            store,
            NewChange {
                trust: TrustChange::Restored { foreign: true },
                ..change("undo-1", "/back")
            },
        );
        assert!(has_path(store, "/back"));
    });
}

#[test]
fn a_change_that_came_to_nothing_leaves_the_trust_as_it_was() {
    with_each(&JOURNAL_STORES, |store| {
        block_on(store.mark_foreign("/a", Some(text(4)))).unwrap();
        let clean = keep(store, change("t1", "/a"));
        assert!(!has_path(store, "/a"));
        block_on(store.take_out(clean)).unwrap();
        assert!(has_path(store, "/a"));
        assert!(numbers(store, ChangeQuery::ByNumber(clean)).is_empty());
        block_on(store.take_out(clean)).unwrap();
        block_on(store.vouch("/a", Some(text(4).hash))).unwrap();
        assert!(!has_path(store, "/a") && !has_text(store, text(4)));
    });
}

#[test]
fn what_is_old_or_too_much_is_forgotten_but_not_what_is_foreign() {
    with_each(&JOURNAL_STORES, |store| {
        for at in 1..=6 {
            keep(
                store,
                NewChange {
                    at: at * 1_000,
                    packed_before: Some(vec![0; 100]),
                    before: Some(text(5)),
                    tainted: true,
                    ..change("t1", &format!("/{at}"))
                },
            );
        }
        let limit = ForgetLimit {
            oldest: 2_000,
            most_bytes: 1 << 20,
            bytes_per_change: 100,
        };
        assert_eq!(block_on(store.forget(limit)).unwrap(), 1);
        assert_eq!(block_on(store.forget(limit)).unwrap(), 0);
        let limit = ForgetLimit {
            most_bytes: 450,
            ..limit
        };
        assert_eq!(block_on(store.forget(limit)).unwrap(), 3);
        let left = numbers(store, ChangeQuery::Newest { limit: 10 });
        assert_eq!(left.len(), 2);
        assert_eq!(block_on(store.foreign_files()).unwrap().len(), 6);
        let next = keep(store, change("t2", "/x"));
        assert!(next > left[0], "a number is given once");
    });
}

#[test]
fn names_in_a_home_become_relative_to_it() {
    with_each(&JOURNAL_STORES, |store| {
        for path in ["/home/a", "/home2/b", "/home0", "/elsewhere"] {
            keep(
                store,
                NewChange {
                    tainted: true,
                    keeps: Some(KeptFile {
                        path: path.to_owned(),
                        text: None,
                    }),
                    ..change("t1", path)
                },
            );
        }
        block_on(store.adopt_names("/home")).unwrap();
        let found = block_on(store.changes(ChangeQuery::Newest { limit: 9 })).unwrap();
        let names: Vec<_> = found.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(names, ["/elsewhere", "/home0", "/home2/b", "a"]);
        assert_eq!(found[3].keeps.as_deref(), Some("a"));
        assert_eq!(found[3].home.as_deref(), Some("/home"));
        assert!(has_path(store, "a") && !has_path(store, "/home/a"));
    });
}

#[test]
fn a_version_is_owned_by_whoever_wrote_it_clean_and_by_nobody_else() {
    with_each(&JOURNAL_STORES, |store| {
        let owned = |path: &str| {
            let versions = block_on(store.own_versions(path)).unwrap();
            versions
                .iter()
                .filter_map(|version| version.hash)
                .collect::<Vec<_>>()
        };
        let clean = keep(store, change("t1", "/a"));
        assert_eq!(owned("/a"), [[1; 32]]);
        keep(
            store,
            NewChange {
                tainted: true,
                after: Some(text(2)),
                ..change("t2", "/a")
            },
        );
        assert_eq!(owned("/a"), [[1; 32]], "the tainted version is nobody's");
        let edit = |keeps_own, after| NewChange {
            keeps: Some(KeptFile {
                path: "/b".to_owned(),
                text: None,
            }),
            before: Some(text(5)),
            keeps_own,
            after: Some(text(after)),
            ..change("t3", "/b")
        };
        keep(store, edit(false, 6));
        assert!(owned("/b").is_empty(), "somebody else's text lives on");
        keep(store, edit(true, 7));
        assert_eq!(owned("/b"), [[7; 32]]);
        block_on(store.take_out(clean)).unwrap();
        assert!(owned("/a").is_empty());
        let below = || block_on(store.own_below("/")).unwrap();
        assert!(!below().is_empty());
        block_on(store.disown("/")).unwrap();
        assert!(below().is_empty());
    });
}
