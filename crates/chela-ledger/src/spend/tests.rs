use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use chela_core::{ContentHash, Origin, Usage};
use serde_json::json;

use crate::testing::{LedgerFixture, TestRequest, chat, section};
use crate::{
    Amount, Ledger, LimitOf, LimitScope, RequestOutcome, ReserveAsk, ReserveError, SpendingBound,
    ToolMark, UsageBy, UsageRange,
};
use chela_store::WaitHere as _;

fn tokens(tokens: u64) -> Amount {
    Amount {
        tokens,
        micro_dollars: tokens * 3,
    }
}

fn limit(scope: LimitScope, of: LimitOf, tokens: u64) -> SpendingBound {
    SpendingBound {
        scope,
        of,
        tokens: Some(tokens),
        micro_dollars: None,
        key: "limits.day".into(),
    }
}

fn ask(limits: Vec<SpendingBound>) -> ReserveAsk {
    ReserveAsk {
        agent: "main".into(),
        session: "s1".into(),
        turn: "t1".into(),
        job: "chat".into(),
        model: "openai/gpt-5".into(),
        estimate: tokens(100),
        known: Amount::default(),
        limits,
        day: "2026-11-15".into(),
        month: "2026-11".into(),
        lasts: 600_000,
    }
}

#[test]
fn side_by_side_nobody_gets_past_the_limit() {
    let desk = LedgerFixture::new();
    let sent = AtomicU32::new(0);
    let refused = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let ledger = desk.again();
                match ledger
                    .reserve(&ask(vec![limit(LimitScope::Day, LimitOf::Agent, 1000)]))
                    .wait()
                {
                    Ok(reservation) => {
                        sent.fetch_add(1, Ordering::SeqCst);
                        ledger.settle(&reservation, tokens(100)).wait().unwrap();
                    }
                    Err(ReserveError::Limit(_)) => {
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(error) => panic!("{error}"),
                }
            });
        }
    });
    assert_eq!(sent.load(Ordering::SeqCst), 10);
    assert_eq!(refused.load(Ordering::SeqCst), 10);
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn the_estimate_counts_until_the_truth_is_known() {
    let desk = LedgerFixture::new();
    let bound = limit(LimitScope::Turn, LimitOf::Agent, 250);
    let ask = ask(vec![bound.clone()]);
    let first = desk.ledger.reserve(&ask).wait().unwrap();
    let second = desk.ledger.reserve(&ask).wait().unwrap();
    let ReserveError::Limit(reached) = desk.ledger.reserve(&ask).wait().unwrap_err() else {
        panic!("expected the limit");
    };
    assert_eq!(reached.used, tokens(200));
    insta::assert_snapshot!(reached, @"Spending limit for this turn reached: 200 of 250 tokens \
        used, and the next call may take 100. Raise limits.day to continue.");
    desk.ledger.settle(&first, tokens(10)).wait().unwrap();
    desk.ledger.settle(&first, tokens(90)).wait().unwrap();
    assert_eq!(desk.ledger.used(&ask, &bound).wait().unwrap(), tokens(110));
    desk.ledger.release(second).wait().unwrap();
    assert_eq!(desk.ledger.used(&ask, &bound).wait().unwrap(), tokens(10));
}

#[test]
fn limits_count_what_they_are_for() {
    let desk = LedgerFixture::new();
    let day = limit(LimitScope::Day, LimitOf::Agent, 150);
    let taken = desk.ledger.reserve(&ask(vec![day.clone()])).wait().unwrap();
    desk.ledger.settle(&taken, tokens(100)).wait().unwrap();
    assert!(desk.ledger.reserve(&ask(vec![day.clone()])).wait().is_err());
    let tomorrow = ReserveAsk {
        day: "2026-11-16".into(),
        ..ask(vec![day.clone()])
    };
    let another_agent = ReserveAsk {
        agent: "research".into(),
        ..ask(vec![day.clone()])
    };
    let heartbeat = ReserveAsk {
        job: "heartbeat".into(),
        ..ask(vec![limit(LimitScope::Day, LimitOf::Job, 150)])
    };
    let in_dollars = ReserveAsk {
        limits: vec![SpendingBound {
            tokens: None,
            micro_dollars: Some(299),
            ..limit(LimitScope::Session, LimitOf::Agent, 0)
        }],
        ..tomorrow.clone()
    };
    for free in [&tomorrow, &another_agent, &heartbeat] {
        let reservation = desk.ledger.reserve(free).wait().unwrap();
        desk.ledger.release(reservation).wait().unwrap();
    }
    let message = desk
        .ledger
        .reserve(&in_dollars)
        .wait()
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(message, @"Spending limit for this session reached: $0.0003 of \
        $0.000299 used, and the next call may take $0.0003. Raise limits.day to continue.");
}

/// Tells the test binary that it is the one to be killed, and where.
const CHILD: &str = "CHELA_TEST_RESERVER";

#[test]
fn the_one_that_is_killed() {
    let Some(home) = std::env::var_os(CHILD) else {
        return;
    };
    let host = chela_core::Host::fixed(std::path::PathBuf::from(home));
    let ledger = Ledger::open(&host).unwrap();
    let settled = ledger.reserve(&ask(Vec::new())).wait().unwrap();
    ledger.settle(&settled, tokens(7)).wait().unwrap();
    let open = ReserveAsk {
        known: tokens(30),
        ..ask(Vec::new())
    };
    let _open = ledger.reserve(&open).wait().unwrap();
    println!("reserved");
    loop {
        std::thread::park();
    }
}

