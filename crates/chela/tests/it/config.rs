//! `chela config …` over a real file.

use insta::assert_snapshot;

use crate::home::{TestHome, text};

const COMMENTED: &str = "{
  // who answers
  agents: {
    defaults: {
      model: 'ollama/qwen3', // local
      userTimezone: \"Europe/Berlin\",
    },
  },
}
";

#[test]
fn a_key_nothing_uses_says_so_when_it_is_set() {
    let home = TestHome::with_config("{}");
    let told = home.run(&["config", "set", "ui.seamColor", "#aabbcc"]).ok();
    assert!(told.contains("accepted, but nothing uses it yet"), "{told}");
    let told = home
        .run(&["config", "set", "agents.defaults.model", "a/b"])
        .ok();
    assert!(!told.contains("is kept"), "{told}");
}

#[test]
fn edits_keep_comments_order_and_style() {
    let home = TestHome::with_config(COMMENTED);
    home.run(&[
        "config",
        "set",
        "agents.defaults.bootstrapMaxChars",
        "12000",
    ])
    .ok();
    home.run(&["config", "set", "agents.defaults.model", "ollama/llama3"])
        .ok();
    home.run(&["config", "unset", "agents.defaults.userTimezone"])
        .ok();
    home.run(&[
        "config",
        "patch",
        "{agents: {defaults: {heartbeat: {every: '1h'}}}}",
    ])
    .ok();
    assert_snapshot!("edited_config", home.read(".chela/chela.json"));
    assert_eq!(
        home.run(&["config", "get", "agents.defaults.model"]).ok(),
        "ollama/llama3\n"
    );
    assert!(home.exists(".chela/chela.json.bak"));
    home.run(&["config", "patch", "{agents: {defaults: {heartbeat: null}}}"])
        .ok();
    assert!(!home.read(".chela/chela.json").contains("heartbeat"));
}

#[test]
fn every_problem_is_told_at_once_with_its_place() {
    let home = TestHome::with_config(
        "{\n  agents: {\n    defaults: { bootstrapMaxChars: 'many', modle: 'x' },\n    list: [{ id: 'main', contextTokens: 5 }, { id: 'main' }],\n  },\n  tools: { profile: 'codng', allow: ['read'], alsoAllow: ['exec'] },\n  sesion: {},\n}\n",
    );
    let run = home.run(&["config", "validate"]);
    assert_eq!(run.code, 78);
    assert_snapshot!("validation", run.out);
    let found = home.run(&["config", "validate", "--json"]);
    assert_eq!(found.code, 78);
    let report: serde_json::Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(report["valid"], false);
    assert!(
        report["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .all(|found| found["place"]["line"].as_u64() > Some(0))
    );
}

#[test]
fn an_invalid_change_is_not_written() {
    let home = TestHome::with_config(COMMENTED);
    let told = home
        .run(&["config", "set", "agents.defaults.bootstrapMaxChars", "lots"])
        .fails(78);
    assert!(told.contains("bootstrapMaxChars"), "{told}");
    let told = home
        .run(&["config", "set", "agents.defaults.hartbeat", "{}"])
        .fails(78);
    assert!(told.contains("heartbeat"), "{told}");
    assert_eq!(home.read(".chela/chela.json"), COMMENTED);
    let told = home.run(&["config", "apply", "{nonsense: 1}"]).fails(78);
    assert!(told.contains("rejected"), "{told}");
    assert_eq!(home.read(".chela/chela.json"), COMMENTED);
}

#[test]
fn two_mistakes_can_be_mended_one_at_a_time() {
    let home = TestHome::with_config("{ one: 1, two: 2 }\n");
    home.run(&["config", "unset", "one"]).ok();
    home.run(&["config", "unset", "two"]).ok();
    home.run(&["config", "validate"]).ok();
}

#[test]
fn a_broken_file_falls_back_to_the_last_good_one() {
    let home = TestHome::with_config(COMMENTED);
    home.run(&["agents", "list"]).ok();
    home.write(".chela/chela.json", "{ agents: { defaults: { model: ");
    let run = home.run(&["agents", "list"]);
    assert!(run.out.contains("ollama/qwen3"), "{}", run.out);
    assert!(run.err.contains("last good"), "{}", run.err);
    assert!(run.err.contains("chela.json:1:"), "{}", run.err);
    assert_eq!(home.run(&["config", "validate"]).code, 78);
    assert_eq!(
        home.read(".chela/chela.json"),
        "{ agents: { defaults: { model: "
    );
}

#[test]
fn secrets_are_never_printed() {
    let home = TestHome::with_config(
        "{ gateway: { auth: { token: 'tok-12345678' } }, channels: { telegram: { botToken: '${BOT}' } } }",
    )
    .env("BOT", "bot-secret-99");
    for args in [
        &["config", "get"] as &[&str],
        &["config", "get", "--json"],
        &["config", "explain", "gateway.auth.token"],
        &["agents", "show", "main"],
        &["doctor"],
        &["status", "--json"],
        &["prompt"],
    ] {
        let run = home.run(args);
        let all = format!("{}{}", run.out, run.err);
        assert!(
            !all.contains("tok-12345678") && !all.contains("bot-secret-99"),
            "{args:?}: {all}"
        );
    }
}

#[test]
fn explain_tells_value_source_default_and_who_differs() {
    let home = TestHome::with_config(
        "{\n  agents: {\n    defaults: { bootstrapMaxChars: 9000 },\n    list: [{ id: 'main' }, { id: 'big', bootstrapMaxChars: 30000 }],\n  },\n}\n",
    );
    assert_snapshot!(
        "explain",
        home.run(&["config", "explain", "agents.defaults.bootstrapMaxChars"])
            .ok()
    );
    let told = home
        .run(&["config", "explain", "agents.defaults.bootstrapMaxChar"])
        .fails(1);
    assert!(told.contains("bootstrapMaxChars"), "{told}");
}

#[test]
fn includes_and_variables_are_resolved() {
    let home = TestHome::with_config(
        "{ $include: './models.json5', agents: { defaults: { userTimezone: '${ZONE}' } } }",
    )
    .env("ZONE", "Asia/Tokyo");
    home.write(
        ".chela/models.json5",
        "{ agents: { defaults: { model: 'a/b' } } }",
    );
    assert_eq!(
        home.run(&["config", "get", "agents.defaults.model"]).ok(),
        "a/b\n"
    );
    assert_eq!(
        home.run(&["config", "get", "agents.defaults.userTimezone"])
            .ok(),
        "${ZONE}\n"
    );
    assert!(home.run(&["prompt"]).ok().contains("Time zone: Asia/Tokyo"));
}

#[test]
fn schema_of_a_part_and_the_path_of_the_file() {
    let home = TestHome::empty();
    let schema = home
        .run(&["config", "schema", "agents.defaults.heartbeat"])
        .json();
    assert!(schema["properties"]["every"]["description"].is_string());
    assert_eq!(home.run(&["config", "file"]).ok(), "~/.chela/chela.json\n");
    let other = home.write("other.json", "{ agents: 5 }");
    assert_eq!(home.run(&["config", "validate", text(&other)]).code, 78);
}

#[test]
fn two_processes_editing_at_once_lose_nothing() {
    let home = TestHome::with_config("{}\n");
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let home = &home;
            scope.spawn(move || {
                for at in 0..5 {
                    let key = format!("agents.defaults.params.k{worker}_{at}");
                    home.run(&["config", "set", &key, "1"]).ok();
                }
            });
        }
    });
    let params = home
        .run(&["config", "get", "agents.defaults.params", "--json"])
        .json();
    assert_eq!(params.as_object().unwrap().len(), 20);
}

