use std::os::unix::fs::PermissionsExt;

use chela_config::model::{SecretSetting, Secrets};
use chela_core::{Host, HostEnv};
use serde_json::{Value, json};

use super::{KeySource, ModelKey};

fn source(secret: Value, secrets: Value, host: &Host, env: &HostEnv) -> KeySource {
    let secret: SecretSetting = chela_config::read_json(&secret).unwrap();
    let secrets: Secrets = chela_config::read_json(&secrets).unwrap();
    KeySource::of(&secret, &secrets, host, env, "models.providers.x.apiKey")
}

fn fetched(source: &KeySource) -> Result<Option<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    match runtime.block_on(source.fetch()) {
        Ok(key) => Ok(key.map(|key| key.expose().to_owned())),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn nothing_prints_a_key() {
    let key = ModelKey::new(" sk-very-secret\n").unwrap();
    assert_eq!(key.expose(), "sk-very-secret");
    let ready = KeySource::Ready {
        key: key.clone(),
        from: "X_API_KEY".into(),
    };
    let said = format!("{key:?} {key} {ready:?} {:?}", ready.describe());
    assert!(!said.contains("secret"), "{said}");
    assert_eq!(
        key.scrub("Incorrect API key: sk-very-secret."),
        "Incorrect API key: [key]."
    );
    assert!(ModelKey::new("  \n").is_none());
}

#[test]
fn text_variables_and_references_are_read() {
    let host = Host::fixed("/home/me");
    let env = HostEnv::from([("MY_KEY".to_owned(), "sk-from-env".to_owned())]);
    let none = json!({});
    let found = |secret: Value| fetched(&source(secret, none.clone(), &host, &env));
    assert_eq!(found(json!("sk-plain")), Ok(Some("sk-plain".into())));
    assert_eq!(found(json!("MY_KEY")), Ok(Some("sk-from-env".into())));
    assert!(found(json!("OTHER_KEY")).unwrap_err().contains("OTHER_KEY"));
    assert_eq!(
        found(json!({"source": "env", "id": "MY_KEY"})),
        Ok(Some("sk-from-env".into()))
    );
    assert!(
        found(json!({"source": "exec", "id": "x"}))
            .unwrap_err()
            .contains("secrets.providers.default")
    );
}

#[test]
fn a_file_gives_one_secret_or_many() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::fixed(dir.path());
    let path = dir.path().join("keys.json");
    std::fs::write(&path, r#"{"openai": {"key": "sk-in-json"}}"#).unwrap();
    let secrets = json!({"providers": {"vault": {"source": "file", "path": path}}});
    let pick = |id: &str| {
        let secret = json!({"source": "file", "provider": "vault", "id": id});
        fetched(&source(secret, secrets.clone(), &host, &HostEnv::new()))
    };
    assert_eq!(pick("/openai/key"), Ok(Some("sk-in-json".into())));
    let error = pick("/nobody").unwrap_err();
    assert!(
        error.contains("/nobody") && !error.contains("sk-in-json"),
        "{error}"
    );
}

#[test]
fn a_command_answers_in_json_or_in_plain_text() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::fixed(dir.path());
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let json_form = script(
        "vault.sh",
        "#!/bin/sh\ncat >/dev/null\nprintf '{\"protocolVersion\":1,\"values\":{\"a/b\":\"sk-%s\"}}' \"$WHO\"\n",
    );
    let plain = script("plain.sh", "#!/bin/sh\necho sk-plain\n");
    let broken = script(
        "broken.sh",
        "#!/bin/sh\necho sk-leaked; echo sk-leaked >&2; exit 3\n",
    );
    let env = HostEnv::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let run = |provider: Value| {
        let secrets = json!({"providers": {"v": provider}});
        let secret = json!({"source": "exec", "provider": "v", "id": "a/b"});
        fetched(&source(secret, secrets, &host, &env))
    };
    assert_eq!(
        run(json!({"source": "exec", "command": json_form, "env": {"WHO": "me"}})),
        Ok(Some("sk-me".into()))
    );
    assert_eq!(
        run(json!({"source": "exec", "command": plain, "jsonOnly": false})),
        Ok(Some("sk-plain".into()))
    );
    assert!(run(json!({"source": "exec", "command": plain})).is_err());
    let error = run(json!({"source": "exec", "command": broken, "jsonOnly": false})).unwrap_err();
    assert!(
        error.contains("exit status: 3") && !error.contains("leaked"),
        "{error}"
    );
}
