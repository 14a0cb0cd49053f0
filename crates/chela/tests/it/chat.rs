//! `chela chat -m`: one message in, one answer out, against a scripted endpoint.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

pub(crate) mod terminal;
mod writing;

use std::io::Read;
use std::process::Stdio;

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::json;

use crate::home::{TestHome, text};

/// A home whose only model is the endpoint.
fn talking_to(endpoint: &ScriptedEndpoint) -> TestHome {
    let home = TestHome::empty();
    home.write(
        ".chela/chela.json",
        &format!(
            "{{ models: {{ providers: {{ kit: {{ baseUrl: '{}/v1', models: [{{ id: 'scripted', contextWindow: 32000, input: ['text', 'image'] }}] }} }} }},
               agents: {{ defaults: {{ model: 'kit/scripted' }} }} }}",
            endpoint.url()
        ),
    );
    home
}

fn endpoint(steps: impl IntoIterator<Item = ScriptStep>) -> ScriptedEndpoint {
    ScriptedEndpoint::start(EndpointScript::steps(steps)).unwrap()
}

#[test]
fn one_message_gives_one_plain_answer() {
    let endpoint = endpoint([ScriptStep::reply("Hello **you**, you said {{user}}")]);
    let home = talking_to(&endpoint);
    let run = home.run(&["chat", "-m", "good morning"]);
    assert!(run.out.starts_with("Hello **you**, you said "), "{run:?}");
    assert!(run.out.ends_with("good morning\n"), "{run:?}");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(home.exists(".chela/workspace/SOUL.md"), "made on first use");
}

#[test]
fn json_tells_everything_and_nothing_else() {
    let endpoint = endpoint([ScriptStep::reply("Four.")]);
    let home = talking_to(&endpoint);
    let told = home.run(&["chat", "-m", "2+2?", "--json"]).json();
    assert_eq!(told["reply"], "Four.");
    assert_eq!(told["silent"], json!(null));
    assert_eq!(told["model"], "kit/scripted");
    assert_eq!(told["session"], "agent:main:main");
    assert_eq!(
        (&told["ended"], &told["steps"]),
        (&json!("done"), &json!(1))
    );
    assert_eq!(told["context"]["window"], 32_000);
    assert!(told["usage"]["input"].as_u64().unwrap() > 500, "{told}");
}

#[test]
fn silence_is_no_text() {
    let endpoint = endpoint([
        ScriptStep::reply("NO_REPLY"),
        ScriptStep::reply("**no_reply**"),
    ]);
    let home = talking_to(&endpoint);
    let run = home.run(&["chat", "-m", "psst"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    let told = home.run(&["chat", "-m", "psst", "--json"]).json();
    assert_eq!(
        (&told["reply"], &told["silent"]),
        (&json!(""), &json!("no-reply"))
    );
}

#[test]
fn what_is_piped_in_follows_the_message_or_is_it() {
    let endpoint = endpoint([ScriptStep::reply("ok"), ScriptStep::reply("ok")]);
    let home = talking_to(&endpoint);
    home.run_with_input(&["chat", "-m", "review this"], "fn main() {}\n")
        .ok();
    home.run_with_input(&["chat"], "only this\n").ok();
    let bodies: Vec<String> = endpoint
        .requests()
        .into_iter()
        .filter(|request| request.call.is_some())
        .map(|request| request.body)
        .collect();
    assert!(
        bodies[0].contains("review this\\n\\nText between EXTERNAL_UNTRUSTED_CONTENT")
            && bodies[0].contains("\\n---\\nfn main() {}"),
        "{}",
        bodies[0]
    );
    assert!(bodies[1].contains("only this"), "{}", bodies[1]);
    let told = home.run(&["chat"]).fails(2);
    assert!(told.contains("standard input is empty"), "{told}");
}

#[test]
fn sessions_are_apart_and_go_on() {
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply(
        "{{messages}} so far",
    )))
    .unwrap();
    let home = talking_to(&endpoint);
    let say = |args: &[&str]| home.run(&[&["chat", "-m", "hi"], args].concat()).ok();
    let first = say(&[]);
    let second = say(&[]);
    assert_ne!(first, second, "the second message knows the first");
    assert_eq!(say(&["--new-session", "notes"]), first);
    assert_eq!(say(&["--session", "agent:main:other"]), first);
    let told = home
        .run(&["chat", "-m", "hi", "--session", "agent:ghost:main"])
        .fails(1);
    assert!(told.contains("ghost"), "{told}");
}

