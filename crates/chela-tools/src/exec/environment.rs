//! The variables a command gets: an allow-list.
//!
//! Secrets have names nobody can foresee, so what is not known to be harmless stays behind. The
//! owner names more in `tools.exec.passEnv`. A value that looks like a secret stays behind under
//! every name but those.

use std::collections::BTreeMap;

use chela_config::is_secret_key;
use chela_core::Host;
use chela_core::secret::Redactor;

/// Set for every command, so that scripts know who called.
const CALLER: (&str, &str) = ("CHELA_SHELL", "exec");

/// What programs look for of the owner's environment: who, where, how it looks, which tools.
const PASSED: &[&str] = &[
    // The person and the terminal.
    "COLORTERM",
    "COLUMNS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "EDITOR",
    "FORCE_COLOR",
    "HOME",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LINES",
    "LOGNAME",
    "LS_COLORS",
    "NO_COLOR",
    "PATH",
    "SHELL",
    "TERM",
    "TERMINFO",
    "TERMINFO_DIRS",
    "TERM_PROGRAM",
    "TMP",
    "TMPDIR",
    "TEMP",
    "TZ",
    "USER",
    "VISUAL",
    // The desktop and the agents that hold keys without giving them away.
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "SSH_AUTH_SOCK",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    // Certificates and the proxies' exceptions.
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "no_proxy",
    // Where tools are and what they build with.
    "ANDROID_HOME",
    "ANDROID_NDK_HOME",
    "ANDROID_SDK_ROOT",
    "AR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CC",
    "CFLAGS",
    "CI",
    "CMAKE_PREFIX_PATH",
    "CONDA_DEFAULT_ENV",
    "CONDA_PREFIX",
    "COREPACK_HOME",
    "CPATH",
    "CPPFLAGS",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "CXXFLAGS",
    "DENO_DIR",
    "DENO_INSTALL",
    "DEVELOPER_DIR",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GOARCH",
    "GOBIN",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOOS",
    "GOPATH",
    "GOPRIVATE",
    "GOPROXY",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "HOMEBREW_CELLAR",
    "HOMEBREW_PREFIX",
    "HOMEBREW_REPOSITORY",
    "INFOPATH",
    "JAVA_HOME",
    "JDK_HOME",
    "KEYBOARD",
    "KUBECONFIG",
    "LDFLAGS",
    "LIBRARY_PATH",
    "M2_HOME",
    "MANPATH",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NODE_ENV",
    "NVM_BIN",
    "NVM_DIR",
    "NVM_INC",
    "PIPX_HOME",
    "PKG_CONFIG_PATH",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONPYCACHEPREFIX",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "RBENV_ROOT",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SDKMAN_DIR",
    "SDKROOT",
    "SOURCE_DATE_EPOCH",
    "UV_CACHE_DIR",
    "UV_PYTHON",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "WSLENV",
    "WSL_DISTRO_NAME",
];

/// Starts of such names.
const PASSED_STARTS: &[&str] = &["CARGO_", "CCACHE_", "LC_", "SCCACHE_", "XDG_"];

/// Addresses of proxies. Who may use one is a secret; where it is, is not.
const PROXIES: &[&str] = &[
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
];

/// Words in names of variables that hold secrets.
const SECRET_WORDS: &[&str] = &[
    "ACCESS",
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "DSN",
    "KEY",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PWD",
    "SECRET",
    "TOKEN",
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

/// What the owner's own environment may not pass on, even when it is named.
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
pub struct CommandEnvironment<'a> {
    pub host: &'a Host,
    /// Folders in front of PATH.
    pub prepend: &'a [String],
    /// What the owner wants commands to have besides (`tools.exec.passEnv`).
    pub pass: &'a [String],
    /// Knows the values no command may see.
    pub redactor: &'a Redactor,
}

