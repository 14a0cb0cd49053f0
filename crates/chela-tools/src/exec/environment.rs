//! The variables a command gets.

use std::collections::BTreeMap;

use chela_config::is_secret_key;
use chela_core::Host;
use chela_core::secret::Redactor;

/// Set for every command, so that scripts know who called.
const CALLER: (&str, &str) = ("CHELA_SHELL", "exec");

/// Words in names of variables that hold secrets.
const SECRET_WORDS: &[&str] = &[
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "COOKIE",
    "PAT",
    "BEARER",
];

/// Variables through which one program makes another run or load something else.
const TURNS: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CDPATH",
    "EDITOR",
    "ENV",
    "GCONV_PATH",
    "GLOBIGNORE",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LESSOPEN",
    "LESSCLOSE",
    "LOCPATH",
    "MAKEFLAGS",
    "MALLOC_TRACE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "VISUAL",
    "_JAVA_OPTIONS",
];

/// Starts of such names.
const TURNING_STARTS: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "GIT_", "CHELA_", "GLIBC_"];

/// Of those, what the owner's own environment may not pass on either.
const NEVER: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
];

/// What shapes the environment of a session's commands.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub host: &'a Host,
    /// Folders in front of PATH.
    pub prepend: &'a [String],
    /// Knows the values no command may see.
    pub redactor: &'a Redactor,
}

impl Surroundings<'_> {
    /// The owner's variables without secrets and without what makes programs load others.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut env: BTreeMap<String, String> = self
            .host
            .env
            .iter()
            .filter(|(name, value)| !self.is_secret(name, value) && !is_never(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        env.insert("PATH".to_owned(), self.path());
        env.insert(CALLER.0.to_owned(), CALLER.1.to_owned());
        // Nobody is there to page through anything.
        for pager in ["PAGER", "GIT_PAGER"] {
            env.insert(pager.to_owned(), "cat".to_owned());
        }
        env.insert("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned());
        // Compiled files beside a skill's scripts would change what the skill is known by.
        if !env.contains_key("PYTHONPYCACHEPREFIX") {
            env.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
        }
        env
    }

    fn path(&self) -> String {
        let own = self.host.env.get("PATH").map(String::as_str);
        let own = own.unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let prepended = self.prepend.iter().map(|folder| self.host.expand(folder));
        let folders: Vec<String> = prepended
            .chain(std::env::split_paths(own))
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.display().to_string())
            .filter(|folder| !folder.contains(':'))
            .collect();
        folders.join(":")
    }

    fn is_secret(&self, name: &str, value: &str) -> bool {
        let named = is_secret_key(name)
            || name
                .to_ascii_uppercase()
                .split(['_', '-'])
                .any(|word| SECRET_WORDS.contains(&word));
        named || !self.redactor.find(value.as_bytes()).is_empty()
    }
}

fn is_never(name: &str) -> bool {
    let loads = ["LD_", "DYLD_", "BASH_FUNC_"]
        .iter()
        .any(|start| name.starts_with(start));
    loads || NEVER.contains(&name)
}

/// Why a variable given with a call is refused.
pub fn refused(name: &str) -> Option<String> {
    let upper = name.to_ascii_uppercase();
    let shaped = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !shaped {
        return Some(format!(
            "`{}` is no name of a variable.",
            chela_core::sanitize::literal(name)
        ));
    }
    let turns = TURNS.contains(&upper.as_str())
        || TURNING_STARTS.iter().any(|start| upper.starts_with(start));
    turns.then(|| {
        format!("env.{name} is refused: it changes which program runs or what it loads. Name the program by its path instead.")
    })
}

#[cfg(test)]
mod tests {
    use chela_core::Host;
    use chela_core::secret::{Redactor, Secret};

    use super::{Surroundings, refused};

    #[test]
    fn secrets_and_loaders_stay_behind() {
        let mut host = Host::fixed("/home/me");
        for (name, value) in [
            ("HOME", "/home/me"),
            ("OPENAI_API_KEY", "sk-1"),
            ("GITHUB_TOKEN", "t"),
            ("DB_PASSWORD", "p"),
            ("HARMLESS", "known-secret"),
            ("ARGS", "--with known-secret --more"),
            ("ENCODED", "a25vd24tc2VjcmV0"),
            ("DATABASE_URL", "postgres://me:s3cret-pw@db.example/x"),
            ("SSH_AUTH_SOCK", "/run/agent"),
            ("LD_PRELOAD", "/x.so"),
            ("DYLD_INSERT_LIBRARIES", "/x"),
            ("BASH_ENV", "/x"),
            ("BASH_FUNC_ls%%", "() { x; }"),
            ("KEYBOARD", "de"),
            ("PATH", "/usr/bin:.:bin:/bin"),
        ] {
            host.env.insert(name.to_owned(), value.to_owned());
        }
        let secret = Secret {
            name: "known".to_owned(),
            value: "known-secret".to_owned(),
        };
        let redactor = Redactor::new(None, vec![secret]);
        let env = Surroundings {
            host: &host,
            prepend: &["~/bin".to_owned()],
            redactor: &redactor,
        }
        .variables();
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "CHELA_SHELL",
                "GIT_PAGER",
                "GIT_TERMINAL_PROMPT",
                "HOME",
                "KEYBOARD",
                "PAGER",
                "PATH",
                "PYTHONDONTWRITEBYTECODE",
                "SSH_AUTH_SOCK"
            ]
        );
        assert_eq!(env["PATH"], "/home/me/bin:/usr/bin:/bin");
    }

    #[test]
    fn a_call_cannot_turn_programs_around() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "ld_audit",
            "DYLD_X",
            "NODE_OPTIONS",
            "GIT_SSH_COMMAND",
            "a b",
            "",
            "1A",
        ] {
            assert!(refused(name).is_some(), "{name}");
        }
        assert!(refused("RUST_LOG").is_none());
    }
}