#[test]
fn a_time_zone_nobody_knows_is_refused() {
    let home = TestHome::ready();
    let key = "agents.defaults.userTimezone";
    let told = home.run(&["config", "set", key, "Mars"]).fails(2);
    assert!(told.contains("`Mars` is not a time zone"), "{told}");
    assert!(told.contains("Europe/Berlin"), "{told}");
    home.run(&["config", "set", key, "Europe/Berlin"]).ok();
}

#[test]
fn a_protocol_nobody_speaks_and_an_address_that_is_none_are_refused() {
    let home = TestHome::with_config(
        "{ models: { providers: {
  mine: { api: \"opeanai\",
    baseUrl: \"not a url\", models: [{ id: \"m\" }] },
  near: { baseUrl: \"localhost:8080/v1\" },
  aws: { api: \"bedrock-converse-stream\", baseUrl: \"https://aws.example\" },
} } }",
    );
    let run = home.run(&["config", "validate"]);
    assert_eq!(run.code, 78);
    let told = run.out;
    for part in [
        "chela.json:2:16 models.providers.mine.api",
        "did you mean `openai-completions`?",
        "chela.json:3:14 models.providers.mine.baseUrl",
        "did you mean `http://localhost:8080/v1`?",
        "a protocol Chela does not speak",
        "3 problems",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let home = TestHome::with_config("{}");
    for (key, value) in [("api", "opeanai"), ("baseUrl", "not a url")] {
        let key = format!("models.providers.mine.{key}");
        home.run(&["config", "set", &key, value]).fails(78);
    }
    assert_eq!(home.read(".chela/chela.json"), "{}");
}

#[test]
fn a_limit_that_cannot_be_read_closes_the_tools_and_says_so() {
    let home = TestHome::ready();
    home.write(
        ".chela/chela.json",
        "{ agents: { defaults: { sandbox: { mode: \"docker\" } } } }",
    );
    let closed = "no agent has tools until agents.defaults.sandbox.mode is fixed";
    let prompt = home.run(&["prompt"]);
    assert!(prompt.out.contains("There are no tools in this session"));
    for args in [&["prompt"][..], &["status"], &["chat", "-m", "/tools"]] {
        let run = home.run(args);
        assert!(run.err.contains(closed), "{args:?}: {}", run.err);
    }
    let doctor = home.run(&["doctor"]);
    assert!(doctor.flat().contains(closed), "{}", doctor.out);
    assert_ne!(doctor.code, 0);
}

#[test]
fn a_config_with_errors_does_not_take_the_place_of_the_last_good_one() {
    let bad = "{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 }";
    let broken = "{ agents: ";
    let home = TestHome::ready();
    home.write(
        ".chela/chela.json",
        "{ agents: { defaults: { model: \"a/b\" } } }",
    );
    home.run(&["prompt"]).ok();
    home.write(".chela/chela.json", bad);
    let told = home.run(&["status"]).err;
    assert!(
        told.contains("8 problems; `chela config validate` lists them"),
        "{told}"
    );
    home.run(&["prompt"]).ok();
    home.write(".chela/chela.json", broken);
    for args in [&["status"][..], &["chat", "-m", "/status"]] {
        let told = home.run(args);
        let words =
            "1 problem; the last good one is used instead; `chela config validate` lists it";
        assert!(told.err.contains(words), "{told:?}");
    }
    let status = home.run(&["status"]).ok();
    assert!(status.contains("a/b"), "{status}");

    // Where there was never a better one, it has to do, and what it is like is said.
    let home = TestHome::ready();
    home.write(".chela/chela.json", bad);
    home.run(&["prompt"]).ok();
    home.write(".chela/chela.json", broken);
    let told = home.run(&["status"]).err;
    assert!(
        told.contains("the last good one is used instead and has 8 problems itself"),
        "{told}"
    );
}
