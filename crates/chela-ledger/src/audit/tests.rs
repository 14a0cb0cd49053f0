mod killed;
mod tampering;

use serde_json::json;

use super::{AuditFilter, AuditKind, DamageKind, DamagedPlace, LedgerDamage, verify_export};
use crate::installation_key::InstallationKey;
use crate::testing::{LedgerFixture, TestRequest, chat};
use crate::{Amount, Ledger, RequestOutcome, ReserveAsk, VerifyReport};
use chela_store::WaitHere as _;

/// A ledger with a bit of everything in it.
fn written() -> LedgerFixture {
    let desk = LedgerFixture::new();
    for turn in 0..3 {
        let prompt = "prompt ".repeat(100);
        let text = format!("message {turn}");
        let (id, _) = desk.record(&TestRequest::new("s1", &chat(&prompt, &[&text], &["read"])));
        desk.ledger
            .append(
                AuditKind::ToolDecision,
                &json!({ "tool": "read", "turn": turn }),
            )
            .wait()
            .unwrap();
        let outcome = RequestOutcome {
            response: json!({ "text": format!("answer {turn}") }),
            ..RequestOutcome::default()
        };
        desk.ledger.finish(id, &outcome).wait().unwrap();
        let taken = desk.ledger.reserve(&call(turn)).wait().unwrap();
        if turn > 0 {
            desk.ledger.settle(&taken, call(turn).known).wait().unwrap();
        }
    }
    desk
}

fn call(turn: u64) -> ReserveAsk {
    let cost = Amount {
        tokens: 100 + turn,
        micro_dollars: 5,
    };
    ReserveAsk {
        agent: "main".into(),
        session: "s1".into(),
        turn: format!("t{turn}"),
        job: "chat".into(),
        model: "a/x".into(),
        estimate: cost,
        known: cost,
        limits: Vec::new(),
        day: "2026-11-15".into(),
        month: "2026-11".into(),
        lasts: 600_000,
    }
}

fn places(verdict: &VerifyReport) -> Vec<(DamagedPlace, DamageKind)> {
    verdict
        .damage
        .iter()
        .map(|damage| (damage.place, damage.what))
        .collect()
}

/// An export as it is checked where the key is not.
fn checked(mut lines: &[u8]) -> Vec<LedgerDamage> {
    let report = verify_export(&mut lines, None).unwrap();
    assert!(!report.proofs_checked);
    report.damage
}

#[test]
fn a_chain_that_was_written_anew_shows() {
    let desk = written();
    let mut entries = desk.ledger.audit(&AuditFilter::default()).wait().unwrap();
    entries[4].body = entries[4].body.replace("\"turn\":1", "\"turn\":7");
    for at in 4..entries.len() {
        entries[at].prev = entries[at - 1].hash;
        entries[at].hash = super::true_hash(&entries[at]);
        let entry = &entries[at];
        desk.sql()
            .execute(
                "UPDATE audit SET body = ?2, prev = ?3, hash = ?4 WHERE seq = ?1",
                (
                    entry.seq,
                    &entry.body,
                    entry.prev.as_bytes(),
                    entry.hash.as_bytes(),
                ),
            )
            .unwrap();
    }
    let last = &entries[entries.len() - 1];
    let head = format!("{:020} {}\n", last.seq, last.hash);
    std::fs::write(desk.ledger.path().with_extension("head"), head).unwrap();
    let verdict = desk.ledger.verify().wait().unwrap();
    let words = "from entry 5 on, 5 entries: each was not written by this installation";
    assert_eq!(verdict.damage.len(), 1, "{:?}", verdict.damage);
    assert_eq!(verdict.damage[0].words, words);

    desk.sql()
        .execute("UPDATE audit SET proof = NULL", [])
        .unwrap();
    let verdict = desk.ledger.verify().wait().unwrap();
    assert!(
        verdict.damage[0].words.contains("has no proof"),
        "{:?}",
        verdict.damage
    );

    let mut lines = Vec::new();
    desk.ledger.export_audit(&mut lines).wait().unwrap();
    assert!(checked(&lines).is_empty(), "the hashes fit each other");
    let key = InstallationKey::beside(desk.ledger.path());
    let report = verify_export(&mut &lines[..], key).unwrap();
    assert!(report.proofs_checked && !report.damage.is_empty());
}

