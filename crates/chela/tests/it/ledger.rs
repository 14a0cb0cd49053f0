//! `chela turn`, `audit`, `cache` and `usage`: what is on record, as people see it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_core::secret::{KnownSecret, Redactor};
use chela_core::{AgentId, ContentHash, Host, Origin, SessionKey, Trust, Usage};
use chela_ledger::{AuditKind, Ledger, RequestOutcome, RequestRecord, SectionMark, ToolMark};
use chela_store::WaitHere as _;
use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome};

const SESSION: &str = "3f2a4c00-0000-4000-a000-000000000001";

/// A home in which three requests were made; the last with one tool more.
fn talked() -> TestHome {
    let home = TestHome::ready();
    put_on_record(&home);
    home
}

fn put_on_record(home: &TestHome) {
    let host = Host::fixed(home.path(""));
    let ledger = Ledger::open_file(&host, &home.path(".chela/state/ledger.sqlite")).unwrap();
    let secret = KnownSecret {
        name: "env:TEST_API_KEY".to_owned(),
        value: "sk-very-secret".to_owned(),
    };
    ledger.hide_with(std::sync::Arc::new(Redactor::new(None, vec![secret])));
    let system = "Be kind. ".repeat(200);
    let sections = [SectionMark {
        id: "identity".to_owned(),
        origin: Origin::BuiltIn,
        trust: Trust::Operator,
        hash: ContentHash::of(&system),
        bytes: system.len() as u64,
        contributor: None,
        lists: Vec::new(),
    }];
    let mut messages = vec![json!({ "role": "system", "content": system })];
    for turn in 1..=3_u32 {
        let text = format!("question {turn}, my key is sk-very-secret");
        messages.push(json!({ "role": "user", "content": text }));
        let names: &[&str] = if turn == 3 {
            &["read", "exec"]
        } else {
            &["read"]
        };
        let schemas: Vec<_> = names.iter().map(|name| json!({ "name": name })).collect();
        let tools: Vec<ToolMark> = names
            .iter()
            .map(|name| ToolMark {
                name: (*name).to_owned(),
                hash: ContentHash::of(name),
                bytes: 15,
            })
            .collect();
        let body = json!({ "model": "m", "messages": messages, "tools": schemas }).to_string();
        let request = RequestRecord {
            agent: &AgentId::main(),
            session_key: &SessionKey::parse("agent:main:main").unwrap(),
            session: SESSION,
            turn: &format!("turn-{turn}"),
            step: 1,
            model: "test/m",
            url: "http://127.0.0.1:1/v1",
            body: body.as_bytes(),
            unread: &[],
            sections: sections.to_vec().into(),
            tools: tools.clone().into(),
            rewrite: None,
        };
        let (id, _) = ledger.begin(&request).wait().unwrap();
        let outcome = RequestOutcome {
            response: json!({ "text": "answer" }),
            usage: Some(Usage {
                input: 500,
                output: 20,
                cache_read: 400,
                ..Usage::default()
            }),
            cost: Some(1_500),
            ..RequestOutcome::default()
        };
        ledger.finish(id, &outcome).wait().unwrap();
        let decision =
            json!({ "turn": request.turn, "call": "c1", "tool": "read", "decision": "run" });
        ledger
            .append(AuditKind::ToolDecision, &decision)
            .wait()
            .unwrap();
        messages.push(json!({ "role": "assistant", "content": "answer" }));
    }
}

#[test]
fn without_a_ledger_everything_says_so() {
    let home = TestHome::ready();
    for command in [
        &["turn", "list"][..],
        &["audit", "verify"],
        &["cache", "why"],
        &["usage"],
    ] {
        let said = home.run(command).ok();
        assert!(said.starts_with("Nothing is recorded yet"), "{said}");
    }
}

#[test]
fn requests_are_listed_shown_compared_and_made_again() {
    let home = talked();
    let list = home.run(&["turn", "list"]).ok();
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains("agent:main:main"), "{list}");
    let shown = home.run(&["turn", "show", "3"]).ok();
    assert!(shown.contains("the tool exec was added"), "{shown}");
    assert!(shown.contains("the secrets env:TEST_API_KEY"), "{shown}");
    assert!(shown.contains("$0.0015"), "{shown}");
    assert!(shown.contains("read  run  c1"), "{shown}");
    let raw = home.run(&["turn", "show", "3", "--raw"]).json();
    assert_eq!(
        raw["messages"][1]["content"],
        "question 1, my key is [secret:env:TEST_API_KEY]"
    );
    let diff = home.run(&["turn", "diff", "2", "3"]).ok();
    assert!(diff.contains("+ tool exec"), "{diff}");
    assert!(diff.contains("+ message 5 (user)"), "{diff}");
    let blind = home.run(&["turn", "replay", "2"]);
    assert_eq!(blind.code, 1);
    assert!(blind.out.contains("env:TEST_API_KEY"), "{blind:?}");
    let home = home.env("TEST_API_KEY", "sk-very-secret");
    let replayed = home.run(&["turn", "replay", "2", "--json"]).json();
    assert_eq!(replayed["matches"], true);
    home.run(&["turn", "show", "99"]).fails(1);
}