#[test]
fn a_model_of_a_provider_nobody_knows_is_not_chosen() {
    let endpoint =
        ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("ok"))).unwrap();
    let home = talking_to(&endpoint);
    let told = home.run(&["chat", "-m", "/model nosuch/x"]).fails(1);
    assert!(told.contains("there is no provider `nosuch`"), "{told}");
    assert_eq!(
        home.run(&["chat", "-m", "hi", "--json"]).json()["model"],
        "kit/scripted"
    );
    let last = home.run(&["turn", "show", "last", "--json"]).json();
    let listed = home.run(&["turn", "list", "--json"]).json();
    let newest = listed.as_array().unwrap().last().unwrap();
    assert_eq!(last["id"], newest["id"], "{last} {newest}");
}

#[test]
fn tools_run_and_their_words_stay_out_of_the_output() {
    let endpoint = endpoint([
        ScriptStep::tool("read", json!({ "path": "note.txt" })),
        ScriptStep::reply("The note says: {{tool}}"),
    ]);
    let home = talking_to(&endpoint);
    home.run(&["init"]).ok();
    home.write(".chela/workspace/note.txt", "buy milk\n");
    let told = home
        .run(&["chat", "-m", "what is in note.txt?", "--json"])
        .json();
    assert!(
        told["reply"].as_str().unwrap().contains("buy milk"),
        "{told}"
    );
    assert_eq!((&told["steps"], &told["toolCalls"]), (&json!(2), &json!(1)));
}

#[test]
fn escape_sequences_of_a_model_never_reach_the_terminal() {
    let endpoint = endpoint([ScriptStep {
        piece: Some(3),
        ..ScriptStep::reply("safe\u{1b}]52;c;ZXZpbA==\u{7} and \u{1b}[2Jsound")
    }]);
    let home = talking_to(&endpoint);
    assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "safe and sound\n");
}

#[test]
fn exit_codes_tell_scripts_what_happened() {
    let home = TestHome::empty();
    let told = home.run(&["chat", "-m", "hi"]).fails(3);
    assert!(
        told.contains("no model") && told.contains("ollama"),
        "{told}"
    );

    let refusing = endpoint([ScriptStep::status(401), ScriptStep::status(401)]);
    let told = talking_to(&refusing).run(&["chat", "-m", "hi"]).fails(3);
    assert!(told.contains("kit"), "{told}");

    let odd = endpoint([ScriptStep::status(400)]);
    talking_to(&odd).run(&["chat", "-m", "hi"]).fails(1);

    let home = TestHome::ready();
    let told = home
        .run(&["chat", "-m", "hi", "--model", "nobody/x"])
        .fails(3);
    assert!(told.contains("nobody"), "{told}");
    let told = home
        .run(&["chat", "-m", "hi", "--thinking", "hard"])
        .fails(2);
    assert!(told.contains("medium"), "{told}");
    let told = home.run(&["chat", "--agent", "ghost", "-m", "hi"]).fails(1);
    assert!(told.contains("ghost"), "{told}");
}

