//! What a store of the ledger has to do.

use chela_core::{ContentHash, Usage};
use chela_store::{
    AuditEntry, CallState, ChainHead, ChainId, EntryQuery, KnownContents, LedgerFact, LedgerStore,
    LedgerTransaction, LimitSpan, NewCall, NewRequest, NotedHead, RequestEnd, RequestQuery,
    ReuseFacts, SpentAmount, SpentQuery, SqliteLedgerStore, StoreError, WriteDurability, block_on,
};

use crate::{LEDGER_STORES, with_each};

pub fn write<T: Send + 'static>(
    store: &dyn LedgerStore,
    work: impl FnOnce(&mut dyn LedgerTransaction) -> Result<T, StoreError> + Send + 'static,
) -> T {
    block_on(store.write(WriteDurability::Process, work)).unwrap()
}

/// An entry bound to the end of its chain. What the hash is over is not the store's business.
pub fn append(
    tx: &mut dyn LedgerTransaction,
    chain: &ChainId,
    body: &str,
) -> Result<AuditEntry, StoreError> {
    let end = tx.chain_end(chain)?;
    let (seq, prev) = match end.noted {
        NotedHead::Head(head) => (head.seq, head.hash),
        _ => (0, ContentHash::of(chain.as_str())),
    };
    let entry = AuditEntry {
        seq: seq + 1,
        at: 1_000 + seq,
        kind: "spawn".to_owned(),
        body: body.to_owned(),
        prev,
        hash: ContentHash::of(format!("{prev}{body}")),
        proof: seq.is_multiple_of(2).then(|| ContentHash::of(body)),
    };
    tx.add_entry(chain, &entry)?;
    Ok(entry)
}

fn chain(name: &str) -> ChainId {
    ChainId::named(name).unwrap()
}

fn entries(store: &dyn LedgerStore, chain: &ChainId) -> Vec<AuditEntry> {
    block_on(store.entries(EntryQuery {
        chain: chain.clone(),
        ..EntryQuery::default()
    }))
    .unwrap()
}

/// Puts a request on record whose body is these pieces; gives its number.
pub fn record(tx: &mut dyn LedgerTransaction, session: &str, pieces: &[&str]) -> i64 {
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    let contents = tx.put_contents(&pieces, KnownContents::default()).unwrap();
    let request = NewRequest {
        agent: "main",
        session,
        session_key: "agent:main:main",
        at: 1_000,
        turn: "t1",
        step: 1,
        model: "a/x",
        url: "https://example.com",
        length: pieces.iter().map(|piece| piece.len() as u64).sum(),
        sent: ContentHash::of(pieces.concat()),
        stored: None,
        contents: &contents,
        redactions: None,
        sections: "[]",
        tools: "[]",
        reuse: &ReuseFacts {
            tokens: 7,
            cause: Some("first".to_owned()),
            ..ReuseFacts::default()
        },
    };
    tx.add_request(&request).unwrap().number
}

fn call(turn: &str, tokens: u64) -> NewCall<'_> {
    NewCall {
        number: None,
        at: 1_000,
        agent: "main",
        session: "s1",
        turn,
        job: "chat",
        day: "2026-11-15",
        month: "2026-11",
        model: "a/x",
        estimate: amount(tokens),
        known: SpentAmount::default(),
        owner: "boot",
        process: 7,
        expires: 9_000,
    }
}

fn amount(tokens: u64) -> SpentAmount {
    SpentAmount {
        tokens,
        micro_dollars: tokens * 2,
    }
}

fn spent(tx: &mut dyn LedgerTransaction, span: LimitSpan<'_>, job: Option<&str>) -> u64 {
    let query = SpentQuery {
        span,
        agent: Some("main"),
        job,
    };
    tx.spent(&query).unwrap().tokens
}