#[test]
fn of_what_the_dead_had_taken_only_the_known_part_counts() {
    use std::io::BufRead;
    let desk = LedgerFixture::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "spend::tests::the_one_that_is_killed",
            "--nocapture",
        ])
        .env(CHILD, desk.home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(
        lines
            .map_while(Result::ok)
            .any(|line| line.contains("reserved"))
    );
    let bound = limit(LimitScope::Day, LimitOf::Agent, 1000);
    let ask = ask(vec![bound.clone()]);
    assert_eq!(
        desk.ledger.used(&ask, &bound).wait().unwrap(),
        tokens(107),
        "while it lives"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    for look in 0..3 {
        assert_eq!(
            desk.ledger.used(&ask, &bound).wait().unwrap(),
            tokens(37),
            "once it is dead, at look {look}"
        );
    }
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn what_takes_too_long_is_given_back() {
    let desk = LedgerFixture::new();
    let bound = limit(LimitScope::Day, LimitOf::Agent, 1000);
    let ask = ask(vec![bound.clone()]);
    let late = desk.ledger.reserve(&ask).wait().unwrap();
    desk.pass(600_001);
    assert_eq!(
        desk.ledger.used(&ask, &bound).wait().unwrap(),
        Amount::default()
    );
    // It came to an end after all: what it cost is not forgotten.
    desk.ledger.settle(&late, tokens(5)).wait().unwrap();
    desk.ledger.settle(&late, tokens(5)).wait().unwrap();
    assert_eq!(desk.ledger.used(&ask, &bound).wait().unwrap(), tokens(5));
}

#[test]
fn a_late_end_takes_the_place_of_what_was_known() {
    let desk = LedgerFixture::new();
    let bound = limit(LimitScope::Day, LimitOf::Agent, 1000);
    let ask = ReserveAsk {
        known: tokens(40),
        ..ask(vec![bound.clone()])
    };
    let late = desk.ledger.reserve(&ask).wait().unwrap();
    desk.pass(600_001);
    assert_eq!(desk.ledger.used(&ask, &bound).wait().unwrap(), tokens(40));
    desk.ledger.settle(&late, tokens(90)).wait().unwrap();
    desk.ledger.settle(&late, tokens(90)).wait().unwrap();
    assert_eq!(desk.ledger.used(&ask, &bound).wait().unwrap(), tokens(90));
}

#[test]
fn usage_is_summed_by_what_is_asked_for() {
    let desk = LedgerFixture::new();
    let system = "s".repeat(500);
    for (turn, model) in ["a/x", "a/x", "b/y"].into_iter().enumerate() {
        let mut said = TestRequest::new("s1", &chat(&system, &["hi"], &["read"]));
        said.model = model.to_owned();
        said.sections = vec![
            section("identity", Origin::BuiltIn, &system[..100]),
            section("project", Origin::BuiltIn, &system[100..]),
            section("project", Origin::file("SOUL.md", ""), &system[120..]),
        ];
        said.tools = vec![ToolMark {
            name: "read".into(),
            hash: ContentHash::of("read"),
            bytes: 60,
        }];
        let (id, _) = desk.record(&said);
        if turn > 0 {
            let outcome = RequestOutcome {
                response: json!("ok"),
                usage: Some(Usage {
                    input: 1000,
                    output: 10,
                    ..Usage::default()
                }),
                cost: Some(50),
                ..RequestOutcome::default()
            };
            desk.ledger.finish(id, &outcome).wait().unwrap();
        }
    }
    let sums = |by| {
        let day = |at: u64| format!("day {}", at / 86_400_000);
        desk.ledger
            .usage(by, UsageRange::default(), &day)
            .wait()
            .unwrap()
    };
    let names = |by| -> Vec<(String, u64)> {
        sums(by)
            .into_iter()
            .map(|sum| (sum.name, sum.requests))
            .collect()
    };
    assert_eq!(
        names(UsageBy::Model),
        [("a/x".into(), 2), ("b/y".into(), 1)]
    );
    assert_eq!(names(UsageBy::Agent), [("main".into(), 3)]);
    assert_eq!(names(UsageBy::Day), [("day 19675".into(), 3)]);
    let causes: Vec<String> = names(UsageBy::Cause)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert!(
        causes.contains(&"first".into()) && causes.contains(&"provider".into()),
        "{causes:?}"
    );
    let total: u64 = sums(UsageBy::Agent)[0].input;
    let sections = sums(UsageBy::Section);
    assert_eq!(sections.iter().map(|sum| sum.input).sum::<u64>(), total);
    assert_eq!(sections[0].name, "SOUL.md");
    let of = |name: &str| sections.iter().find(|sum| sum.name == name).unwrap().input;
    assert!(
        of("project") * 10 < of("SOUL.md"),
        "a file does not count twice: {sections:?}"
    );
    assert_eq!(sums(UsageBy::Agent)[0].estimated, 1);
    assert_eq!(sums(UsageBy::Agent)[0].cost, 100);
}