#[test]
fn a_reader_that_goes_away_ends_the_turn() {
    let endpoint = endpoint([ScriptStep {
        piece_ms: 5,
        ..ScriptStep::reply("a line\n").fault(AnswerFault::Endless)
    }]);
    let home = talking_to(&endpoint);
    let mut child = home
        .command()
        .args(["chat", "-m", "go on for ever"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut first = [0; 7];
    out.read_exact(&mut first).unwrap();
    drop(out);
    let output = child.wait_with_output().unwrap();
    assert_eq!(&first, b"a line\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn commands_work_without_any_model() {
    let home = TestHome::ready();
    let help = home.run(&["chat", "-m", "/help"]).ok();
    assert!(
        help.contains("/context") && help.contains("/undo"),
        "{help}"
    );
    let why = home.run(&["chat", "-m", "/context why SOUL.md"]).ok();
    assert!(why.contains("in the prompt"), "{why}");
    let list = home.run(&["chat", "-m", "/context list"]).ok();
    assert!(list.contains("Injected workspace files"), "{list}");
    let status = home.run(&["chat", "-m", "/status"]).ok();
    assert!(status.contains("Session: `agent:main:main`"), "{status}");
    let model = home.run(&["chat", "-m", "/model"]).ok();
    assert!(model.contains("ollama pull"), "{model}");
}

#[test]
fn settings_and_undo_last_from_one_run_to_the_next() {
    let endpoint =
        ScriptedEndpoint::start(EndpointScript::always(ScriptStep::reply("{{messages}}"))).unwrap();
    let home = talking_to(&endpoint);
    home.run(&["chat", "-m", "/think high"]).ok();
    assert!(
        home.run(&["chat", "-m", "/think"])
            .ok()
            .contains("**high**")
    );
    let first = home.run(&["chat", "-m", "hi"]).ok();
    home.run(&["chat", "-m", "/undo"]).ok();
    assert_eq!(
        home.run(&["chat", "-m", "hi"]).ok(),
        first,
        "the first one is gone"
    );
    home.run(&["chat", "-m", "hi", "--thinking", "low"]).ok();
    assert!(
        home.run(&["chat", "-m", "/think"])
            .ok()
            .contains("**high**")
    );
    let export = home.path("talk.jsonl");
    home.run(&["chat", "-m", &format!("/export {}", text(&export))])
        .ok();
    assert!(home.read("talk.jsonl").lines().count() > 2);
}

#[test]
fn pictures_are_known_by_what_they_are() {
    let endpoint = endpoint([ScriptStep::reply("a dot")]);
    let home = talking_to(&endpoint);
    let wrong = home.write("wrong.png", "no picture");
    let told = home
        .run(&["chat", "-m", "what?", "--image", text(&wrong)])
        .fails(2);
    assert!(told.contains("wrong.png"), "{told}");
    let right = home.path("right.png");
    std::fs::write(&right, b"\x89PNG\r\n\x1a\n....").unwrap();
    home.run(&["chat", "-m", "what?", "--image", text(&right)])
        .ok();
    let asked = endpoint
        .requests()
        .into_iter()
        .find(|request| request.call.is_some());
    assert!(asked.unwrap().body.contains("image/png"));
}

#[test]
fn a_found_key_is_used_for_one_run_with_yes() {
    let home = TestHome::empty().env("ANTHROPIC_API_KEY", "sk-test");
    let told = home.run(&["chat", "-m", "hi"]).fails(3);
    assert!(
        told.contains("--yes") && told.contains("ANTHROPIC_API_KEY"),
        "{told}"
    );
    assert!(!home.exists(".chela/chela.json"));
    let status = home.run(&["chat", "-m", "/status", "--yes"]).ok();
    assert!(status.contains("anthropic/"), "{status}");
    assert!(!home.exists(".chela/chela.json"), "it holds this time only");
    home.run(&["chat", "-m", "hi"]).fails(3);

    let kept = "{\n  // mine\n  agents: { defaults: { userTimezone: \"Europe/Berlin\" } },\n}\n";
    home.write(".chela/chela.json", kept);
    let status = home.run(&["chat", "-m", "/status", "-y"]).ok();
    assert!(status.contains("anthropic/"), "{status}");
    assert_eq!(home.read(".chela/chela.json"), kept);
}

#[test]
fn an_empty_message_is_none() {
    let home = TestHome::ready();
    for empty in ["", "  \n"] {
        let told = home.run(&["chat", "-m", empty]).fails(2);
        assert!(told.contains("the message is empty"), "{told}");
    }
}

#[test]
fn a_turn_that_failed_says_why_and_what_next() {
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(
        ScriptStep::reply("half of it").fault(AnswerFault::Cut(20)),
    ));
    let endpoint = endpoint.unwrap();
    let home = talking_to(&endpoint);
    let told = home.run(&["chat", "-m", "hello"]).fails(1);
    assert!(told.contains("the answer broke off"), "{told}");
    assert!(told.contains("your message is kept"), "{told}");
    let shown = home.run(&["sessions", "show", "main"]).ok();
    assert!(
        shown.contains("the turn ended: failed: kit/scripted: the answer broke off"),
        "{shown}"
    );
}

#[test]
fn who_may_leave_the_sandbox_is_told_alike() {
    let endpoint = endpoint([]);
    let home = talking_to(&endpoint);
    let told = home.run(&["chat", "-m", "/elevated"]).ok();
    let matrix = home.run(&["agents", "matrix"]).ok();
    let row = matrix
        .lines()
        .find(|line| line.contains("elevated"))
        .unwrap();
    assert!(row.contains(" no"), "{matrix}");
    assert!(told.contains("off"), "{told}");
}
