use std::collections::BTreeSet;

use chela_core::secret::{KnownSecret, Redactor, SecretForm};
use chela_core::{Origin, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::testing::{LedgerFixture, TestRequest, chat, section};
use crate::{LedgerError, LedgerRetention, RecordFilter, RecordId, RequestChange, RequestOutcome};
use chela_store::WaitHere as _;

fn nobody(_: &str) -> Option<String> {
    None
}

fn long(word: &str) -> String {
    format!("{word} ").repeat(200)
}

#[test]
fn a_conversation_is_stored_once_and_comes_back_as_it_was_sent() {
    let desk = LedgerFixture::new();
    let prompt = long("rule");
    let mut messages: Vec<String> = Vec::new();
    let mut sent = Vec::new();
    let mut contents = Vec::new();
    for turn in 0..10 {
        messages.push(format!("message {turn}"));
        let texts: Vec<&str> = messages.iter().map(String::as_str).collect();
        let said = TestRequest::new("s1", &chat(&prompt, &texts, &["read", "write"]));
        sent.push((desk.record(&said).0, said.body));
        let count: i64 = desk
            .sql()
            .query_row("SELECT count(*) FROM blobs", [], |row| row.get(0))
            .unwrap();
        contents.push(count);
    }
    for (id, body) in sent {
        let replayed = desk.ledger.replay(id, &nobody).wait().unwrap();
        assert!(replayed.matches());
        assert_eq!(replayed.bytes, body);
        assert_eq!(desk.ledger.raw(id).wait().unwrap(), body);
    }
    // From the third turn on, a turn is its own message and nothing else.
    assert!(
        contents
            .windows(2)
            .skip(2)
            .all(|pair| pair[1] - pair[0] == 1),
        "{contents:?}"
    );
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn secrets_do_not_reach_the_disk() {
    let desk = LedgerFixture::new();
    let value = "sk-very-secret\"quoted";
    let secret = KnownSecret {
        name: "OPENAI_API_KEY".into(),
        value: value.into(),
    };
    let redactor = Redactor::new(Some("key of the installation".into()), vec![secret]);
    desk.ledger.hide_with(std::sync::Arc::new(redactor));
    let mut said = TestRequest::new(
        "s1",
        &chat("you", &[&format!("my key is {value}, keep it")], &[]),
    );
    said.url = format!("https://api.example.com/v1?key={value}");
    let (id, _) = desk.record(&said);
    let outcome = RequestOutcome {
        response: json!({ "text": format!("I know {value}") }),
        error: Some(format!("refused {value}")),
        ..RequestOutcome::default()
    };
    desk.ledger.finish(id, &outcome).wait().unwrap();
    desk.ledger
        .append(
            crate::AuditKind::ToolDecision,
            &json!({ "argument": value }),
        )
        .wait()
        .unwrap();
    let folder = desk.ledger.path().parent().unwrap();
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("sk-very-secret"));
    }
    let record = desk.ledger.show(id).wait().unwrap();
    assert_eq!(record.redactions[0].name, "OPENAI_API_KEY");
    assert_eq!(record.redactions[0].form, SecretForm::Json);
    let error = record.outcome.unwrap().error.unwrap();
    assert!(
        error.starts_with("refused [secret:OPENAI_API_KEY:"),
        "{error}"
    );
    let blind = desk.ledger.replay(id, &nobody).wait().unwrap();
    assert!(!blind.matches());
    assert_eq!(blind.unknown_secrets, ["OPENAI_API_KEY"]);
    let knowing = |name: &str| (name == "OPENAI_API_KEY").then(|| value.to_owned());
    let replayed = desk.ledger.replay(id, &knowing).wait().unwrap();
    assert!(replayed.matches());
    assert_eq!(replayed.bytes, said.body);
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn an_outcome_may_be_completed() {
    let desk = LedgerFixture::new();
    let (id, _) = desk.record(&TestRequest::new("s1", &chat("you", &["hi"], &[])));
    assert!(desk.ledger.show(id).wait().unwrap().outcome.is_none());
    let usage = Usage {
        input: 10,
        output: 2,
        ..Usage::default()
    };
    let mut outcome = RequestOutcome {
        response: json!("hello"),
        usage: Some(usage),
        cost: Some(42),
        ..RequestOutcome::default()
    };
    desk.ledger.finish(id, &outcome).wait().unwrap();
    outcome.tool_calls.push(crate::CallMark {
        id: "c1".into(),
        tool: "read".into(),
        decision: "allowed".into(),
        outcome: "done".into(),
    });
    desk.ledger.finish(id, &outcome).wait().unwrap();
    let record = desk.ledger.show(id).wait().unwrap();
    assert_eq!(record.outcome, Some(outcome.clone()));
    assert_eq!(record.summary.usage, Some(usage));
    assert_eq!(record.summary.cost, Some(42));
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
    let error = desk
        .ledger
        .finish(RecordId(99), &outcome)
        .wait()
        .unwrap_err();
    assert!(matches!(error, LedgerError::NoRecord(99)));
    assert!(matches!(
        desk.ledger.show(RecordId(99)).wait(),
        Err(LedgerError::NoRecord(99))
    ));
}

#[test]
fn requests_are_listed_by_what_they_belong_to() {
    let desk = LedgerFixture::new();
    for session in ["s1", "s2", "s1"] {
        desk.record(&TestRequest::new(session, &chat("you", &["hi"], &[])));
        desk.pass(1000);
    }
    let ids = |filter: RecordFilter| -> Vec<i64> {
        let list = desk.ledger.list(&filter).wait().unwrap();
        list.iter().map(|summary| summary.id.0).collect()
    };
    assert_eq!(ids(RecordFilter::default()), [1, 2, 3]);
    let of_s1 = RecordFilter {
        session: Some("s1".into()),
        ..RecordFilter::default()
    };
    assert_eq!(ids(of_s1), [1, 3]);
    let newest = RecordFilter {
        limit: Some(2),
        ..RecordFilter::default()
    };
    assert_eq!(ids(newest), [2, 3]);
    let later = RecordFilter {
        since: Some(1_700_000_001_000),
        until: Some(1_700_000_001_999),
        ..RecordFilter::default()
    };
    assert_eq!(ids(later), [2]);
    let find = |given| desk.ledger.find_session(given).wait().unwrap();
    assert_eq!(find(None).as_deref(), Some("s1"));
    assert_eq!(find(Some("s2")).as_deref(), Some("s2"));
    assert_eq!(find(Some("agent:main:main")).as_deref(), Some("s1"));
    assert_eq!(find(Some("main")).as_deref(), Some("s1"));
    assert_eq!(find(Some("ain")), None);
}

#[test]
fn differences_are_named_part_by_part() {
    let desk = LedgerFixture::new();
    let mut one = TestRequest::new(
        "s1",
        &chat("you are one", &["hi", "hello", "how?"], &["read", "exec"]),
    );
    one.sections = vec![section("project", Origin::file("SOUL.md", "a"), "a")];
    let mut other = TestRequest::new(
        "s1",
        &chat(
            "you are two",
            &["hi", "HELLO", "how?", "so"],
            &["read", "grep"],
        ),
    );
    other.sections = vec![section("project", Origin::file("SOUL.md", "b"), "b")];
    let (one, other) = (desk.record(&one).0, desk.record(&other).0);
    let found: Vec<String> = desk
        .ledger
        .diff(one, other)
        .wait()
        .unwrap()
        .into_iter()
        .map(|found| {
            let word = match found.change {
                RequestChange::Added => "+",
                RequestChange::Changed => "~",
                RequestChange::Removed => "-",
            };
            format!("{word} {}", found.place)
        })
        .collect();
    assert_eq!(
        found,
        [
            "+ tool grep",
            "- tool exec",
            "~ section project (SOUL.md)",
            "~ message 2 (assistant)",
            "+ message 4 (assistant)",
        ]
    );
    assert!(desk.ledger.diff(one, one).wait().unwrap().is_empty());
}

#[test]
fn forgetting_takes_what_nobody_else_uses() {
    let desk = LedgerFixture::new();
    let shared = long("shared");
    let secret = "nothing but a memory";
    desk.record(&TestRequest::new("s1", &chat(&shared, &[secret], &[])));
    let first = desk
        .record(&TestRequest::new(
            "s1",
            &chat(&shared, &[&long("mine")], &[]),
        ))
        .0;
    let second = desk
        .record(&TestRequest::new(
            "s2",
            &chat(&shared, &[&long("yours")], &[]),
        ))
        .0;
    let before = desk.ledger.stored_bytes().wait().unwrap();
    let gone = desk.ledger.forget_session("s1").wait().unwrap();
    assert_eq!(gone.requests, 2);
    assert!(gone.contents >= 2);
    for file in std::fs::read_dir(desk.ledger.path().parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(secret));
    }
    assert_eq!(
        desk.ledger.stored_bytes().wait().unwrap(),
        before - gone.bytes
    );
    assert!(matches!(
        desk.ledger.raw(first).wait(),
        Err(LedgerError::NoRecord(_))
    ));
    assert!(
        desk.ledger
            .replay(second, &nobody)
            .wait()
            .unwrap()
            .matches()
    );
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
    desk.ledger.forget_session("s2").wait().unwrap();
    assert_eq!(desk.ledger.stored_bytes().wait().unwrap(), 0);
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn the_old_and_the_too_much_go() {
    let desk = LedgerFixture::new();
    for turn in 0..20 {
        desk.record(&TestRequest::new(
            "s1",
            &chat("you", &[&long(&format!("text{turn}"))], &[]),
        ));
        desk.pass(1000);
    }
    let by_age = LedgerRetention {
        age: Some(15_000),
        ..LedgerRetention::default()
    };
    assert_eq!(desk.ledger.retain(by_age).wait().unwrap().requests, 5);
    let most = desk.ledger.stored_bytes().wait().unwrap() / 2;
    let by_size = LedgerRetention {
        bytes: Some(most),
        ..LedgerRetention::default()
    };
    let gone = desk.ledger.retain(by_size).wait().unwrap();
    assert!(gone.requests > 0 && gone.requests < 15, "{gone:?}");
    assert!(desk.ledger.stored_bytes().wait().unwrap() <= most);
    let left = desk.ledger.list(&RecordFilter::default()).wait().unwrap();
    for summary in &left {
        assert!(
            desk.ledger
                .replay(summary.id, &nobody)
                .wait()
                .unwrap()
                .matches()
        );
    }
    assert!(!desk.ledger.path().with_extension("kept").exists());
    let newest: BTreeSet<i64> = left.iter().map(|summary| summary.id.0).collect();
    assert!(newest.contains(&20) && !newest.contains(&6));
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn a_look_at_what_would_go_changes_nothing() {
    let desk = LedgerFixture::new();
    for turn in 0..600 {
        desk.record(&TestRequest::new(
            "s1",
            &chat("you", &[&format!("{turn}")], &[]),
        ));
        desk.pass(10);
    }
    let all = LedgerRetention {
        age: Some(1_000),
        bytes: None,
    };
    let verdict = desk.ledger.verify().wait().unwrap();
    let would = desk.ledger.would_retain(all).wait().unwrap();
    assert_eq!(desk.ledger.verify().wait().unwrap(), verdict);
    // More than one part's worth.
    assert_eq!(would.requests, 500);
    assert_eq!(desk.ledger.retain(all).wait().unwrap(), would);
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn once_a_day_is_enough() {
    const HOUR: u64 = 3_600_000;
    let desk = LedgerFixture::new();
    let keep = LedgerRetention {
        age: Some(HOUR),
        bytes: None,
    };
    let say = |text: &str| desk.record(&TestRequest::new("s1", &chat("you", &[text], &[])));
    let requests = || {
        let gone = desk.ledger.retain_daily(keep).wait().unwrap();
        gone.map(|gone| gone.requests)
    };
    say("one");
    assert_eq!(requests(), Some(0));
    desk.pass(2 * HOUR);
    assert_eq!(requests(), None);
    desk.pass(22 * HOUR);
    assert_eq!(requests(), Some(1));
    // A clock that was set back does not keep everything for ever.
    say("two");
    std::fs::write(desk.ledger.path().with_extension("kept"), "9999999999999").unwrap();
    desk.pass(2 * HOUR);
    assert_eq!(requests(), Some(1));
}

#[test]
fn two_processes_record_at_once() {
    let desk = LedgerFixture::new();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let desk = &desk;
            scope.spawn(move || {
                let ledger = desk.again();
                for turn in 0..10 {
                    let text = format!("worker {worker} turn {turn}");
                    let said = TestRequest::new(&format!("s{worker}"), &chat("you", &[&text], &[]));
                    ledger.begin(&said.record()).wait().unwrap();
                }
            });
        }
    });
    let all = desk.ledger.list(&RecordFilter::default()).wait().unwrap();
    assert_eq!(all.len(), 40);
    for summary in all {
        assert!(
            desk.ledger
                .replay(summary.id, &nobody)
                .wait()
                .unwrap()
                .matches()
        );
    }
    let verdict = desk.ledger.verify().wait().unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.damage);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        "[a-z\"\\\\\n]{250,300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((".{0,5}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_request_is_replayed(
        bodies in prop::collection::vec(
            prop_oneof![
                value().prop_map(|value| value.to_string().into_bytes()),
                prop::collection::vec(any::<u8>(), 0..200),
            ],
            1..6,
        )
    ) {
        let desk = LedgerFixture::new();
        for body in bodies {
            let said = TestRequest { body, ..TestRequest::new("s1", &Value::Null) };
            let (id, _) = desk.record(&said);
            let replayed = desk.ledger.replay(id, &nobody).wait().unwrap();
            prop_assert!(replayed.matches());
            prop_assert_eq!(replayed.bytes, said.body);
        }
        prop_assert!(desk.ledger.verify().wait().unwrap().is_sound());
    }

    #[test]
    fn requests_that_share_their_ends_are_replayed(
        talks in prop::collection::vec(prop::collection::vec("[ab]", 0..6), 2..8)
    ) {
        let desk = LedgerFixture::new();
        for talk in talks {
            let messages: Vec<&str> = talk.iter().map(String::as_str).collect();
            let said = TestRequest::new("s1", &chat(&long("rule"), &messages, &["read", "write"]));
            let (id, _) = desk.record(&said);
            let replayed = desk.ledger.replay(id, &nobody).wait().unwrap();
            prop_assert!(replayed.matches());
            prop_assert_eq!(replayed.bytes, said.body);
        }
    }
}

