//! Bait: secrets that lie in every test's home, and the sweep that shows that none got out.
//!
//! Every value holds one [`MARK`] that stands nowhere else, so that one look finds them all, also
//! written in other ways. A test that carries bait about on purpose says so by name.

use std::path::Path;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// What every bait holds.
pub const MARK: &str = "Ba1tQ7xW9zK4";

/// Variables for the environment of a test: values whose names tell, and shapes whose do not.
/// Made here, so that no scanner takes this file for a leak.
pub fn environment() -> Vec<(&'static str, String)> {
    let body = |length: usize| {
        format!("{MARK}{}", "q7Rt2Xw9Lk4Zp8Vb3Nc6Md1Hs5Jf0Gy".repeat(2))[..length].to_owned()
    };
    vec![
        ("BAIT_SERVICE_TOKEN", format!("service-{MARK}-1")),
        ("BAIT_PASSWORD", format!("two words {MARK}!")),
        ("BAIT_NOTE", format!("ghp_{}", body(36))),
        ("BAIT_REMARK", format!("sk-ant-api03-{}", body(40))),
        ("BAIT_PLACE", format!("postgres://me:pw{MARK}@db.example/x")),
    ]
}

/// Looks for bait in what a test left behind.
#[derive(Debug, Clone)]
pub struct BaitSweep {
    /// How it is written, and the text.
    needles: Vec<(&'static str, String)>,
    /// Finds them all at once; tests leave many megabytes behind.
    finder: OnceLock<Option<AhoCorasick>>,
    /// Ends of paths where bait may lie.
    allowed: Vec<String>,
}

impl Default for BaitSweep {
    fn default() -> Self {
        let mut sweep = Self {
            needles: Vec::new(),
            finder: OnceLock::new(),
            allowed: Vec::new(),
        };
        sweep.watch(MARK);
        sweep
    }
}

impl BaitSweep {
    /// Looks for one more value.
    pub fn watch(&mut self, value: &str) {
        self.finder = OnceLock::new();
        let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.needles.extend([
            ("as it is", value.to_owned()),
            ("reversed", value.chars().rev().collect()),
            ("in hex", hex),
            ("in base64", base64(value, 0)),
            ("in base64", base64(value, 1)),
            ("in base64", base64(value, 2)),
        ]);
    }

    /// Bait may lie in files whose path ends like this.
    pub fn allow(&mut self, end: &str) {
        self.allowed.push(end.to_owned());
    }

    /// How a text holds bait.
    pub fn in_text(&self, text: &str) -> Option<&'static str> {
        self.in_bytes(text.as_bytes())
    }

    fn in_bytes(&self, bytes: &[u8]) -> Option<&'static str> {
        let finder = self
            .finder
            .get_or_init(|| AhoCorasick::new(self.needles.iter().map(|(_, needle)| needle)).ok());
        match finder {
            Some(finder) => {
                let found = finder.find(bytes)?;
                self.needles
                    .get(found.pattern().as_usize())
                    .map(|(how, _)| *how)
            }
            None => Some("perhaps: it cannot be looked for"),
        }
    }

    /// Every file below a folder that holds bait, and how.
    pub fn below(&self, folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        self.walk(folder, &mut found);
        found
    }

    fn walk(&self, folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let shown = path.to_string_lossy().into_owned();
            if self.allowed.iter().any(|end| shown.ends_with(end.as_str())) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.walk(&path, found),
                Ok(kind) if kind.is_file() => {
                    let bytes = std::fs::read(&path).unwrap_or_default();
                    if let Some(how) = self.in_bytes(&bytes) {
                        found.push(format!("{shown} ({how})"));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The letters of base64 that the value alone decides, with so many bytes before it.
fn base64(value: &str, before: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, before)
        .chain(value.bytes())
        .collect();
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let six = |at: usize| (0..6).fold(0, |six, offset| six << 1 | bit(at * 6 + offset));
    ((before * 8).div_ceil(6)..bytes.len() * 8 / 6)
        .map(|at| char::from(LETTERS[six(at)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BaitSweep, MARK, environment};

    #[test]
    fn bait_is_found_wherever_it_lies() {
        let folder = std::env::temp_dir().join(format!("chela-bait-{}", std::process::id()));
        let deep = folder.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        let sweep = BaitSweep::default();
        assert!(
            environment()
                .iter()
                .all(|(_, value)| sweep.in_text(value).is_some())
        );
        assert!(sweep.below(&folder).is_empty());
        let mut bytes = vec![0xff, 0xfe, 0];
        bytes.extend(MARK.as_bytes());
        std::fs::write(deep.join("binary"), bytes).unwrap();
        // `x` and the mark, in base64.
        std::fs::write(deep.join("encoded"), "eEJhMXRRN3hXOXpLNA==").unwrap();
        std::fs::write(deep.join("chela.json"), MARK).unwrap();
        let mut allowing = sweep.clone();
        allowing.allow("/chela.json");
        let (all, some) = (sweep.below(&folder), allowing.below(&folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((all.len(), some.len()), (3, 2), "{all:?}");
        assert!(
            some.iter().any(|place| place.contains("in base64")),
            "{some:?}"
        );
    }
}
