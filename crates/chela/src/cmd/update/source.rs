//! Where newer versions come from, and who must have signed for them.

use std::time::Duration;

use chela_config::LoadedConfig;
use chela_model::{DownloadLimit, ModelHttp, resolve_address};
use chela_skills::{PublicKey, VerifyError, verify_signature};

use super::index::{ArchiveEntry, ReleaseEntry, ReleaseIndex};
use crate::fail::CommandError;

/// What the signature of an index is made for: one for something else does not count.
const NAMESPACE: &str = "chela-release";
/// Whoever builds Chela to hand it on may name their key and their index.
const BUILT_IN_KEY: Option<&str> = option_env!("CHELA_UPDATE_KEY");
const BUILT_IN_ADDRESS: Option<&str> = option_env!("CHELA_UPDATE_URL");
const USUAL_CHANNEL: &str = "stable";

const INDEX_LIMIT: DownloadLimit = DownloadLimit {
    bytes: 1024 * 1024,
    patience: Duration::from_secs(30),
};

#[derive(Debug)]
pub struct UpdateSource {
    address: String,
    key: PublicKey,
    pub channel: String,
}

/// The publisher's key as it is typed.
pub fn read_update_key(key: &str) -> Result<PublicKey, CommandError> {
    PublicKey::parse(key).map_err(|error| {
        CommandError::config(format!("update.key cannot be used: {error}"))
            .hint("use a line from a .pub file: ssh-ed25519 AAAA… publisher")
    })
}

impl UpdateSource {
    pub fn of(loaded: &LoadedConfig, channel: Option<&str>) -> Result<Self, CommandError> {
        let update = &loaded.config.update;
        let address = update.url.as_deref().or(BUILT_IN_ADDRESS).ok_or_else(|| {
            CommandError::new("no update URL is set")
                .hint("chela config set update.url https://…/index.json")
        })?;
        let key = update.key.as_deref().or(BUILT_IN_KEY).ok_or_else(|| {
            CommandError::new("no update signing key is set")
                .hint("chela config set update.key 'ssh-ed25519 AAAA… publisher'")
        })?;
        let key = read_update_key(key)?;
        let channel = channel
            .or(update.channel.as_deref())
            .unwrap_or(USUAL_CHANNEL);
        Ok(Self {
            address: address.to_owned(),
            key,
            channel: channel.to_owned(),
        })
    }

    /// What the channel offers, once the signature was found to be good.
    pub async fn fetch_release(&self, http: &ModelHttp) -> Result<ReleaseEntry, CommandError> {
        let fetch = async |address: String| {
            http.download(&address, INDEX_LIMIT, &mut |_| ())
                .await
                .map_err(CommandError::new)
        };
        let index = fetch(self.address.clone()).await?;
        let signature = fetch(format!("{}.sig", self.address)).await?;
        self.check_signature(&index, &signature)?;
        ReleaseIndex::parse(&index)?.channel(&self.channel)
    }

    pub fn archive_address(&self, entry: &ArchiveEntry) -> Result<String, CommandError> {
        resolve_address(&self.address, &entry.url).map_err(CommandError::new)
    }

    fn check_signature(&self, index: &[u8], signature: &[u8]) -> Result<(), CommandError> {
        let refused = |why: String| {
            CommandError::new(format!("the index is refused: {why}"))
                .hint("nothing of it was used; ask the publisher, and do not change update.key")
        };
        let text = String::from_utf8_lossy(signature);
        match verify_signature(&text, NAMESPACE, index) {
            Ok(signer) if signer.is_same(&self.key) => Ok(()),
            Ok(signer) => Err(refused(format!(
                "it was signed by {}, not by {}",
                signer.fingerprint(),
                self.key.label()
            ))),
            Err(VerifyError::DoesNotHold) => {
                Err(refused("it does not match its signature".to_owned()))
            }
            Err(error) => Err(refused(format!("its signature: {error}"))),
        }
    }
}