#[test]
fn a_clock_that_ran_ahead_deletes_nothing() {
    const DAY: u64 = 86_400_000;
    let desk = LedgerFixture::new();
    let keep = LedgerRetention {
        age: Some(180 * DAY),
        bytes: None,
    };
    let say = |text: &str| desk.record(&TestRequest::new("s1", &chat("you", &[text], &[])));
    let keep_house = || desk.ledger.retain_daily(keep).wait().unwrap();
    for text in ["one", "two", "three"] {
        say(text);
        keep_house();
        desk.pass(2 * DAY);
    }
    desk.pass(400 * DAY);
    say("from the future");
    assert_eq!(keep_house().unwrap().requests, 0);
    let all = RecordFilter::default();
    assert_eq!(desk.ledger.list(&all).wait().unwrap().len(), 4);
    // It was no mistake: a day later the clock has gone on as clocks do.
    desk.pass(2 * DAY);
    let gone = keep_house().unwrap();
    assert_eq!((gone.requests, gone.after_jump), (1, true));
    desk.pass(2 * DAY);
    let gone = keep_house().unwrap();
    assert_eq!((gone.requests, gone.after_jump), (1, false), "told once");
}

/// A small home keeps most of its record however long the clock stays wrong, what was spent too.
#[test]
fn a_clock_that_stays_ahead_deletes_a_share_a_day() {
    const DAY: u64 = 86_400_000;
    let desk = LedgerFixture::new();
    let keep = LedgerRetention {
        age: Some(180 * DAY),
        bytes: None,
    };
    let keep_house = || desk.ledger.retain_daily(keep).wait().unwrap().unwrap();
    for text in 0..40 {
        let text = format!("word {text}");
        desk.record(&TestRequest::new("s1", &chat("you", &[&text], &[])));
        let ask = crate::ReserveAsk::default();
        let call = desk.ledger.reserve(&ask).wait().unwrap();
        let paid = desk.ledger.settle(&call, crate::Amount::default());
        paid.wait().unwrap();
    }
    keep_house();
    desk.pass(400 * DAY);
    assert!(keep_house().is_empty());
    for share in [10, 7, 5] {
        desk.pass(DAY);
        let gone = keep_house();
        assert_eq!((gone.requests, gone.calls), (share, share));
    }
}

