//! Who may speak to the gateway: whoever shows the owner's token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use chela_config::LoadedConfig;
use chela_config::model::{GatewayAuthMode, SecretSetting};
use chela_core::{ContentHash, Host, lock, ok_or_warn};
use chela_files::{DraftPlacement, FileMode, WriteError, create_file, write_file};
use chela_model::KeySource;

/// So many wrong tokens an address may show in a minute.
const WRONG_PER_MINUTE: u32 = 10;
const MINUTE: u64 = 60_000;
/// A shorter secret may be guessed, so while guessing is slowed down even the right one waits.
const UNGUESSABLE: usize = 32;
/// Addresses that are remembered; loopback is one.
const MOST_ADDRESSES: usize = 4_096;

/// Why nobody could be let in.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("gateway.auth.mode `{0}` is not offered: use `token` (the default) or `password`")]
    Mode(&'static str),
    #[error("gateway.auth.mode is `password`, and gateway.auth.password is not set")]
    NoPassword,
    #[error("the secret of gateway.auth cannot be had: {0}")]
    Secret(String),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("the token cannot be read from {file}: {why}")]
    Read { file: PathBuf, why: std::io::Error },
}

/// What was shown, judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessVerdict {
    Granted,
    /// No token, or another one.
    Refused,
    /// Too many wrong ones from there.
    SlowDown,
}

/// The secret callers must show, and who showed wrong ones.
#[derive(Debug)]
pub(crate) struct AccessToken {
    secret: RwLock<SecretPlace>,
    failures: Mutex<HashMap<IpAddr, RecentFailures>>,
}

#[derive(Debug)]
enum SecretPlace {
    /// Of the config: changed with it.
    Given { hash: ContentHash, is_long: bool },
    /// In a file of the home: read again when it changes.
    File {
        path: PathBuf,
        read: Mutex<(Option<SystemTime>, ContentHash)>,
    },
}

#[derive(Debug, Default)]
struct RecentFailures {
    since: u64,
    count: u32,
}

/// Where the token is kept that nobody wrote into the config.
pub fn token_file(host: &Host) -> PathBuf {
    host.state_dir().join("state").join("gateway.token")
}

/// The token of the file, made if there is none.
pub fn read_or_make_token(host: &Host) -> Result<String, AccessError> {
    let path = token_file(host);
    match std::fs::read_to_string(&path) {
        Ok(token) if !token.trim().is_empty() => return Ok(token.trim().to_owned()),
        Ok(_) => return rotate_token(host),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(why) => return Err(AccessError::Read { file: path, why }),
    }
    let token = host.random_hex(32);
    match create_file(&path, token.as_bytes(), FileMode::Private)? {
        DraftPlacement::Placed => Ok(token),
        // Another process was faster: its token counts.
        DraftPlacement::Changed => match std::fs::read_to_string(&path) {
            Ok(token) => Ok(token.trim().to_owned()),
            Err(why) => Err(AccessError::Read { file: path, why }),
        },
    }
}

/// A new token; the old one counts no more, in a running gateway either.
pub fn rotate_token(host: &Host) -> Result<String, AccessError> {
    let token = host.random_hex(32);
    write_file(&token_file(host), token.as_bytes(), FileMode::Private)?;
    Ok(token)
}

/// The secret callers show, for a command of the owner that speaks to the gateway itself.
pub async fn owner_secret(host: &Host, loaded: &LoadedConfig) -> Result<String, AccessError> {
    match configured(host, loaded).await? {
        Some(secret) => Ok(secret),
        None => read_or_make_token(host),
    }
}

async fn configured(host: &Host, loaded: &LoadedConfig) -> Result<Option<String>, AccessError> {
    let auth = &loaded.config.gateway.auth;
    let (secret, at) = match auth.mode {
        None | Some(GatewayAuthMode::Token) => (auth.token.as_ref(), "gateway.auth.token"),
        Some(GatewayAuthMode::Password) => match &auth.password {
            Some(password) => (Some(password), "gateway.auth.password"),
            None => return Err(AccessError::NoPassword),
        },
        Some(GatewayAuthMode::None) => return Err(AccessError::Mode("none")),
        Some(GatewayAuthMode::TrustedProxy) => return Err(AccessError::Mode("trusted-proxy")),
    };
    match secret {
        Some(secret) => read_secret(host, loaded, secret, at).await.map(Some),
        None => Ok(None),
    }
}

/// A secret of the config, wherever it says it is.
pub(crate) async fn read_secret(
    host: &Host,
    loaded: &LoadedConfig,
    secret: &SecretSetting,
    at: &str,
) -> Result<String, AccessError> {
    let source = KeySource::of(secret, &loaded.config.secrets, host, &host.env, at);
    let key = source.fetch().await;
    let key = key.map_err(|error| AccessError::Secret(error.to_string()))?;
    key.map(|key| key.expose().to_owned())
        .ok_or_else(|| AccessError::Secret(format!("{at} is empty")))
}

impl AccessToken {
    pub async fn load(host: &Host, loaded: &LoadedConfig) -> Result<Self, AccessError> {
        Ok(Self {
            secret: RwLock::new(SecretPlace::of(host, loaded).await?),
            failures: Mutex::default(),
        })
    }