#[test]
fn the_audit_finds_and_exports() {
    let home = talked();
    let said = home.run(&["audit", "verify"]).ok();
    assert!(said.contains("9 entries, 3 requests"), "{said}");
    let entries = home
        .run(&["audit", "show", "--kind", "prompt-build", "--json"])
        .json();
    assert_eq!(entries.as_array().unwrap().len(), 3);
    home.run(&["audit", "show", "--kind", "gossip"]).fails(2);
    let file = home.path("audit.jsonl");
    let file = file.to_str().unwrap();
    home.run(&["audit", "export", "-o", file]).ok();
    home.run(&["audit", "verify", "--file", file]).ok();
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replacen("prompt-build", "approval", 1)).unwrap();
    let found = home.run(&["audit", "verify", "--file", file]);
    assert_eq!(found.code, 1);
    assert!(found.out.contains("entry 1 was edited"), "{found:?}");
}

/// The hash an entry ought to have, as anybody can compute it.
fn hash_of(entry: &Value) -> String {
    let prev = ContentHash::from_hex(entry["prev"].as_str().unwrap()).unwrap();
    let (seq, at) = (
        entry["seq"].as_u64().unwrap(),
        entry["at"].as_u64().unwrap(),
    );
    let values: [&[u8]; 6] = [
        b"chela audit 1",
        &seq.to_be_bytes(),
        &at.to_be_bytes(),
        entry["kind"].as_str().unwrap().as_bytes(),
        entry["body"].as_str().unwrap().as_bytes(),
        prev.as_bytes(),
    ];
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend((value.len() as u64).to_be_bytes());
        bytes.extend(value);
    }
    ContentHash::of(bytes).to_string()
}

/// Whoever can write the record can hash it anew; the installation's key they do not have.
#[test]
fn a_record_that_was_rewritten_and_hashed_anew_shows() {
    let home = talked();
    let file = home.path("audit.jsonl");
    let file = file.to_str().unwrap();
    home.run(&["audit", "export", "-o", file]).ok();
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.len() - 1;
    lines[1]["kind"] = json!("approval");
    for at in 1..last {
        lines[at]["prev"] = lines[at - 1]["hash"].clone();
        lines[at]["hash"] = json!(hash_of(&lines[at]));
    }
    lines[last]["end"][1] = lines[last - 1]["hash"].clone();
    let forged: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(file, forged).unwrap();
    let found = home.run(&["audit", "verify", "--file", file]);
    assert_eq!(found.code, 1, "{found:?}");
    assert!(
        found.out.contains("from entry 2 on, 8 entries"),
        "{found:?}"
    );
    // Where the key is not, only the hashes can be looked at, and that is said.
    let elsewhere = TestHome::ready()
        .run(&["audit", "verify", "--file", file])
        .ok();
    assert!(elsewhere.contains("only its hashes"), "{elsewhere}");
    let key = std::fs::metadata(home.path(".chela/state/installation.key")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777,
        0o600
    );
}

#[test]
fn the_cache_is_explained_and_usage_summed() {
    let home = talked();
    let why = home.run(&["cache", "why", "main"]).ok();
    assert!(why.contains("first request"), "{why}");
    assert!(
        why.contains("the tool exec was added (tool exec at byte"),
        "{why}"
    );
    assert!(why.contains("1 avoidable break"), "{why}");
    let report = home.run(&["cache", "why", "3f2a", "--json"]).json();
    assert!(report["turns"][1]["reuse"]["break"].is_null());
    home.run(&["cache", "why", "nobody"]).fails(1);
    let sums = home.run(&["usage", "--by", "model", "--json"]).json();
    assert_eq!(sums[0]["name"], "test/m");
    assert_eq!(sums[0]["input"], 1_500);
    assert_eq!(sums[0]["cost"], 4_500);
    let chart = home.run(&["usage", "--by", "section"]).ok();
    assert!(chart.contains("identity") && chart.contains('█'), "{chart}");
}

#[test]
fn old_requests_leave_the_record_and_the_chain_says_so() {
    let home = talked();
    let would = home
        .run(&["turn", "prune", "--older-than", "30d", "--dry-run"])
        .ok();
    assert!(would.starts_with("Would delete 3 requests"), "{would}");
    assert_eq!(home.run(&["turn", "list"]).ok().lines().count(), 3);
    let done = home
        .run(&["turn", "prune", "--older-than", "30d", "--json"])
        .json();
    assert_eq!(
        (&done["requests"], &done["bytesAfter"]),
        (&json!(3), &json!(0))
    );
    let list = home.run(&["turn", "list"]).ok();
    assert_eq!(list, "No request is recorded here yet.\n");
    home.run(&["audit", "verify"]).ok();
    let forgotten = home.run(&["audit", "show", "--kind", "forgotten"]).ok();
    assert!(forgotten.contains("age"), "{forgotten}");
    let nothing = home.run(&["turn", "prune"]).ok();
    assert!(nothing.starts_with("Nothing to prune"), "{nothing}");
    home.run(&["turn", "prune", "--older-than", "soon"])
        .fails(2);
    home.run(&["turn", "prune", "--max-size", "huge"]).fails(2);
}