#[test]
fn two_chains_interleave_and_each_keeps_its_own_numbers() {
    with_each(&LEDGER_STORES, |store| {
        let (home, other) = (ChainId::default(), chain("node-2"));
        let (one, two) = (home.clone(), other.clone());
        write(store, move |tx| {
            for text in ["a", "b"] {
                append(tx, &one, text)?;
                append(tx, &two, &format!("other {text}"))?;
            }
            Ok(())
        });
        let two = other.clone();
        write(store, move |tx| append(tx, &two, "other c").map(drop));
        for (chain, texts) in [
            (&home, &["a", "b"][..]),
            (&other, &["other a", "other b", "other c"]),
        ] {
            let found = entries(store, chain);
            assert_eq!(bodies(&found), texts);
            for (at, entry) in found.iter().enumerate() {
                assert_eq!(entry.seq, at as u64 + 1);
                let before = at.checked_sub(1).map(|before| found[before].hash);
                let start = ContentHash::of(chain.as_str());
                assert_eq!(entry.prev, before.unwrap_or(start));
            }
        }
        let ends = block_on(store.chain_ends()).unwrap();
        let ends: Vec<(&str, Option<u64>)> = ends
            .iter()
            .map(|end| {
                assert_eq!(end.newest.map(NotedHead::Head), Some(end.noted));
                assert_eq!(end.at_noted, end.newest);
                (end.chain.as_str(), end.newest.map(|head| head.seq))
            })
            .collect();
        assert_eq!(ends, [("home", Some(2)), ("node-2", Some(3))]);
    });
}

fn bodies(entries: &[AuditEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.body.as_str()).collect()
}

#[test]
fn a_chain_has_a_name_a_file_can_have() {
    for name in ["", "Main", "a/b", "a.b", "..", &"a".repeat(65)] {
        assert_eq!(ChainId::named(name), None, "{name}");
    }
    assert_eq!(chain("agent_1-b").as_str(), "agent_1-b");
}

#[test]
fn work_that_fails_leaves_nothing_and_its_neighbour_stays() {
    with_each(&LEDGER_STORES, |store| {
        let home = ChainId::default();
        let failed: Result<(), StoreError> = block_on(store.write(
            WriteDurability::Process,
            |tx: &mut dyn LedgerTransaction| {
                append(tx, &ChainId::default(), "lost")?;
                tx.add_call(&call("t1", 5))?;
                Err(StoreError::Unanswered)
            },
        ));
        assert!(matches!(failed, Err(StoreError::Unanswered)));
        let tried: Result<u64, StoreError> =
            block_on(store.try_out(|tx: &mut dyn LedgerTransaction| {
                Ok(append(tx, &ChainId::default(), "tried")?.seq)
            }));
        assert_eq!(tried.unwrap(), 1);
        write(store, |tx| {
            append(tx, &ChainId::default(), "kept")?;
            let nested = tx.attempt(|tx| {
                append(tx, &ChainId::default(), "nested and lost").unwrap();
                Err::<(), _>("no")
            })?;
            assert_eq!(nested, Err("no"));
            let nested = tx.attempt(|tx| append(tx, &ChainId::default(), "nested"));
            assert_eq!(nested?.unwrap().seq, 2);
            Ok(())
        });
        assert_eq!(bodies(&entries(store, &home)), ["kept", "nested"]);
        let open = write(store, |tx| tx.open_calls());
        assert_eq!(open, []);
    });
}

#[test]
fn what_is_queued_first_stands_first() {
    with_each(&LEDGER_STORES, |store| {
        let commits = store.counts().commits;
        let queued: Vec<_> = (0..20)
            .map(|at| {
                store.write(
                    WriteDurability::Process,
                    move |tx: &mut dyn LedgerTransaction| {
                        append(tx, &ChainId::default(), &at.to_string()).map(drop)
                    },
                )
            })
            .collect();
        for answer in queued {
            block_on(answer).unwrap();
        }
        let found = entries(store, &ChainId::default());
        let texts: Vec<String> = (0..20).map(|at| at.to_string()).collect();
        assert_eq!(bodies(&found), texts);
        assert!(store.counts().commits - commits <= 20);
    });
}

#[test]
fn entries_are_found_by_what_they_say() {
    with_each(&LEDGER_STORES, |store| {
        write(store, |tx| {
            for text in ["one", "two", "three"] {
                append(tx, &ChainId::default(), text)?;
            }
            Ok(())
        });
        let find = |query: EntryQuery| {
            let found = block_on(store.entries(query)).unwrap();
            found.iter().map(|entry| entry.seq).collect::<Vec<_>>()
        };
        let about = |text: &str| EntryQuery {
            about: Some(text.to_owned()),
            ..EntryQuery::default()
        };
        assert_eq!(find(about("o")), [1, 2]);
        assert_eq!(
            find(EntryQuery {
                since: Some(2),
                limit: Some(1),
                ..EntryQuery::default()
            }),
            [3]
        );
        let nothing = find(EntryQuery {
            kind: Some("approval".to_owned()),
            ..EntryQuery::default()
        });
        assert!(nothing.is_empty());
    });
}

