//! Secrets in the owner's environment: commands get none of them, and so does the model.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::scene::{APIS, ScriptedHome};

/// One of each kind people keep there. Every value holds the same word.
const PLANTED: &[(&str, &str)] = &[
    ("MYSQL_PWD", "planted-mysql-4711"),
    ("SSHPASS", "planted-ssh-4711"),
    ("PGPASSWORD", "planted-pg-4711"),
    ("PGPASSFILE", "/home/planted/.pgpass"),
    ("REDISCLI_AUTH", "planted-redis-4711"),
    (
        "DOCKER_AUTH_CONFIG",
        r#"{"auths":{"r":{"auth":"planted4711=="}}}"#,
    ),
    ("SENTRY_DSN", "https://planted4711@o1.ingest.sentry.io/1"),
    ("DATABASE_URL", "postgres://me:planted-4711@db.example/x"),
    ("MONGODB_URI", "mongodb+srv://me:planted4711@c.example/x"),
    ("AWS_ACCESS_KEY_ID", "AKIAPLANTED4711"),
    ("AWS_SECRET_ACCESS_KEY", "planted/aws/4711"),
    ("AWS_SESSION_TOKEN", "planted-session-4711"),
    (
        "AZURE_STORAGE_CONNECTION_STRING",
        "AccountName=a;AccountKey=planted4711==",
    ),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/home/planted/key.json"),
    ("GH_TOKEN", "planted-gh-4711"),
    ("NPM_TOKEN", "planted-npm-4711"),
    ("CARGO_REGISTRY_TOKEN", "planted-cargo-4711"),
    (
        "SLACK_WEBHOOK",
        "https://hooks.slack.com/services/T0/B0/planted4711",
    ),
    ("VAULT_ADDR_AND_LOGIN", "planted-vault-4711"),
    ("SOMETHING_NOBODY_KNOWS", "planted-word-4711"),
    ("HTTPS_PROXY", "http://me:planted-4711@proxy.invalid:3128"),
    ("LANG", "planted-mysql-4711"),
];

fn script(command: &str) -> EndpointScript {
    EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": command })),
        ScriptStep::reply("done"),
    ])
}

fn scene_with(command: &str, more: &[(&str, &str)], exec: serde_json::Value) -> ScriptedHome {
    let scene = ScriptedHome::with(
        APIS[0],
        script(command),
        json!({ "tools": { "exec": exec },
                "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    );
    let ScriptedHome { home, endpoint } = scene;
    let home = PLANTED
        .iter()
        .chain(more)
        .fold(home, |home, (name, value)| home.env(name, value));
    ScriptedHome { home, endpoint }
}

#[test]
fn no_secret_reaches_a_command_or_the_model() {
    let tools = [
        ("CARGO_HOME", "/opt/cargo"),
        ("JAVA_HOME", "/opt/java"),
        ("NVM_DIR", "/opt/nvm"),
        ("LC_ALL", "C"),
        ("EDITOR", "ed"),
        ("XDG_CACHE_HOME", "/opt/cache"),
    ];
    let scene = scene_with("env | tee seen.txt", &tools, json!({ "mode": "full" }));
    scene.chat("Look.").answered();
    let seen = scene.home.read(".chela/workspace/seen.txt");
    assert!(!seen.contains("planted"), "{seen}");
    // The proxy is there, who uses it is not.
    assert!(
        seen.contains("HTTPS_PROXY=http://proxy.invalid:3128\n"),
        "{seen}"
    );
    for (name, value) in tools {
        assert!(
            seen.contains(&format!("{name}={value}\n")),
            "{name}: {seen}"
        );
    }
    for call in scene.endpoint.calls() {
        assert!(!call.body.contains("planted"), "{}", call.body);
    }
}

#[test]
fn the_owner_names_what_commands_get_besides() {
    let scene = scene_with(
        "env > seen.txt",
        &[("MY_SETTING", "mine"), ("MY_OTHER", "too")],
        json!({ "mode": "full", "passEnv": ["SOMETHING_NOBODY_KNOWS", "MY_*", "BASH_ENV", "*"] }),
    );
    let scene = ScriptedHome {
        home: scene.home.env("BASH_ENV", "/planted").lets_bait_out(),
        endpoint: scene.endpoint,
    };
    scene.chat("Look.").answered();
    let seen = scene.home.read(".chela/workspace/seen.txt");
    for line in [
        "SOMETHING_NOBODY_KNOWS=planted-word-4711",
        "MY_SETTING=mine",
        "MY_OTHER=too",
    ] {
        assert!(seen.contains(line), "{seen}");
    }
    assert_eq!(seen.matches("planted").count(), 1, "{seen}");
}
