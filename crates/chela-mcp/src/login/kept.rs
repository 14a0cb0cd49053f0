//! A login as it is kept: in a file only its owner can read.

use std::io;
use std::path::PathBuf;

use chela_core::Host;
use chela_files::{FileMode, create_private_folder, read_if_there, write_file};
use chela_model::oauth::{ClientAuth, GrantedTokens, OauthClient};
use serde::{Deserialize, Serialize};

/// A token is renewed so long before it runs out.
const MARGIN_SECONDS: u64 = 60;

/// A login and the client it was made with. Both belong to the server that gave them out.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptLogin {
    /// The server it is for.
    pub resource: String,
    /// Who gave it out.
    pub issuer: String,
    pub token_endpoint: String,
    pub client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    pub client_auth: String,
    /// Whether the client was made by this program, and not by its owner.
    #[serde(default)]
    pub is_registered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// What the server wants besides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    pub access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl std::fmt::Debug for KeptLogin {
    /// Never shows a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptLogin")
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// How a login stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStanding {
    /// Seconds it still lasts; `None` where the server did not say.
    Lasts(Option<u64>),
    /// It has run out and is renewed when it is needed.
    Renewable,
    /// It has run out.
    Expired,
}

/// Why a login cannot be read or written. Nothing of it is quoted.
#[derive(Debug, thiserror::Error)]
pub enum KeptLoginError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is damaged; `chela mcp login` replaces it", path.display())]
    Damaged { path: PathBuf },
    #[error("{} cannot be written: {why}", path.display())]
    Write { path: PathBuf, why: String },
}

impl KeptLogin {
    pub fn path(host: &Host, server: &str) -> PathBuf {
        let folder = host.state_dir().join("keys").join("mcp");
        folder.join(format!("{server}.json"))
    }

    pub fn load(host: &Host, server: &str) -> Result<Option<Self>, KeptLoginError> {
        let path = Self::path(host, server);
        match read_if_there(&path) {
            Ok(None) => Ok(None),
            Err(source) => Err(KeptLoginError::Read { path, source }),
            Ok(Some(text)) => match serde_json::from_str(&text) {
                Ok(kept) => Ok(Some(kept)),
                Err(_) => Err(KeptLoginError::Damaged { path }),
            },
        }
    }

    pub fn keep(&self, host: &Host, server: &str) -> Result<(), KeptLoginError> {
        let path = Self::path(host, server);
        let failed = |why: String| KeptLoginError::Write {
            path: path.clone(),
            why,
        };
        if let Some(folder) = path.parent() {
            create_private_folder(folder).map_err(|error| failed(error.to_string()))?;
        }
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.to_string()))?;
        write_file(&path, format!("{text}\n").as_bytes(), FileMode::Private)
            .map_err(|error| failed(error.to_string()))
    }

    /// Says whether there was one.
    pub fn forget(host: &Host, server: &str) -> Result<bool, KeptLoginError> {
        let path = Self::path(host, server);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(KeptLoginError::Write {
                path,
                why: error.to_string(),
            }),
        }
    }

    /// The same with what was given out now.
    pub fn with(self, host: &Host, granted: GrantedTokens) -> Self {
        Self {
            refresh_token: granted.refresh_token.or(self.refresh_token),
            expires_at: granted.expires_in.map(|seconds| host.unix_time() + seconds),
            scope: granted.scope.or(self.scope),
            access_token: granted.access_token,
            wanted: None,
            ..self
        }
    }

    pub fn client(&self) -> OauthClient {
        OauthClient {
            id: self.client_id.clone(),
            secret: self.client_secret.clone(),
            auth: match self.client_auth.as_str() {
                "client_secret_basic" => ClientAuth::Basic,
                "client_secret_post" => ClientAuth::Post,
                _ => ClientAuth::None,
            },
        }
    }

    pub fn has_run_out(&self, host: &Host) -> bool {
        let last = self.expires_at;
        last.is_some_and(|at| at <= host.unix_time() + MARGIN_SECONDS)
    }

    pub fn standing(&self, host: &Host) -> LoginStanding {
        match (self.expires_at, &self.refresh_token) {
            (None, _) => LoginStanding::Lasts(None),
            (Some(at), _) if at > host.unix_time() => {
                LoginStanding::Lasts(Some(at - host.unix_time()))
            }
            (Some(_), Some(_)) => LoginStanding::Renewable,
            (Some(_), None) => LoginStanding::Expired,
        }
    }
}