#[test]
fn a_request_is_found_as_it_was_put_on_record() {
    with_each(&LEDGER_STORES, |store| {
        let long = "text ".repeat(100);
        let pieces = ["{", &long, ",", &long, "}"].map(str::to_owned);
        let body = pieces.concat();
        let number = write(store, move |tx| {
            assert_eq!(tx.prior_request("s1", "agent:main:main")?, None);
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let number = record(tx, "s1", &pieces);
            let prior = tx.prior_request("s1", "agent:main:main")?.unwrap();
            assert_eq!((prior.number, prior.another_session), (number, false));
            let prior = tx.prior_request("s2", "agent:main:main")?.unwrap();
            assert!(prior.another_session);
            Ok(number)
        });
        let stored = block_on(store.request_body(number)).unwrap().unwrap();
        assert_eq!(stored.stored, body.as_bytes());
        let sent = write(store, move |tx| tx.sent_request(number));
        assert_eq!(sent.body, body.as_bytes());
        let before = block_on(store.request(number)).unwrap().unwrap();
        assert_eq!(before.outcome, None);
        assert_eq!(before.line.reuse.cause.as_deref(), Some("first"));
        let usage = Usage {
            input: 7,
            output: 3,
            ..Usage::default()
        };
        let ended = write(store, move |tx| {
            let end = RequestEnd {
                at: 2_000,
                outcome: "{\"response\":1}",
                usage: Some(usage),
                cost: Some(5),
                error: None,
            };
            assert_eq!(tx.end_request(number + 1, &end)?, None);
            tx.end_request(number, &end)
        });
        assert!(ended.is_some());
        let after = block_on(store.request(number)).unwrap().unwrap();
        assert_eq!(after.outcome.as_deref(), Some(&b"{\"response\":1}"[..]));
        assert_eq!((after.line.usage, after.line.cost), (Some(usage), Some(5)));
        let listed = block_on(store.requests(RequestQuery::default())).unwrap();
        assert_eq!(listed, [after.line]);
        let parts = block_on(store.request_parts(RequestQuery::default())).unwrap();
        assert_eq!(parts.lists, [b"[]"]);
        assert!(block_on(store.request(number + 1)).unwrap().is_none());
        let found = block_on(store.find_session(Some("main"))).unwrap();
        assert_eq!(found.as_deref(), Some("s1"));
    });
}

#[test]
fn contents_are_kept_once_and_as_long_as_somebody_uses_them() {
    with_each(&LEDGER_STORES, |store| {
        let numbers = write(store, |tx| {
            Ok([
                record(tx, "s1", &["shared", "own"]),
                record(tx, "s1", &["shared", "other"]),
            ])
        });
        let contents = || {
            let count = std::sync::Arc::new(std::sync::Mutex::new(0));
            let counted = count.clone();
            let visited = store.examine(Box::new(move |fact| match fact {
                LedgerFact::Content => *counted.lock().unwrap() += 1,
                LedgerFact::Damaged { words, .. } | LedgerFact::Gone { words, .. } => {
                    panic!("{words}")
                }
                LedgerFact::Unreadable(words) => panic!("{words}"),
                _ => {}
            }));
            block_on(visited).unwrap();
            *count.lock().unwrap()
        };
        // Three pieces, and the list of sections and of tools, which are alike.
        assert_eq!(contents(), 4);
        let deleted = write(store, move |tx| tx.delete_requests(&numbers[..1]));
        assert_eq!((deleted.contents, contents()), (1, 3));
        let deleted = write(store, move |tx| {
            assert_eq!(tx.oldest_requests(None, 9)?, numbers[1..]);
            assert!(tx.oldest_requests(Some(1_000), 9)?.is_empty());
            assert_eq!(tx.session_requests("s1")?, numbers[1..]);
            tx.delete_requests(&numbers[1..])
        });
        assert_eq!((deleted.contents, contents()), (3, 0));
        assert_eq!(block_on(store.content_bytes()).unwrap(), 0);
        assert_eq!(block_on(store.count_requests()).unwrap(), 0);
        block_on(store.give_room_back()).unwrap();
    });
}

