//! Where plugins lie, by their ids.

use std::path::PathBuf;

use chela_core::Host;

/// The folder of all plugins.
pub fn plugins_folder(host: &Host) -> PathBuf {
    host.state_dir().join("plugins")
}

/// The folder of a plugin; `None` where the id is none.
pub fn plugin_folder(host: &Host, id: &str) -> Option<PathBuf> {
    is_plugin_id(id).then(|| plugins_folder(host).join(id))
}

/// Lower-case letters, digits, `-` and `.`, beginning and ending with a letter or a digit: what Agent
/// Plugins allows, and what leads nowhere else.
pub fn is_plugin_id(id: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    id.len() <= 64
        && id.chars().all(plain)
        && is_end(id.chars().next())
        && is_end(id.chars().next_back())
        && !id.contains("--")
        && !id.contains("..")
}

#[cfg(test)]
mod tests {
    use super::is_plugin_id;

    #[test]
    fn an_id_leads_nowhere() {
        for good in ["a", "my-plugin", "acme.tools", "lint3r"] {
            assert!(is_plugin_id(good), "{good}");
        }
        for bad in [
            "", "-a", "a-", "A", "a..b", "a--b", "../a", "a/b", ".", "a b",
        ] {
            assert!(!is_plugin_id(bad), "{bad}");
        }
    }
}
