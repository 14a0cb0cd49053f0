//! Killed while a call is paid for: what was answered is paid once, what was cut off is paid as
//! far as it is known, and looking again changes nothing.

use chela_core::Host;
use chela_ledger::{Ledger, LimitOf, LimitScope, RecordFilter, ReserveAsk, SpendingBound};
use chela_store::WaitHere as _;
use chela_testkit::{EndpointScript, ScriptStep, TokenCounts};
use serde_json::json;

use super::{KillCounts, WorkSpan, rounds};
use crate::scene::{APIS, ScriptedHome};

const ANSWER: TokenCounts = TokenCounts {
    input: 9_000,
    output: 100,
    cached: 0,
    cache_write: 0,
    reasoning: 0,
};

#[test]
fn a_killed_call_is_paid_once_at_most() {
    let answer = ScriptStep {
        piece_ms: 2,
        usage: Some(ANSWER),
        ..ScriptStep::reply("one two three four five six")
    };
    let scene = ScriptedHome::with(
        APIS[0],
        EndpointScript::always(answer),
        json!({ "limits": { "session": { "tokens": 100_000_000 } } }),
    );
    scene.chat("first").ok();
    let span = WorkSpan::of(&scene, &["chat", "-m", "second"]);
    let mut counts = KillCounts::of("settlement of calls");
    let rounds = rounds(8);
    for round in 0..rounds {
        let args = ["chat", "-m", &format!("round {round}")];
        counts.kill(&scene, &args, span);
    }
    let host = Host::fixed(scene.home.path(""));
    let path = scene.home.path(".chela/state/ledger.sqlite");
    let ledger = Ledger::open_file(&host, &path).unwrap();
    let records = ledger.list(&RecordFilter::default()).wait().unwrap();
    let sent = scene.endpoint.calls().len();
    counts.expect_kept(records.len() >= sent, || {
        format!("{sent} were sent, {} are on record", records.len())
    });
    let answered: u64 = records
        .iter()
        .filter_map(|record| record.usage.as_ref())
        .map(|usage| usage.input + usage.output)
        .sum();
    let cut_off = records.iter().filter(|one| one.usage.is_none()).count();
    let largest = records.iter().map(|one| one.tokens).max().unwrap();
    let spent = spent(&ledger, &records[0].session);
    // Every answer on record is paid for; besides those, each killed process has at most one call
    // nobody knows the end of, at no more than an answer costs.
    let most_each = (2 * largest).max(ANSWER.input + ANSWER.output);
    counts.expect_kept(spent >= answered, || {
        format!("{spent} tokens paid of {answered}")
    });
    let most = answered + rounds as u64 * most_each;
    counts.done_twice(
        (spent > most)
            .then(|| format!("{spent} tokens paid for {answered} and {cut_off} cut off"))
            .into_iter(),
    );
    assert!(cut_off <= rounds);
    assert_eq!(self::spent(&ledger, &records[0].session), spent);
    let again = Ledger::open_file(&host, &path).unwrap();
    assert_eq!(self::spent(&again, &records[0].session), spent);
    assert!(again.verify().wait().unwrap().is_sound());
    let paid = records.len() - cut_off;
    counts.finish(
        &scene,
        format!("{paid} answered and paid, {cut_off} cut off"),
    );
}

/// Tokens that count against a session.
fn spent(ledger: &Ledger, session: &str) -> u64 {
    let limit = SpendingBound {
        scope: LimitScope::Session,
        of: LimitOf::Agent,
        tokens: Some(1),
        micro_dollars: None,
        key: String::new(),
    };
    let ask = ReserveAsk {
        agent: "main".into(),
        session: session.into(),
        ..ReserveAsk::default()
    };
    ledger.used(&ask, &limit).wait().unwrap().tokens
}