#[test]
fn a_clock_that_nothing_can_be_compared_with_deletes_nothing() {
    const DAY: u64 = 86_400_000;
    let desk = LedgerFixture::new();
    let keep = LedgerRetention {
        age: Some(180 * DAY),
        bytes: None,
    };
    let note = desk.ledger.path().with_extension("kept");
    let keep_house = || desk.ledger.retain_daily(keep).wait().unwrap().unwrap();
    desk.record(&TestRequest::new("s1", &chat("you", &["hi"], &[])));
    desk.pass(400 * DAY);
    assert!(keep_house().is_empty());
    desk.pass(DAY);
    std::fs::write(&note, "never").unwrap();
    assert!(keep_house().is_empty());
    desk.pass(DAY);
    assert_eq!(keep_house().requests, 1);
}

#[test]
fn a_model_call_and_a_tool_call_wait_for_the_disk_once_each() {
    let desk = LedgerFixture::new();
    let waits = || desk.ledger.counts().synced;
    let said = TestRequest::new("s1", &chat("you", &["hi"], &["write"]));
    let before = waits();
    let opened = desk
        .ledger
        .open_request(
            &crate::ReserveAsk::default(),
            desk.ledger.draft(&said.record()),
            chela_store::WriteDurability::Disk,
        )
        .wait()
        .unwrap();
    let (record, _) = opened.record.unwrap();
    let spent = crate::Amount::default();
    desk.ledger
        .settle(&opened.reservation, spent)
        .wait()
        .unwrap();
    desk.ledger
        .finish(record, &RequestOutcome::default())
        .wait()
        .unwrap();
    assert_eq!(waits() - before, 1);
    let decision = json!({ "tool": "write" });
    desk.ledger
        .append(crate::AuditKind::ToolDecision, &decision)
        .wait()
        .unwrap();
    desk.ledger
        .note(crate::AuditKind::ToolOutcome, &decision)
        .wait()
        .unwrap();
    assert_eq!(waits() - before, 2);
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn a_limit_that_is_reached_leaves_no_request_behind() {
    let desk = LedgerFixture::new();
    let said = TestRequest::new("s1", &chat("you", &["hi"], &[]));
    let ask = crate::ReserveAsk {
        estimate: crate::Amount {
            tokens: 10,
            micro_dollars: 0,
        },
        limits: vec![crate::SpendingBound {
            scope: crate::LimitScope::Turn,
            of: crate::LimitOf::Agent,
            tokens: Some(5),
            micro_dollars: None,
            key: "limits.turn".to_owned(),
        }],
        ..crate::ReserveAsk::default()
    };
    let refused = desk
        .ledger
        .open_request(
            &ask,
            desk.ledger.draft(&said.record()),
            chela_store::WriteDurability::Disk,
        )
        .wait();
    assert!(matches!(refused, Err(crate::ReserveError::Limit(_))));
    let all = RecordFilter::default();
    assert!(desk.ledger.list(&all).wait().unwrap().is_empty());
}
