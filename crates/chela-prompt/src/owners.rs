//! How the owners' ids are shown to the model.

use std::borrow::Cow;

use chela_core::Audience;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::out::one_line;
use crate::{OwnerDisplay, OwnerList};

/// The ids as the prompt shows them; blank ones are dropped.
pub(crate) fn shown(owners: &OwnerList) -> impl Iterator<Item = Cow<'_, str>> {
    owners
        .ids
        .iter()
        .map(|id| id.trim())
        .filter(|id| !one_line(id).is_empty())
        .map(|id| match &owners.display {
            OwnerDisplay::Raw => one_line(id),
            OwnerDisplay::Hashed { secret } => Cow::Owned(digest(secret, id)),
        })
}

/// Ids are private as they are; their digests tell nobody anything.
pub(crate) fn audience(owners: &OwnerList) -> Audience {
    match owners.display {
        OwnerDisplay::Raw => Audience::Private,
        OwnerDisplay::Hashed { .. } => Audience::Shared,
    }
}

/// The first 12 hex digits of HMAC-SHA256. An id may be a phone number, of which there are too
/// few for a hash without a secret to hide anything.
pub fn digest(secret: &str, id: &str) -> String {
    // A key of any length is accepted; the other arm cannot be reached.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
        return String::new();
    };
    mac.update(id.as_bytes());
    mac.finalize()
        .into_bytes()
        .iter()
        .take(6)
        .fold(String::new(), |mut hex, byte| {
            hex.push_str(&format!("{byte:02x}"));
            hex
        })
}

#[cfg(test)]
mod tests {
    use super::{digest, shown};
    use crate::{OwnerDisplay, OwnerList};

    #[test]
    fn digests_are_hmac_sha256() {
        // RFC 4231, test case 2.
        assert_eq!(
            digest("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60"
        );
    }

    #[test]
    fn ids_are_trimmed_and_blank_ones_dropped() {
        let ids = vec![" +1 ".into(), "  ".into(), "tg:\n5".into()];
        let raw = OwnerList {
            ids: ids.clone(),
            display: OwnerDisplay::Raw,
        };
        assert_eq!(shown(&raw).collect::<Vec<_>>(), ["+1", "tg:5"]);
        let hashed = OwnerList {
            ids,
            display: OwnerDisplay::Hashed { secret: "s".into() },
        };
        assert_eq!(shown(&hashed).next().unwrap(), digest("s", "+1"));
    }

    #[test]
    fn debug_output_keeps_the_secret() {
        let display = OwnerDisplay::Hashed {
            secret: "hunter2".into(),
        };
        assert!(!format!("{display:?}").contains("hunter2"));
    }
}