#[test]
fn without_its_key_nothing_shows_who_wrote_an_entry() {
    let desk = written();
    std::fs::remove_file(desk.ledger.path().with_file_name("installation.key")).unwrap();
    let verdict = desk.ledger.verify().wait().unwrap();
    assert!(
        verdict.damage[0].words.contains("key is missing"),
        "{:?}",
        verdict.damage
    );
    // Another key brings back no trust in what it did not write.
    let other = format!("chela installation key 1\nkey {}\n", "ab".repeat(32));
    std::fs::write(desk.ledger.path().with_file_name("installation.key"), other).unwrap();
    let again = Ledger::open_file(&desk.host, desk.ledger.path()).unwrap();
    again.append(AuditKind::Spawn, &json!({})).wait().unwrap();
    let verdict = again.verify().wait().unwrap();
    assert_eq!(verdict.damage.len(), 1, "{:?}", verdict.damage);
    assert!(
        verdict.damage[0].words.contains("9 entries"),
        "{:?}",
        verdict.damage
    );
}

#[test]
fn entries_from_before_the_key_need_no_proof() {
    let desk = written();
    desk.sql()
        .execute("UPDATE audit SET proof = NULL", [])
        .unwrap();
    std::fs::remove_file(desk.ledger.path().with_file_name("installation.key")).unwrap();
    let again = Ledger::open_file(&desk.host, desk.ledger.path()).unwrap();
    again.append(AuditKind::Spawn, &json!({})).wait().unwrap();
    assert!(again.verify().wait().unwrap().is_sound());
    desk.sql()
        .execute("UPDATE audit SET proof = NULL", [])
        .unwrap();
    assert!(!again.verify().wait().unwrap().is_sound());
}

#[test]
fn what_was_written_is_sound_and_exports() {
    let desk = written();
    let verdict = desk.ledger.verify().wait().unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.damage);
    assert_eq!((verdict.entries, verdict.requests), (9, 3));
    let mut lines = Vec::new();
    assert_eq!(desk.ledger.export_audit(&mut lines).wait().unwrap(), 9);
    assert!(checked(&lines).is_empty());
    let text = String::from_utf8(lines).unwrap();
    let edited = text.replace("\\\"turn\\\":1", "\\\"turn\\\":7");
    assert_ne!(edited, text);
    let damage = checked(edited.as_bytes());
    assert_eq!(damage[0].place, DamagedPlace::Entry(5));
    let cut: String = text
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 8)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let damage = checked(cut.as_bytes());
    assert_eq!(
        (damage[0].place, damage[0].what),
        (DamagedPlace::Entry(9), DamageKind::Truncated)
    );
}

fn other_chain(desk: &LedgerFixture) -> Ledger {
    let chain = chela_store::ChainId::named("node-2").unwrap();
    Ledger::open_chain(&desk.host, desk.ledger.path(), chain).unwrap()
}

#[test]
fn every_chain_is_verified() {
    let desk = written();
    let other = other_chain(&desk);
    for text in ["one", "two", "three"] {
        let said = TestRequest::new("s2", &chat("you", &[text], &[]));
        other.begin(&said.record()).wait().unwrap();
        desk.record(&said);
    }
    for ledger in [&*desk.ledger, &other] {
        let verdict = ledger.verify().wait().unwrap();
        assert!(verdict.is_sound(), "{:?}", verdict.damage);
        assert_eq!((verdict.entries, verdict.requests), (15, 9));
        assert!(ledger.check_head().wait().unwrap().is_empty());
        let mut lines = Vec::new();
        ledger.export_audit(&mut lines).wait().unwrap();
        assert!(checked(&lines).is_empty());
    }
    let own = other.audit(&AuditFilter::default()).wait().unwrap();
    assert_eq!(
        own.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [1, 2, 3]
    );
    // What another chain wrote out is not named as if it stood in this one.
    assert!(own[0].json()["sections"].is_array());

    let edit = "UPDATE chains SET body = '{}' WHERE seq = 2";
    desk.sql().execute(edit, []).unwrap();
    let verdict = desk.ledger.verify().wait().unwrap();
    assert_eq!(verdict.damage[0].place, DamagedPlace::Entry(2));
    assert!(verdict.damage[0].words.starts_with("chain node-2: "));
    desk.sql().execute("DELETE FROM chains", []).unwrap();
    let found = desk.ledger.check_head().wait().unwrap();
    assert_eq!(found[0].what, DamageKind::Truncated);
}