#[test]
fn the_record_is_kept_short_beside_the_conversation() {
    let scene = ScriptedHome::with(
        APIS[0],
        EndpointScript::always(ScriptStep::reply("Fine.")),
        json!({ "ledger": { "keep": { "age": "30d" } } }),
    );
    put_on_record(&scene.home);
    assert_eq!(scene.home.run(&["turn", "list"]).ok().lines().count(), 3);
    let count = || scene.home.run(&["turn", "list"]).ok().lines().count();
    scene.chat("hello").ok();
    assert_eq!(count(), 4, "nothing says yet what the clock was");
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let two_days_ago = (now - std::time::Duration::from_hours(48)).as_millis();
    let note = ".chela/state/ledger.kept";
    scene.home.write(note, &format!("{two_days_ago} jumped\n"));
    let told = scene.chat("hello").err;
    assert!(told.contains("jumped far ahead"), "{told}");
    assert_eq!(count(), 4, "one of five went");
    scene.home.write(note, &format!("{two_days_ago}\n"));
    let told = scene.chat("hello").err;
    assert!(!told.contains("jumped far ahead"), "told once: {told}");
    assert_eq!(count(), 4);
    scene.home.run(&["audit", "verify"]).ok();
}

#[test]
fn days_are_those_of_the_owner() {
    let home = talked();
    // 2023-11-14 22:13 UTC, an hour later in Berlin.
    let day = |home: &TestHome| {
        let sums = home.run(&["usage", "--json"]).json();
        sums[0]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(day(&home), "2023-11-14");
    let tokyo = [
        "config",
        "set",
        "agents.defaults.userTimezone",
        "Asia/Tokyo",
    ];
    home.run(&tokyo).ok();
    assert_eq!(day(&home), "2023-11-15");
    let none = home.run(&["usage", "--days", "7"]).ok();
    assert_eq!(none.trim(), "No usage in this period.");
}

#[test]
fn a_change_of_the_config_is_on_record_before_it_is_in_force() {
    let home = TestHome::ready();
    home.run(&["config", "set", "limits.day.tokens", "1000"])
        .ok();
    let entries = home
        .run(&["audit", "show", "--kind", "config-change", "--json"])
        .json();
    let config = ContentHash::of(home.read(".chela/chela.json"));
    let body: serde_json::Value =
        serde_json::from_str(entries[0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["hash"], json!(config));
    // What is refused is no change.
    home.run(&["config", "set", "limits.day.tokens", "no"])
        .fails(78);
    let again = home
        .run(&["audit", "show", "--kind", "config-change", "--json"])
        .json();
    assert_eq!(again, entries);
    home.run(&["approvals", "allow", "/usr/bin/true"]).ok();
    let trust = home.run(&["audit", "show", "--kind", "trust-change"]).ok();
    assert!(trust.contains("/usr/bin/true"), "{trust}");
}

#[test]
fn what_is_no_request_number_is_told() {
    let home = talked();
    let told = home.run(&["turn", "show", "abc"]).fails(2);
    assert!(
        told.contains("`abc` is not a request number; `chela turn list` shows them"),
        "{told}"
    );
}

/// An earlier copy of the record, with the note of its newest entry, is whole in itself.
#[test]
fn a_record_that_was_put_back_to_an_earlier_copy_is_told() {
    let write = |path: &str| {
        [
            ScriptStep::tool("write", json!({ "path": path, "content": "x" })),
            ScriptStep::reply("done"),
        ]
    };
    let steps = [write("a.md"), write("b.md"), write("c.md")].concat();
    let scene = ScriptedHome::new(EndpointScript::steps(steps));
    let state = scene.home.path(".chela/state");
    let ledger_files = || {
        let entries = std::fs::read_dir(&state)
            .unwrap()
            .map(|entry| entry.unwrap());
        let names = entries.map(|entry| entry.file_name().into_string().unwrap());
        let names = names.filter(|name| name.starts_with("ledger"));
        names.collect::<Vec<String>>()
    };
    scene.chat("one").answered();
    scene.home.run(&["audit", "verify"]).ok();
    let copies: Vec<(String, Vec<u8>)> = ledger_files()
        .into_iter()
        .map(|name| (name.clone(), std::fs::read(state.join(name)).unwrap()))
        .collect();
    scene.chat("two").answered();
    scene.home.run(&["audit", "verify"]).ok();
    for name in ledger_files() {
        std::fs::remove_file(state.join(name)).unwrap();
    }
    for (name, bytes) in copies {
        std::fs::write(state.join(name), bytes).unwrap();
    }
    let is_told = || {
        let found = scene.home.run(&["audit", "verify"]);
        assert_ne!(found.code, 0, "{found:?}");
        let words = "1 change by calls that are not on record";
        assert!(found.out.contains(words), "{found:?}");
    };
    is_told();
    // Going on does not hide it.
    scene.chat("three").answered();
    is_told();
}