    /// The config has changed: what it says now counts from here on.
    pub async fn reload(&self, host: &Host, loaded: &LoadedConfig) -> Result<(), AccessError> {
        let now = SecretPlace::of(host, loaded).await?;
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(())
    }

    /// The secret that counts now, as a hash: who was let in with another one is not any more.
    pub fn current(&self) -> ContentHash {
        let secret = self.secret.read().unwrap_or_else(PoisonError::into_inner);
        secret.current().0
    }

    /// A secret that somebody wrote into the config.
    pub fn given(secret: &str) -> Self {
        Self {
            secret: RwLock::new(SecretPlace::given(secret)),
            failures: Mutex::default(),
        }
    }

    /// Judges what somebody shows.
    pub fn judge(&self, from: IpAddr, shown: Option<&str>, now: u64) -> AccessVerdict {
        let (expected, is_long) = {
            let secret = self.secret.read().unwrap_or_else(PoisonError::into_inner);
            secret.current()
        };
        let is_right = shown.is_some_and(|shown| is_same(&ContentHash::of(shown), &expected));
        let mut failures = lock(&self.failures);
        if failures.len() >= MOST_ADDRESSES {
            failures.retain(|_, recent| now.saturating_sub(recent.since) < MINUTE);
        }
        let is_slowed = failures.get(&from).is_some_and(|recent| {
            now.saturating_sub(recent.since) < MINUTE && recent.count >= WRONG_PER_MINUTE
        });
        match (is_right, is_slowed) {
            (true, false) => AccessVerdict::Granted,
            (true, true) if is_long => AccessVerdict::Granted,
            (_, true) => AccessVerdict::SlowDown,
            (false, false) => {
                // Who shows nothing guesses nothing.
                if shown.is_some() {
                    let recent = failures.entry(from).or_default();
                    if now.saturating_sub(recent.since) >= MINUTE {
                        *recent = RecentFailures {
                            since: now,
                            count: 0,
                        };
                    }
                    recent.count += 1;
                }
                AccessVerdict::Refused
            }
        }
    }
}

impl SecretPlace {
    async fn of(host: &Host, loaded: &LoadedConfig) -> Result<Self, AccessError> {
        Ok(match configured(host, loaded).await? {
            Some(secret) => Self::given(&secret),
            None => Self::File {
                path: token_file(host),
                read: Mutex::new((None, ContentHash::of(read_or_make_token(host)?))),
            },
        })
    }

    fn given(secret: &str) -> Self {
        Self::Given {
            hash: ContentHash::of(secret),
            is_long: secret.len() >= UNGUESSABLE,
        }
    }

    fn current(&self) -> (ContentHash, bool) {
        match self {
            Self::Given { hash, is_long } => (*hash, *is_long),
            Self::File { path, read } => {
                let changed = std::fs::metadata(path)
                    .and_then(|meta| meta.modified())
                    .ok();
                let mut read = lock(read);
                if changed.is_some() && read.0 != changed {
                    let token = std::fs::read_to_string(path);
                    match ok_or_warn!(token, "the former token stays: the new one cannot be read") {
                        Some(token) if !token.trim().is_empty() => {
                            *read = (changed, ContentHash::of(token.trim()));
                        }
                        _ => {}
                    }
                }
                (read.1, true)
            }
        }
    }
}

/// In the same time, wherever they differ. Hashes are compared, so nothing of the secret shows in
/// the time it takes, its length included.
fn is_same(one: &ContentHash, other: &ContentHash) -> bool {
    let pairs = one.as_bytes().iter().zip(other.as_bytes());
    std::hint::black_box(pairs.fold(0, |differs, (one, other)| differs | (one ^ other))) == 0
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::{Mutex, RwLock};

    use chela_core::ContentHash;

    use super::{AccessToken, AccessVerdict, MINUTE, SecretPlace, WRONG_PER_MINUTE};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn token(secret: &str, is_long: bool) -> AccessToken {
        AccessToken {
            secret: RwLock::new(SecretPlace::Given {
                hash: ContentHash::of(secret),
                is_long,
            }),
            failures: Mutex::new(HashMap::new()),
        }
    }

    #[test]
    fn guessing_is_slowed_down_and_what_can_be_guessed_waits_too() {
        for (is_long, then) in [
            (true, AccessVerdict::Granted),
            (false, AccessVerdict::SlowDown),
        ] {
            let token = token("right", is_long);
            assert_eq!(token.judge(HERE, Some("right"), 0), AccessVerdict::Granted);
            assert_eq!(token.judge(HERE, None, 0), AccessVerdict::Refused);
            for _ in 0..WRONG_PER_MINUTE {
                assert_eq!(token.judge(HERE, Some("wrong"), 5), AccessVerdict::Refused);
            }
            assert_eq!(token.judge(HERE, Some("wrong"), 6), AccessVerdict::SlowDown);
            assert_eq!(token.judge(HERE, Some("right"), 7), then);
            let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
            assert_eq!(
                token.judge(elsewhere, Some("right"), 7),
                AccessVerdict::Granted
            );
            assert_eq!(
                token.judge(HERE, Some("right"), 7 + MINUTE),
                AccessVerdict::Granted
            );
        }
    }
}
