//! The installation's own secret, behind which owner ids are hidden.
//!
//! Phone numbers are few enough to try them all, so a plain hash hides nothing. Where the operator
//! set no secret, a random one is made once and kept beside the other state.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use chela_core::Host;
use chela_files::{DraftPlacement, FileMode, create_file};

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot store the secret behind hashed owner ids in {}: {source}; make the folder writable \
        or set commands.ownerDisplaySecret",
    path.display()
)]
pub struct SecretError {
    path: PathBuf,
    source: std::io::Error,
}

/// Long enough that nobody guesses it.
const BYTES: usize = 32;

/// The secret of this installation, made on first use.
pub fn installation_secret(host: &Host) -> Result<String, SecretError> {
    let dir = host.state_dir().join("state");
    let path = dir.join("owner-secret");
    let fail = |source| SecretError {
        path: path.clone(),
        source,
    };
    if let Some(secret) = read(&path).map_err(fail)? {
        return Ok(secret);
    }
    let secret = host.random_hex(BYTES);
    // No one ever reads half a secret, and the first of two processes wins.
    match create_file(&path, format!("{secret}\n").as_bytes(), FileMode::Private) {
        Ok(DraftPlacement::Placed) => Ok(secret),
        Ok(DraftPlacement::Changed) => read(&path)
            .map_err(fail)?
            .ok_or_else(|| fail(ErrorKind::InvalidData.into())),
        Err(error) => Err(fail(error.source)),
    }
}

/// `None` when there is none yet. A damaged one is an error: a new secret would silently change
/// every hash.
fn read(path: &PathBuf) -> std::io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim().len() == 2 * BYTES => Ok(Some(text.trim().to_owned())),
        Ok(_) => Err(std::io::Error::new(
            ErrorKind::InvalidData,
            "the file is damaged; remove it to make a new secret",
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::installation_secret;
    use chela_core::{FixedEntropy, Host};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    #[test]
    fn it_is_made_once_and_kept_from_others() {
        let home = tempfile::tempdir().unwrap();
        let mut host = Host::fixed(home.path());
        let first = installation_secret(&host).unwrap();
        host.entropy = Arc::new(FixedEntropy(99));
        assert_eq!(installation_secret(&host).unwrap(), first);
        let file = home.path().join(".chela/state/owner-secret");
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        std::fs::write(&file, "half").unwrap();
        assert!(
            installation_secret(&host)
                .unwrap_err()
                .to_string()
                .contains("owner-secret")
        );
    }
}