impl CommandEnvironment<'_> {
    /// What commands need of the owner's variables, without secrets and without what makes
    /// programs load others.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut env: BTreeMap<String, String> = self
            .host
            .env
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), self.passed(name, value)?)))
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

    /// The value a command gets, if any.
    fn passed(&self, name: &str, value: &str) -> Option<String> {
        if is_never(name) {
            return None;
        }
        if self.pass.iter().any(|wanted| names(wanted, name)) {
            return Some(value.to_owned());
        }
        if PROXIES.contains(&name) {
            return without_login(value).filter(|value| !self.looks_secret(value));
        }
        let is_usual =
            PASSED.contains(&name) || PASSED_STARTS.iter().any(|start| name.starts_with(start));
        let allowed = is_usual && !is_secret_name(name) && !self.looks_secret(value);
        allowed.then(|| value.to_owned())
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

    fn looks_secret(&self, value: &str) -> bool {
        !self.redactor.find(value.as_bytes()).is_empty()
    }
}

/// Names that hold no secret although a word of theirs says so.
const HARMLESS: &[&str] = &["SSH_AUTH_SOCK", "XAUTHORITY"];

fn is_secret_name(name: &str) -> bool {
    let told = is_secret_key(name)
        || name
            .to_ascii_uppercase()
            .split(['_', '-'])
            .any(|word| SECRET_WORDS.contains(&word));
    told && !HARMLESS.contains(&name)
}

/// Whether an entry of `tools.exec.passEnv` means a variable.
fn names(wanted: &str, name: &str) -> bool {
    match wanted.strip_suffix('*') {
        // A bare star would be everything, which is what this list is against.
        Some(start) => !start.is_empty() && name.starts_with(start),
        None => wanted == name,
    }
}

/// A proxy's address without the name and password in it; `None` where they cannot be told apart.
fn without_login(address: &str) -> Option<String> {
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let host = authority.rsplit('@').next().unwrap_or(authority);
    // What follows the host is no part of a proxy's address, and may hold anything.
    (path.is_empty() || path == "/").then(|| format!("{scheme}{host}"))
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
            "`{}` is not the name of a variable.",
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
    use chela_core::secret::{KnownSecret, Redactor};

    use super::{CommandEnvironment, refused};

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
            ("MYSQL_PWD", "p"),
            ("SSHPASS", "p"),
            ("NOBODY_KNOWS", "x"),
            ("HARMLESS_NAMED", "yes"),
            ("MY_TOKEN", "named by the owner"),
            ("CARGO_HOME", "/home/me/.cargo"),
            ("CARGO_REGISTRY_TOKEN", "t"),
            ("GOPATH", "/home/me/go"),
            ("GOOGLE_API_KEY", "t"),
            ("LANG", "known-secret"),
            ("LC_ALL", "C.UTF-8"),
            ("HTTPS_PROXY", "http://me:pw@proxy.example:3128/"),
            ("http_proxy", "proxy.example:3128"),
            ("ALL_PROXY", "socks5://proxy.example/?pass=x"),
            ("PATH", "/usr/bin:.:bin:/bin"),
        ] {
            host.env.insert(name.to_owned(), value.to_owned());
        }
        let secret = KnownSecret {
            name: "known".to_owned(),
            value: "known-secret".to_owned(),
        };
        let redactor = Redactor::new(None, vec![secret]);
        let env = CommandEnvironment {
            host: &host,
            prepend: &["~/bin".to_owned()],
            pass: &[
                "HARMLESS_NAMED".to_owned(),
                "MY_*".to_owned(),
                "BASH_ENV".to_owned(),
            ],
            redactor: &redactor,
        }
        .variables();
        let names: Vec<&str> = env.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "CARGO_HOME",
                "CHELA_SHELL",
                "GIT_PAGER",
                "GIT_TERMINAL_PROMPT",
                "GOPATH",
                "HARMLESS_NAMED",
                "HOME",
                "HTTPS_PROXY",
                "KEYBOARD",
                "LC_ALL",
                "MY_TOKEN",
                "PAGER",
                "PATH",
                "PYTHONDONTWRITEBYTECODE",
                "SSH_AUTH_SOCK",
                "http_proxy"
            ]
        );
        assert_eq!(env["HTTPS_PROXY"], "http://proxy.example:3128");
        assert_eq!(env["http_proxy"], "proxy.example:3128");
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