#[test]
fn prompt_builds_list_their_sections_once() {
    let desk = LedgerFixture::new();
    let mut said = TestRequest::new("s1", &chat("you", &["hi"], &[]));
    said.sections = vec![crate::testing::section(
        "identity",
        chela_core::Origin::BuiltIn,
        "you",
    )];
    desk.record(&said);
    desk.record(&said);
    let builds = desk.ledger.audit(&AuditFilter::default()).wait().unwrap();
    let listed = &builds[0].json()["sections"][0];
    assert_eq!(listed["section"], "identity");
    assert_eq!(listed["trust"], "operator");
    assert_eq!(listed["bytes"], 3);
    assert_eq!(builds[1].json()["sections"], json!({ "asIn": 1 }));
}

#[test]
fn entries_are_found_by_kind_and_content() {
    let desk = written();
    let decisions = desk
        .ledger
        .audit(&AuditFilter {
            kind: Some(AuditKind::ToolDecision),
            limit: Some(2),
            ..AuditFilter::default()
        })
        .wait()
        .unwrap();
    assert_eq!(
        decisions.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [5, 8]
    );
    let about = AuditFilter {
        about: Some("\"turn\":0".into()),
        ..AuditFilter::default()
    };
    assert_eq!(desk.ledger.audit(&about).wait().unwrap()[0].seq, 2);
}

#[test]
fn every_edit_of_an_entry_is_located() {
    let edits = [
        "at = at + 1",
        "kind = 'approval'",
        "body = replace(body, '0', '1') || ' '",
        "prev = randomblob(32)",
        "hash = randomblob(32)",
        "hash = x'00'",
        "body = 7",
    ];
    for edit in edits {
        for seq in [1, 4, 9] {
            let desk = written();
            desk.sql()
                .execute(&format!("UPDATE audit SET {edit} WHERE seq = {seq}"), [])
                .unwrap();
            let verdict = desk.ledger.verify().wait().unwrap();
            let first = verdict
                .damage
                .first()
                .unwrap_or_else(|| panic!("{edit} of {seq}"));
            assert_eq!(
                first.place,
                DamagedPlace::Entry(seq),
                "{edit} of {seq}: {:?}",
                verdict.damage
            );
        }
    }
}

#[test]
fn an_edit_with_a_new_hash_is_located_by_its_neighbour() {
    for seq in [1_u64, 5, 9] {
        let desk = written();
        let mut entry =
            desk.ledger.audit(&AuditFilter::default()).wait().unwrap()[seq as usize - 1].clone();
        entry.body = "{}".to_owned();
        entry.hash = super::true_hash(&entry);
        desk.sql()
            .execute(
                "UPDATE audit SET body = ?2, hash = ?3 WHERE seq = ?1",
                rusqlite::params![seq, entry.body, entry.hash.as_bytes()],
            )
            .unwrap();
        let verdict = desk.ledger.verify().wait().unwrap();
        assert_eq!(
            verdict.damage[0].place,
            DamagedPlace::Entry(seq),
            "{:?}",
            verdict.damage
        );
    }
}

#[test]
fn removal_swapping_and_truncation_are_told_apart() {
    let removed = written();
    removed
        .sql()
        .execute("DELETE FROM audit WHERE seq IN (2, 5)", [])
        .unwrap();
    assert_eq!(
        places(&removed.ledger.verify().wait().unwrap()),
        [
            (DamagedPlace::Entry(2), DamageKind::Missing),
            (DamagedPlace::Entry(5), DamageKind::Missing)
        ]
    );
    let swapped = written();
    swapped
        .sql()
        .execute_batch(
            "UPDATE audit SET seq = 100 WHERE seq = 5; UPDATE audit SET seq = 5 WHERE seq = 8; \
             UPDATE audit SET seq = 8 WHERE seq = 100;",
        )
        .unwrap();
    assert_eq!(
        places(&swapped.ledger.verify().wait().unwrap()),
        [
            (DamagedPlace::Entry(5), DamageKind::Reordered),
            (DamagedPlace::Entry(8), DamageKind::Reordered)
        ]
    );
    let cut = written();
    cut.sql()
        .execute("DELETE FROM audit WHERE seq > 7", [])
        .unwrap();
    let found = places(&cut.ledger.verify().wait().unwrap());
    assert!(
        found.contains(&(DamagedPlace::Entry(8), DamageKind::Truncated)),
        "{found:?}"
    );
    // What is added later does not cover it up.
    cut.ledger
        .append(AuditKind::Spawn, &json!({}))
        .wait()
        .unwrap();
    let found = places(&cut.ledger.verify().wait().unwrap());
    assert!(
        found.contains(&(DamagedPlace::Entry(8), DamageKind::Missing)),
        "{found:?}"
    );
    let emptied = written();
    emptied.sql().execute("DELETE FROM audit", []).unwrap();
    let found = places(&emptied.ledger.verify().wait().unwrap());
    assert!(
        found.contains(&(DamagedPlace::Entry(1), DamageKind::Truncated)),
        "{found:?}"
    );
}

