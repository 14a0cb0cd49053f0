//! The machine as a value.
//!
//! Libraries never read the clock, the environment or the home directory themselves: they are
//! given a [`Host`]. The binary builds one from the real machine, a test from constants.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The environment variables Chela reads; each documented once, here.
pub mod vars {
    /// Folder of everything Chela keeps. Default: `~/.chela`.
    pub const HOME: &str = "CHELA_HOME";
    /// A second, separate installation: state lives in `~/.chela-<profile>`, with a home of one's
    /// own beside that.
    pub const PROFILE: &str = "CHELA_PROFILE";
    /// Path of the config file. Default: `chela.json` in the state folder.
    pub const CONFIG: &str = "CHELA_CONFIG";
    /// Workspace of the default agent, unless `agents.defaults.workspace` is set.
    pub const WORKSPACE: &str = "CHELA_WORKSPACE";
    /// More folders that `$include` may read from, separated like `PATH`.
    pub const INCLUDE_ROOTS: &str = "CHELA_INCLUDE_ROOTS";
    /// What of the log is shown on standard error, as with `--log`.
    pub const LOG: &str = "CHELA_LOG";
    /// Any value turns colours off.
    pub const NO_COLOR: &str = "NO_COLOR";
}

/// Tells the time.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;
}

/// Gives unpredictable bytes.
pub trait Entropy: Send + Sync {
    fn fill(&self, bytes: &mut [u8]);
}

/// Environment variables as a value. Cheap to clone: everything that is given a host has them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct HostEnv(Arc<BTreeMap<String, String>>);

