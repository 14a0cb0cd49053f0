//! A process that dies between an entry and what it speaks of.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};

use chela_store::WaitHere as _;
use serde_json::json;

use crate::audit::{AuditFilter, AuditKind};
use crate::testing::{LedgerFixture, TestRequest, chat};
use crate::{Ledger, RequestOutcome};

/// Tells the test binary that it is the one to be killed, and where.
const CHILD: &str = "CHELA_TEST_ACTOR";

#[test]
fn the_one_that_is_killed() {
    let Some(home) = std::env::var_os(CHILD) else {
        return;
    };
    let home = std::path::PathBuf::from(home);
    let ledger = Ledger::open(&chela_core::Host::fixed(&home)).unwrap();
    let mut effects = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(home.join("effects"))
        .unwrap();
    loop {
        let seq = ledger
            .append(AuditKind::ToolDecision, &json!({}))
            .wait()
            .unwrap();
        writeln!(effects, "{seq}").unwrap();
        println!("did {seq}");
        let said = TestRequest::new("s1", &chat("you", &[&format!("text {seq}")], &[]));
        let (id, _) = ledger.begin(&said.record()).wait().unwrap();
        ledger
            .finish(id, &RequestOutcome::default())
            .wait()
            .unwrap();
    }
}

#[test]
fn no_effect_is_without_its_entry() {
    let desk = LedgerFixture::new();
    for round in 1..=6 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "audit::tests::killed::the_one_that_is_killed",
                "--nocapture",
            ])
            .env(CHILD, desk.home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        let acts = lines
            .map_while(Result::ok)
            .filter(|line| line.contains("did "))
            .take(round * 3)
            .count();
        assert_eq!(acts, round * 3);
        child.kill().unwrap();
        child.wait().unwrap();
        let verdict = desk.again().verify().wait().unwrap();
        assert!(verdict.is_sound(), "{:?}", verdict.damage);
    }
    let decided: Vec<u64> = desk
        .ledger
        .audit(&AuditFilter {
            kind: Some(AuditKind::ToolDecision),
            ..AuditFilter::default()
        })
        .wait()
        .unwrap()
        .iter()
        .map(|entry| entry.seq)
        .collect();
    let effects = std::fs::read_to_string(desk.home.path().join("effects")).unwrap();
    for effect in effects.lines() {
        let seq: u64 = effect.parse().unwrap();
        assert!(decided.contains(&seq), "{seq}");
    }
}
