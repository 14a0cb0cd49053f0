//! `chela chat -m`: one message in, one answer out, against a scripted endpoint.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

pub(crate) mod terminal;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use chela_testkit::{Endpoint, Fault, Script, Step};
use serde_json::json;

use crate::home::{Home, text};

/// A home whose only model is the endpoint.
fn talking_to(endpoint: &Endpoint) -> Home {
    let home = Home::empty();
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

fn endpoint(steps: impl IntoIterator<Item = Step>) -> Endpoint {
    Endpoint::start(Script::steps(steps)).unwrap()
}

#[test]
fn one_message_gives_one_plain_answer() {
    let endpoint = endpoint([Step::reply("Hello **you**, you said {{user}}")]);
    let home = talking_to(&endpoint);
    let run = home.run(&["chat", "-m", "good morning"]);
    assert!(run.out.starts_with("Hello **you**, you said "), "{run:?}");
    assert!(run.out.ends_with("good morning\n"), "{run:?}");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    assert!(home.exists(".chela/workspace/SOUL.md"), "made on first use");
}

#[test]
fn json_tells_everything_and_nothing_else() {
    let endpoint = endpoint([Step::reply("Four.")]);
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
    let endpoint = endpoint([Step::reply("NO_REPLY"), Step::reply("**no_reply**")]);
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
    let endpoint = endpoint([Step::reply("ok"), Step::reply("ok")]);
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
        bodies[0].contains("review this\\n\\nfn main() {}"),
        "{}",
        bodies[0]
    );
    assert!(bodies[1].contains("only this"), "{}", bodies[1]);
    let told = home.run(&["chat"]).fails(2);
    assert!(told.contains("standard input is empty"), "{told}");
}

#[test]
fn sessions_are_apart_and_go_on() {
    let endpoint = Endpoint::start(Script::always(Step::reply("{{messages}} so far"))).unwrap();
    let home = talking_to(&endpoint);
    let say = |args: &[&str]| home.run(&[&["chat", "-m", "hi"], args].concat()).ok();
    let first = say(&[]);
    let second = say(&[]);
    assert_ne!(first, second, "the second message knows the first");
    assert_eq!(say(&["--session", "notes"]), first);
    assert_eq!(say(&["--session", "agent:main:other"]), first);
    let told = home
        .run(&["chat", "-m", "hi", "--session", "agent:ghost:main"])
        .fails(1);
    assert!(told.contains("ghost"), "{told}");
}

#[test]
fn tools_run_and_their_words_stay_out_of_the_output() {
    let endpoint = endpoint([
        Step::tool("read", json!({ "path": "note.txt" })),
        Step::reply("The note says: {{tool}}"),
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
    let endpoint = endpoint([Step {
        piece: Some(3),
        ..Step::reply("safe\u{1b}]52;c;ZXZpbA==\u{7} and \u{1b}[2Jsound")
    }]);
    let home = talking_to(&endpoint);
    assert_eq!(home.run(&["chat", "-m", "hi"]).ok(), "safe and sound\n");
}

#[test]
fn exit_codes_tell_scripts_what_happened() {
    let home = Home::empty();
    let told = home.run(&["chat", "-m", "hi"]).fails(3);
    assert!(
        told.contains("no model") && told.contains("ollama"),
        "{told}"
    );

    let refusing = endpoint([Step::status(401), Step::status(401)]);
    let told = talking_to(&refusing).run(&["chat", "-m", "hi"]).fails(3);
    assert!(told.contains("kit"), "{told}");

    let odd = endpoint([Step::status(400)]);
    talking_to(&odd).run(&["chat", "-m", "hi"]).fails(1);

    let home = Home::ready();
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
    let endpoint = endpoint([Step {
        piece_ms: 5,
        ..Step::reply("a line\n").fault(Fault::Endless)
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
    let home = Home::ready();
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
    let endpoint = Endpoint::start(Script::always(Step::reply("{{messages}}"))).unwrap();
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
    let endpoint = endpoint([Step::reply("a dot")]);
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
fn a_found_key_is_used_and_remembered_after_a_yes() {
    let home = Home::empty().env("ANTHROPIC_API_KEY", "sk-test");
    let told = home.run(&["chat", "-m", "hi"]).fails(3);
    assert!(
        told.contains("--yes") && told.contains("ANTHROPIC_API_KEY"),
        "{told}"
    );
    assert!(!home.exists(".chela/chela.json"));
    let status = home.run(&["chat", "-m", "/status", "--yes"]).ok();
    assert!(status.contains("anthropic/"), "{status}");
    let config = home.read(".chela/chela.json");
    assert!(
        config.contains("primary") && !config.contains("sk-test"),
        "{config}"
    );
    let mode = std::fs::metadata(home.path(".chela/chela.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0);
}