impl HostEnv {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Deref for HostEnv {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for HostEnv {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl FromIterator<(String, String)> for HostEnv {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(Arc::new(variables.into_iter().collect()))
    }
}

impl<const N: usize> From<[(String, String); N]> for HostEnv {
    fn from(variables: [(String, String); N]) -> Self {
        variables.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a HostEnv {
    type Item = (&'a String, &'a String);
    type IntoIter = std::collections::btree_map::Iter<'a, String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Names only: the values hold secrets.
impl std::fmt::Debug for HostEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What the machine is, as far as a prompt or a report says so.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    pub hostname: Option<String>,
    /// As people name it: `Linux 6.1.0`, `macOS 15.1`.
    pub os: Option<String>,
    pub arch: Option<String>,
    pub shell: Option<String>,
    /// IANA name such as `Europe/Berlin`.
    pub time_zone: Option<String>,
}

/// Everything about the machine that a library may want to know.
#[derive(Clone)]
pub struct Host {
    /// The person's home folder, for `~`.
    pub user_home: PathBuf,
    /// The folder the command was started in.
    pub cwd: PathBuf,
    pub env: HostEnv,
    /// The file of this very program, to start it again around a sandboxed command.
    pub program: Option<PathBuf>,
    pub facts: MachineFacts,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

impl std::fmt::Debug for Host {
    /// Leaves the environment out: it holds secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("user_home", &self.user_home)
            .field("cwd", &self.cwd)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// A machine for tests: nothing in the environment, a clock that stands still.
    pub fn fixed(user_home: impl Into<PathBuf>) -> Self {
        let user_home = user_home.into();
        Self {
            cwd: user_home.clone(),
            user_home,
            env: HostEnv::new(),
            program: None,
            facts: MachineFacts::default(),
            clock: Arc::new(FixedClock(UNIX_EPOCH + Duration::from_secs(1_700_000_000))),
            entropy: Arc::new(FixedEntropy(7)),
        }
    }

    /// A variable that is set and not blank.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env
            .get(name)
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The profile in use, unless it is the default one.
    pub fn profile(&self) -> Option<&str> {
        self.var(vars::PROFILE)
            .filter(|profile| !profile.eq_ignore_ascii_case("default"))
    }

    /// The folder of everything Chela keeps. A profile has one of its own beside the default one,
    /// wherever that is.
    pub fn state_dir(&self) -> PathBuf {
        let home = match self.var(vars::HOME) {
            Some(home) => self.expand(home),
            None => self.user_home.join(".chela"),
        };
        let Some(profile) = self.profile() else {
            return home;
        };
        match home.file_name() {
            Some(name) => {
                let mut name = name.to_owned();
                name.push(format!("-{profile}"));
                home.with_file_name(name)
            }
            None => home.join(format!(".chela-{profile}")),
        }
    }

    /// The operator's config file.
    pub fn config_file(&self) -> PathBuf {
        match self.var(vars::CONFIG) {
            Some(path) => self.expand(path),
            None => self.state_dir().join("chela.json"),
        }
    }

    /// An absolute path from what a person wrote: `~` is the home folder, relative paths start
    /// at the current folder.
    pub fn expand(&self, path: &str) -> PathBuf {
        self.expand_from(path, &self.cwd)
    }

    /// Like [`Host::expand`], with relative paths starting at `base`.
    pub fn expand_from(&self, path: &str, base: &Path) -> PathBuf {
        let path = path.trim();
        match path.strip_prefix('~') {
            Some("") => self.user_home.clone(),
            Some(rest) if rest.starts_with(['/', '\\']) => {
                self.user_home.join(rest.trim_start_matches(['/', '\\']))
            }
            _ => base.join(path),
        }
    }

    /// A path as shown to people: the home folder becomes `~`.
    pub fn compact(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// Seconds since 1970; 0 for a clock set before that.
    pub fn unix_time(&self) -> u64 {
        self.clock
            .now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    }

    /// Milliseconds since 1970; 0 for a clock set before that.
    pub fn unix_millis(&self) -> u64 {
        self.clock
            .now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
            })
    }

    /// `now`, `5m`, `3h`, `12d`: how long ago a moment in milliseconds since 1970 was.
    pub fn age_in_words(&self, millis: u64) -> String {
        let seconds = self.unix_time().saturating_sub(millis / 1000);
        match seconds {
            0..60 => "now".to_owned(),
            60..3600 => format!("{}m", seconds / 60),
            3600..86_400 => format!("{}h", seconds / 3600),
            _ => format!("{}d", seconds / 86_400),
        }
    }

    /// `bytes` random bytes as hex digits.
    pub fn random_hex(&self, bytes: usize) -> String {
        let mut buffer = vec![0; bytes];
        self.entropy.fill(&mut buffer);
        buffer.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// A clock that stands still.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub SystemTime);

impl Clock for FixedClock {
    fn now(&self) -> SystemTime {
        self.0
    }
}

/// Bytes that look random and are the same every time.
#[derive(Debug, Clone, Copy)]
pub struct FixedEntropy(pub u64);

impl Entropy for FixedEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.0 | 1;
        for byte in bytes {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *byte = state.to_le_bytes()[3];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Host, vars};
    use std::path::{Path, PathBuf};

    #[test]
    fn state_follows_home_and_profile() {
        let mut host = Host::fixed("/home/me");
        assert_eq!(host.state_dir(), PathBuf::from("/home/me/.chela"));
        host.env.insert(vars::PROFILE.into(), "work".into());
        assert_eq!(host.state_dir(), PathBuf::from("/home/me/.chela-work"));
        host.env.insert(vars::PROFILE.into(), "default".into());
        assert_eq!(host.state_dir(), PathBuf::from("/home/me/.chela"));
        host.env.insert(vars::HOME.into(), "~/elsewhere".into());
        assert_eq!(host.state_dir(), PathBuf::from("/home/me/elsewhere"));
        assert_eq!(
            host.config_file(),
            PathBuf::from("/home/me/elsewhere/chela.json")
        );
        host.env.insert(vars::PROFILE.into(), "work".into());
        assert_eq!(host.state_dir(), PathBuf::from("/home/me/elsewhere-work"));
    }

    #[test]
    fn paths_expand_and_compact() {
        let host = Host::fixed("/home/me");
        assert_eq!(host.expand("~"), PathBuf::from("/home/me"));
        assert_eq!(host.expand("notes"), PathBuf::from("/home/me/notes"));
        assert_eq!(host.expand("~you/x"), PathBuf::from("/home/me/~you/x"));
        assert_eq!(host.expand("/etc"), PathBuf::from("/etc"));
        assert_eq!(host.compact(Path::new("/home/me/a/b")), "~/a/b");
        assert_eq!(host.compact(Path::new("/home/meadow")), "/home/meadow");
    }

    #[test]
    fn debug_output_hides_the_environment() {
        let mut host = Host::fixed("/home/me");
        host.env.insert("API_KEY".into(), "sk-secret".into());
        assert!(!format!("{host:?}").contains("sk-secret"));
    }
}
