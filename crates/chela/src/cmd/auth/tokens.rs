//! Tokens as they are kept: the access token like any stored key, the rest beside it.

use std::path::PathBuf;

use chela_core::Host;
use chela_files::{FileMode, create_private_folder, read_if_there, write_file};
use chela_model::oauth::GrantedTokens;
use serde::{Deserialize, Serialize};

use crate::fail::CommandError;

/// A token is renewed so long before it runs out.
const MARGIN_SECONDS: u64 = 60;

/// A login, without its access token.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptLogin {
    pub issuer: String,
    pub client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    pub token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl KeptLogin {
    pub fn load(host: &Host, provider: &str) -> Result<Option<Self>, CommandError> {
        let path = login_file(host, provider);
        match read_if_there(&path) {
            Ok(None) => Ok(None),
            Err(error) => Err(CommandError::new(format!(
                "{} cannot be read: {error}",
                path.display()
            ))),
            // What is in it is not quoted: it holds tokens.
            Ok(Some(text)) => serde_json::from_str(&text).map(Some).map_err(|_| {
                CommandError::new(format!("{} is damaged", path.display()))
                    .hint(format!("`chela auth logout {provider}`, then log in again"))
            }),
        }
    }

    /// The same with what was given out now, and the access token.
    pub fn with(self, host: &Host, answer: GrantedTokens) -> (Self, String) {
        let login = Self {
            refresh_token: answer.refresh_token.or(self.refresh_token),
            expires_at: answer.expires_in.map(|seconds| host.unix_time() + seconds),
            ..self
        };
        (login, answer.access_token)
    }

    pub fn keep(&self, host: &Host, provider: &str, access: &str) -> Result<(), CommandError> {
        let fail = |path: &PathBuf, error: &dyn std::fmt::Display| {
            CommandError::new(format!("{} cannot be written: {error}", path.display()))
        };
        let folder = folder(host);
        create_private_folder(&folder).map_err(|error| fail(&folder, &error))?;
        let text = serde_json::to_string_pretty(self)?;
        let files = [
            (login_file(host, provider), format!("{text}\n")),
            (key_file(host, provider), format!("{access}\n")),
        ];
        for (path, text) in files {
            write_file(&path, text.as_bytes(), FileMode::Private)
                .map_err(|error| fail(&path, &error))?;
        }
        Ok(())
    }

    /// Says whether there was something.
    pub fn forget(host: &Host, provider: &str) -> Result<bool, CommandError> {
        let mut was = false;
        for path in [login_file(host, provider), key_file(host, provider)] {
            match std::fs::remove_file(&path) {
                Ok(()) => was = true,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(CommandError::new(format!(
                        "{} cannot be removed: {error}",
                        path.display()
                    )));
                }
            }
        }
        Ok(was)
    }

    pub fn has_run_out(&self, host: &Host) -> bool {
        self.expires_at
            .is_some_and(|at| at <= host.unix_time() + MARGIN_SECONDS)
    }

    pub fn standing(&self, host: &Host) -> String {
        match (self.expires_at, &self.refresh_token) {
            (None, _) => "does not expire".to_owned(),
            (Some(at), _) if at > host.unix_time() => {
                format!("expires in {} min", (at - host.unix_time()).div_ceil(60))
            }
            (Some(_), Some(_)) => "expired; renewed before the next chat".to_owned(),
            (Some(_), None) => "expired; log in again".to_owned(),
        }
    }
}

/// The providers something is stored for.
pub fn stored_names(host: &Host) -> Vec<String> {
    let entries = std::fs::read_dir(folder(host))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            Some(name.to_str()?.strip_suffix(".key")?.to_owned())
        })
        .collect();
    names.sort();
    names
}

fn folder(host: &Host) -> PathBuf {
    host.state_dir().join("keys")
}

fn login_file(host: &Host, provider: &str) -> PathBuf {
    folder(host).join(format!("{provider}.oauth.json"))
}

fn key_file(host: &Host, provider: &str) -> PathBuf {
    folder(host).join(format!("{provider}.key"))
}
