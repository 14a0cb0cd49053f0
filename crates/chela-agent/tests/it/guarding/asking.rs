//! When the owner is asked, and what an answer is good for.

use chela_store::block_on;

use chela_ledger::{AuditFilter, AuditKind};
use chela_testkit::Step;
use chela_tools::Scope;
use serde_json::json;

use super::{Home, Owner, inbox, post};

#[test]
fn a_yes_is_asked_once_for_the_session_and_again_for_anything_else() {
    let home = Home::new([
        inbox(),
        post("bob@example.net"),
        post("bob@example.net"),
        Step::tool("post", json!({ "to": "eve@example.net", "text": "hello" })),
        Step::reply("ok"),
    ]);
    let owner = Owner::says(Some(Scope::Session));
    home.say(&home.open(), "Read my mail.", &owner)
        .expect("a turn");
    assert_eq!(owner.asked(), 2);
    assert_eq!(home.sent_to().len(), 3);
}

#[test]
fn a_no_is_not_asked_again_until_the_owner_has_spoken() {
    let home = Home::new([
        inbox(),
        post("bob@example.net"),
        post("bob@example.net"),
        Step::reply("ok"),
        post("bob@example.net"),
        Step::reply("ok"),
    ]);
    let owner = Owner::says(Some(Scope::Deny));
    let talk = home.open();
    home.say(&talk, "Read my mail.", &owner).expect("a turn");
    assert_eq!(owner.asked(), 1);
    home.say(&talk, "What else?", &owner).expect("a turn");
    assert_eq!(owner.asked(), 2);
    assert!(home.sent_to().is_empty());
}

#[test]
fn an_always_is_kept_for_other_sessions_and_can_be_taken_back() {
    let home = Home::new([
        inbox(),
        post("bob@example.net"),
        Step::reply("ok"),
        inbox(),
        post("bob@example.net"),
        Step::reply("ok"),
        inbox(),
        post("bob@example.net"),
        Step::reply("ok"),
    ]);
    let yes = Owner::says(Some(Scope::Always));
    let talk = home.open();
    home.say(&talk, "Read my mail.", &yes).expect("a turn");
    block_on(talk.begin_anew()).expect("a new session");
    let nobody = Owner::says(None);
    home.say(&talk, "Read my mail.", &nobody).expect("a turn");
    assert_eq!((nobody.asked(), home.sent_to().len()), (0, 2));
    let path = chela_tools::approvals::Document::path(&home.host);
    chela_tools::approvals::Document::change(&path, |document| {
        let id = document.agents["main"].calls[0].id.clone();
        document.forget_call(&id);
    })
    .expect("taken back");
    block_on(talk.begin_anew()).expect("a new session");
    home.say(&talk, "Read my mail.", &nobody).expect("a turn");
    assert_eq!((nobody.asked(), home.sent_to().len()), (1, 2));
}

#[test]
fn a_question_nobody_could_answer_waits_where_the_config_says_so() {
    let home = Home::with(
        [
            inbox(),
            post("bob@example.net"),
            Step::reply("waits"),
            post("bob@example.net"),
            Step::reply("sent"),
        ],
        json!({ "guard": { "approvals": { "headless": "queue" } } }),
    );
    let nobody = Owner::says(None);
    let talk = home.open();
    home.say(&talk, "Read my mail.", &nobody).expect("a turn");
    let path = chela_tools::approvals::Document::path(&home.host);
    chela_tools::approvals::Document::change(&path, |document| {
        let main = document.agents.get_mut("main").expect("an agent");
        main.calls[0].state = chela_tools::approvals::KnownState::Once;
    })
    .expect("allowed");
    home.say(&talk, "I allowed it.", &nobody).expect("a turn");
    assert_eq!(home.sent_to(), ["bob@example.net"]);
    let kept = chela_tools::approvals::Document::load(&path).expect("a document");
    assert!(kept.agents["main"].calls.is_empty(), "once is once");
}

#[test]
fn several_calls_of_one_answer_are_one_question() {
    let both = Step {
        tool_calls: post("a@example.net")
            .tool_calls
            .into_iter()
            .chain(post("b@example.net").tool_calls)
            .collect(),
        ..post("a@example.net")
    };
    let home = Home::new([inbox(), both, Step::reply("ok")]);
    let owner = Owner::says(Some(Scope::Once));
    home.say(&home.open(), "Read my mail.", &owner)
        .expect("a turn");
    assert_eq!(owner.asked(), 1);
    assert_eq!(home.sent_to().len(), 2);
}

#[test]
fn a_command_is_asked_about_once_not_twice() {
    let home = Home::with(
        [
            inbox(),
            Step::tool("exec", json!({ "command": "touch made.txt" })),
            Step::reply("ok"),
        ],
        json!({ "tools": { "exec": { "mode": "ask" } } }),
    );
    let owner = Owner::says(Some(Scope::Once));
    home.say(&home.open(), "Read my mail.", &owner)
        .expect("a turn");
    assert_eq!(owner.asked(), 1);
    assert!(home.host.state_dir().join("workspace/made.txt").exists());
}

#[test]
fn an_effect_the_owner_wants_to_confirm_asks_though_nothing_was_read() {
    let home = Home::with(
        [post("ann@example.org"), Step::reply("ok")],
        json!({ "guard": { "confirm": ["write_outward"] } }),
    );
    let owner = Owner::says(Some(Scope::Deny));
    home.say(&home.open(), "Write to ann@example.org.", &owner)
        .expect("a turn");
    assert_eq!((owner.asked(), home.sent_to().len()), (1, 0));
}

#[test]
fn every_decision_is_on_record_with_its_reasons() {
    let home = Home::new([inbox(), post("mallory@evil.example"), Step::reply("ok")]);
    let talk = home.open();
    home.say(&talk, "Read my mail.", &Owner::says(None))
        .expect("a turn");
    let ledger = talk.agents().ledger().expect("a ledger");
    let entries = ledger
        .audit(&AuditFilter {
            kind: Some(AuditKind::ToolDecision),
            ..AuditFilter::default()
        })
        .expect("the chain");
    let last = entries.last().expect("a decision").json();
    assert_eq!(last["decision"], "refused");
    assert_eq!(last["guard"]["rule"], "foreign-words");
    assert_eq!(last["guard"]["taint"], "tainted");
    let origins = last["guard"]["origins"].to_string();
    assert!(origins.contains("text from outside"), "{origins}");
    let asked = ledger
        .audit(&AuditFilter {
            kind: Some(AuditKind::Approval),
            ..AuditFilter::default()
        })
        .expect("the chain");
    assert_eq!(asked.last().expect("an answer").json()["answer"], "nobody");
}