#[test]
fn a_list_of_sections_is_known_by_its_session() {
    with_each(&LEDGER_STORES, |store| {
        write(store, |tx| {
            let (list, other) = (ContentHash::of("list"), ContentHash::of("other"));
            record(tx, "s1", &["a"]);
            assert_eq!(tx.listed_sections("s1", list)?, None);
            tx.note_sections("s1", list, 5)?;
            assert_eq!(tx.listed_sections("s1", list)?, Some(5));
            assert_eq!(tx.listed_sections("s1", other)?, None);
            assert_eq!(tx.listed_sections("s2", list)?, None);
            Ok(())
        });
    });
}

#[test]
fn calls_count_until_they_are_settled_released_or_given_up() {
    with_each(&LEDGER_STORES, |store| {
        write(store, |tx| {
            let settled = tx.add_call(&call("t1", 100))?;
            let released = tx.add_call(&call("t1", 10))?;
            let lost = tx.add_call(&call("t2", 1_000))?;
            let known = tx.add_call(&NewCall {
                known: amount(3),
                ..call("t2", 10_000)
            })?;
            assert_eq!(spent(tx, LimitSpan::Turn("t1"), None), 110);
            assert_eq!(
                spent(tx, LimitSpan::Day("2026-11-15"), Some("chat")),
                11_110
            );
            assert_eq!(spent(tx, LimitSpan::Day("2026-11-15"), Some("cron")), 0);
            assert_eq!(tx.settle_call(settled, amount(40))?, CallState::Known);
            assert_eq!(tx.settle_call(settled, amount(50))?, CallState::Known);
            tx.release_call(released)?;
            tx.release_call(settled)?;
            tx.give_up_call(lost)?;
            tx.give_up_call(known)?;
            assert_eq!(tx.open_calls()?, []);
            assert_eq!(spent(tx, LimitSpan::Turn("t1"), None), 40);
            assert_eq!(spent(tx, LimitSpan::Month("2026-11"), None), 43);
            assert_eq!(tx.settle_call(lost, amount(1))?, CallState::Unknown);
            let again = tx.add_call(&NewCall {
                number: Some(lost),
                ..call("t2", 1)
            })?;
            assert_eq!(again, lost);
            assert_eq!(tx.count_calls()?, 3);
            assert_eq!(tx.forget_calls(1_000, 9)?, 0);
            assert_eq!(tx.forget_calls(1_001, 1)?, 1);
            assert_eq!(tx.forget_calls(1_001, 9)?, 2);
            assert_eq!(spent(tx, LimitSpan::Session("s1"), None), 0);
            Ok(())
        });
    });
}

#[test]
fn two_handles_go_on_with_the_same_chains() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let other = chain("node-2");
    let handles: [std::sync::Arc<dyn LedgerStore>; 2] = [
        std::sync::Arc::new(SqliteLedgerStore::open(&path).unwrap()),
        std::sync::Arc::new(SqliteLedgerStore::open(&path).unwrap()),
    ];
    std::thread::scope(|scope| {
        for handle in &handles {
            let other = other.clone();
            scope.spawn(move || {
                for at in 0..20 {
                    let chain = if at % 2 == 0 {
                        ChainId::default()
                    } else {
                        other.clone()
                    };
                    write(&**handle, move |tx| append(tx, &chain, "x").map(drop));
                }
            });
        }
    });
    for chain in [ChainId::default(), other.clone()] {
        let found = entries(&*handles[0], &chain);
        assert_eq!(found.len(), 20);
        assert!(found.windows(2).all(|pair| pair[1].prev == pair[0].hash));
    }
    // Heads are told even when the ledger is gone.
    drop(handles);
    let heads = SqliteLedgerStore::heads_beside(&path);
    let names: Vec<&str> = heads.iter().map(|(chain, _)| chain.as_str()).collect();
    assert_eq!(names, ["home", "node-2"]);
    assert!(matches!(
        heads[1].1,
        NotedHead::Head(ChainHead { seq: 20, .. })
    ));
}
