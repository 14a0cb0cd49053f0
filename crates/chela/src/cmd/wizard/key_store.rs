//! Where a key is kept: the secret store of the system, or a file only the owner can read. The config
//! says where it is, never what it is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use chela_core::Host;
use chela_files::{FileMode, create_private_folder, write_file};
use chela_model::ModelKey;
use serde_json::{Value, json};

use crate::cli::setup::KeyPlace;
use crate::fail::CommandError;

/// A key that was kept, and how the config finds it.
pub struct KeptKey {
    /// `apiKey` of the provider.
    pub reference: Value,
    /// An entry of `secrets.providers`, with its name.
    pub source: (String, Value),
    /// For people.
    pub place: String,
}

/// Keeps a key for a provider. Without a wish the secret store is tried first.
pub fn keep_key(
    host: &Host,
    provider: &str,
    key: &ModelKey,
    wish: Option<KeyPlace>,
) -> Result<KeptKey, CommandError> {
    match wish {
        Some(KeyPlace::File) => in_file(host, provider, key),
        Some(KeyPlace::Keyring) => in_keyring(host, provider, key).ok_or_else(|| {
            CommandError::new("no secret store is available here")
                .hint("secret-tool (libsecret) or security (macOS) is needed; --keep file works everywhere")
        }),
        None => match in_keyring(host, provider, key) {
            Some(kept) => Ok(kept),
            None => in_file(host, provider, key),
        },
    }
}

fn key_file(host: &Host, provider: &str) -> PathBuf {
    host.state_dir()
        .join("keys")
        .join(format!("{provider}.key"))
}

fn in_file(host: &Host, provider: &str, key: &ModelKey) -> Result<KeptKey, CommandError> {
    let folder = host.state_dir().join("keys");
    let path = key_file(host, provider);
    let fail = |error: &dyn std::fmt::Display| {
        CommandError::new(format!("{} cannot be written: {error}", path.display()))
    };
    create_private_folder(&folder).map_err(|error| fail(&error))?;
    let text = format!("{}\n", key.expose());
    write_file(&path, text.as_bytes(), FileMode::Private).map_err(|error| fail(&error))?;
    let source = format!("{provider}-key-file");
    Ok(KeptKey {
        reference: json!({ "source": "file", "provider": source, "id": "value" }),
        source: (
            source,
            json!({ "source": "file", "path": format!("keys/{provider}.key"), "mode": "singleValue" }),
        ),
        place: host.compact(&path),
    })
}

/// `None` where there is no store, or it does not take the key.
fn in_keyring(host: &Host, provider: &str, key: &ModelKey) -> Option<KeptKey> {
    let (program, lookup) = match find_program(host, "secret-tool") {
        Some(program) => {
            let label = format!("--label=Chela: {provider}");
            let attributes = ["service", "chela", "account", provider];
            let store = [&["store", label.as_str()], &attributes[..]].concat();
            tell(&program, &store, key.expose())?;
            let lookup = [&["lookup"], &attributes[..]].concat();
            (
                program,
                lookup.into_iter().map(str::to_owned).collect::<Vec<_>>(),
            )
        }
        None if cfg!(target_os = "macos") => {
            let program = find_program(host, "security")?;
            // On its input, where no other process sees it.
            let order = format!(
                "add-generic-password -U -s chela -a {provider} -w \"{}\"\n",
                key.expose()
            );
            tell(&program, &["-i"], &order)?;
            let lookup = ["find-generic-password", "-s", "chela", "-a", provider, "-w"];
            (program, lookup.map(str::to_owned).to_vec())
        }
        None => return None,
    };
    let source = format!("{provider}-keyring");
    Some(KeptKey {
        reference: json!({ "source": "exec", "provider": source, "id": "key" }),
        source: (
            source,
            json!({
                "source": "exec", "command": program.display().to_string(), "args": lookup,
                "jsonOnly": false, "passEnv": ["DBUS_SESSION_BUS_ADDRESS"],
            }),
        ),
        place: "the system's secret store".to_owned(),
    })
}

/// Runs a program with something on its input; `None` where it did not work.
fn tell(program: &Path, arguments: &[&str], input: &str) -> Option<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        // What it complains about may name the secret.
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    child.wait().ok()?.success().then_some(())
}

fn find_program(host: &Host, name: &str) -> Option<PathBuf> {
    let path = host.var("PATH")?;
    std::env::split_paths(path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