#[test]
fn the_end_alone_tells_a_head_that_does_not_fit() {
    let desk = written();
    let looked = || {
        let damage = desk.ledger.check_head().wait().unwrap();
        damage.iter().map(|damage| damage.what).collect::<Vec<_>>()
    };
    assert_eq!(looked(), []);
    let head = desk.ledger.path().with_extension("head");
    let line = std::fs::read_to_string(&head).unwrap();
    let (number, hash) = line.trim().split_once(' ').unwrap();
    let further = number.parse::<u64>().unwrap() + 1;
    for (text, what) in [
        (format!("{further:020} {hash}\n"), DamageKind::Truncated),
        (
            format!("{number} {}\n", "0".repeat(64)),
            DamageKind::HeadMismatch,
        ),
        ("garbage".to_owned(), DamageKind::HeadMismatch),
    ] {
        std::fs::write(&head, text).unwrap();
        assert_eq!(looked(), [what]);
    }
    std::fs::remove_file(&head).unwrap();
    assert_eq!(looked(), [DamageKind::Missing]);
    std::fs::write(&head, &line).unwrap();
    assert_eq!(looked(), []);
}

#[test]
fn the_head_has_its_say() {
    let gone = written();
    let head = gone.ledger.path().with_extension("head");
    std::fs::remove_file(&head).unwrap();
    assert_eq!(
        places(&gone.ledger.verify().wait().unwrap()),
        [(DamagedPlace::Head, DamageKind::Missing)]
    );
    gone.ledger
        .append(AuditKind::Spawn, &json!({}))
        .wait()
        .unwrap();
    assert!(gone.ledger.verify().wait().unwrap().is_sound());
    let note = gone
        .ledger
        .audit(&AuditFilter {
            kind: Some(AuditKind::HeadMissing),
            ..AuditFilter::default()
        })
        .wait();
    assert_eq!(note.unwrap().len(), 1, "that it was gone stays on record");

    let behind = written();
    let head = behind.ledger.path().with_extension("head");
    let old = std::fs::read(&head).unwrap();
    behind
        .ledger
        .append(AuditKind::Spawn, &json!({}))
        .wait()
        .unwrap();
    std::fs::write(&head, &old).unwrap();
    assert!(
        behind.ledger.verify().wait().unwrap().is_sound(),
        "killed before the head was written"
    );
    behind
        .ledger
        .append(AuditKind::Spawn, &json!({}))
        .wait()
        .unwrap();
    assert!(behind.ledger.verify().wait().unwrap().is_sound());
    for wrong in ["", "9 00", "garbage"] {
        std::fs::write(&head, wrong).unwrap();
        assert_eq!(
            places(&behind.ledger.verify().wait().unwrap()),
            [(DamagedPlace::Head, DamageKind::HeadMismatch)]
        );
    }
}

#[test]
fn requests_and_contents_are_watched_too() {
    let edits = [
        (
            "UPDATE records SET model = 'other' WHERE id = 2",
            DamagedPlace::Request(crate::RecordId(2)),
        ),
        (
            "UPDATE records SET cost = 1 WHERE id = 2",
            DamagedPlace::Request(crate::RecordId(2)),
        ),
        (
            "UPDATE records SET manifest = x'02' WHERE id = 3",
            DamagedPlace::Request(crate::RecordId(3)),
        ),
        (
            "UPDATE sessions SET key = 'agent:other:main'",
            DamagedPlace::Request(crate::RecordId(1)),
        ),
        (
            "DELETE FROM records WHERE id = 2",
            DamagedPlace::Request(crate::RecordId(2)),
        ),
        (
            "UPDATE blobs SET data = x'00ff' WHERE id = 3",
            DamagedPlace::Content(3),
        ),
        (
            "UPDATE blobs SET tokens = tokens + 1 WHERE id = 3",
            DamagedPlace::Content(3),
        ),
        ("DELETE FROM blobs WHERE id = 3", DamagedPlace::Content(3)),
    ];
    for (edit, place) in edits {
        let desk = written();
        desk.sql().execute(edit, []).unwrap();
        let found = places(&desk.ledger.verify().wait().unwrap());
        assert_eq!(
            found.first().map(|(place, _)| *place),
            Some(place),
            "{edit}: {found:?}"
        );
    }
}
