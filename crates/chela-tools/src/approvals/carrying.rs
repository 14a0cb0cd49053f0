//! Programs that run or write what their arguments say.
//!
//! A yes for a program is a yes for what the program does by itself. With some options it does
//! what somebody else wrote: runs a command, loads a plugin, writes a file of any name. Such a
//! call is covered by a yes for exactly this line and by nothing wider. The tables are data, and
//! err on the side of asking.

/// Programs that run other programs: an entry for one would be an entry for all. Only exactly
/// approved arguments count for them.
#[rustfmt::skip]
const CARRIERS: &[&str] = &[
    "act", "anacron", "ansible", "ansible-playbook", "ash", "asdf", "at", "awk", "bash", "batch",
    "bmake", "busybox", "bwrap", "capsh", "catchsegv", "cgexec", "chroot", "chronic", "chrt", "code",
    "crontab", "csh", "cursor", "daemonize", "dash", "dbus-launch", "dbus-run-session", "dc", "direnv",
    "distrobox", "doas", "ed", "elinks", "emacs", "emacsclient", "entr", "env", "eval", "ex", "expect",
    "fakeroot", "find", "firejail", "fish", "flatpak", "flock", "ftp", "gawk", "gdb", "gnuplot",
    "heaptrack", "helix", "hx", "hyperfine", "ifne", "ionice", "jed", "joe", "kak", "keychain", "ksh",
    "less", "lldb", "logsave", "ltrace", "lxc", "lynx", "m4", "mail", "mailx", "make", "man", "mawk",
    "micro", "mise", "more", "mosh", "most", "multipass", "mutt", "mysql", "nano", "nawk", "nice",
    "nix", "nix-shell", "nodemon", "nohup", "nsenter", "numactl", "nvim", "octave", "open", "parallel",
    "perf", "pg", "pico", "pkexec", "prlimit", "proot", "psql", "rlwrap", "rr", "run-parts", "runuser",
    "screen", "script", "sed", "sendmail", "setpriv", "setsid", "sh", "snap", "socat", "sqlite3",
    "ssh", "ssh-agent", "sshpass", "start-stop-daemon", "stdbuf", "strace", "su", "subl", "sudo",
    "systemctl", "systemd-run", "taskset", "tcsh", "telnet", "terraform", "time", "timeout", "tmux",
    "tofu", "toolbox", "toybox", "unbuffer", "unshare", "vagrant", "valgrind", "vi", "view", "vim",
    "vimdiff", "w3m", "wasmer", "wasmtime", "watch", "watchexec", "wine", "xargs", "xdg-open",
    "xvfb-run", "zed", "zsh",
];

/// Programs that run what the files around them say. Outside the sandbox a yes for one covers one
/// run.
#[rustfmt::skip]
const INTERPRETERS: &[&str] = &[
    "ant", "autoreconf", "bazel", "bazelisk", "bb", "buck", "bun", "bundle", "bunx", "cabal", "cargo",
    "clj", "clojure", "cmake", "composer", "conda", "corepack", "coverage", "cross", "crystal", "ctest",
    "dart", "deno", "devbox", "devenv", "django-admin", "doit", "dotnet", "doxygen", "dune", "elixir",
    "erl", "escript", "eslint", "fab", "flask", "flit", "flutter", "gem", "ghc", "ghci", "go", "gradle",
    "gradlew", "groovy", "grunt", "guile", "gulp", "hatch", "iex", "invoke", "ipython", "jbang", "jekyll",
    "jest", "jshell", "julia", "jupyter", "just", "java", "kotlin", "latexmk", "lefthook", "lein",
    "lerna", "lua", "lualatex", "mage", "make", "mamba", "gmake", "maturin", "meson", "mix", "mkdocs",
    "mocha", "mvn", "mvnw", "mypy", "next", "nim", "nimble", "ninja", "node", "npm", "npx", "nox", "nx",
    "ocaml", "opam", "pandoc", "pants", "pdflatex", "pdm", "perl", "php", "pip", "pip3", "pipx", "pixi",
    "pnpm", "pnpx", "poetry", "powershell", "pre-commit", "prettier", "pwsh", "pylint", "pypy", "pytest",
    "python", "quarto", "racket", "rake", "R", "Rscript", "rollup", "ruby", "runghc", "runhaskell",
    "rustc", "rustup", "rye", "samu", "sbcl", "sbt", "scala", "scons", "sphinx-build", "stack", "swift",
    "task", "tclsh", "tox", "trunk", "tsc", "tsx", "ts-node", "turbo", "uv", "uvx", "vite", "vitest",
    "wasm-pack", "webpack", "xelatex", "xmake", "yarn", "zig", "ash", "bash", "dash", "fish", "ksh",
    "sh", "zsh",
];

/// What makes a program run or write something else.
struct CarryingRow {
    program: &'static str,
    /// Options, as they are documented. One of a single letter also counts with its value
    /// attached and within a cluster; a long one also when it is abbreviated.
    options: &'static [&'static str],
    /// Words that count wherever they stand: commands of the program, or starts of operands that
    /// end in `:` or `=`.
    words: &'static [&'static str],
}

const fn row(
    program: &'static str,
    options: &'static [&'static str],
    words: &'static [&'static str],
) -> CarryingRow {
    CarryingRow {
        program,
        options,
        words,
    }
}

#[rustfmt::skip]
const CARRYING: &[CarryingRow] = &[
    row("git", &["-c", "-C", "--config", "--config-env", "--exec-path", "--git-dir", "--work-tree",
        "--output", "--output-directory", "--ext-diff", "--textconv", "--upload-pack", "--receive-pack",
        "--exec", "-x", "--open-files-in-pager", "-O", "--template", "--show-signature", "--no-index",
        "--separate-git-dir", "--sendmail-cmd", "--smtp-server", "--repo", "--filters",
        "--recurse-submodules", "--reference", "--bundle-uri"],
        &["config", "bisect", "difftool", "mergetool", "filter-branch", "submodule", "hook", "daemon",
        "instaweb", "credential", "archive", "bundle", "format-patch", "send-email", "merge-index",
        "maintenance", "diagnose", "bugreport", "worktree", "init", "remote-ext", "remote-fd", "credential-store", "credential-cache", "lfs",
        "svn", "p4", "citool", "gui", "http-backend", "upload-pack", "receive-pack", "shell",
        "fsmonitor--daemon", "web--browse", "ext::", "fd::"]),
    row("tar", &["--checkpoint-action", "--to-command", "-I", "--use-compress-program",
        "--info-script", "-F", "--new-volume-script", "--rsh-command", "--rmt-command", "-P",
        "--absolute-names", "-T", "--files-from", "--index-file", "-g", "--listed-incremental",
        "--volno-file"], &[]),
    row("cpio", &["--rsh-command", "-O", "-F", "--file", "-I"], &[]),
    row("unzip", &["-:"], &[]),
    row("7z", &["-o", "-si", "-so"], &["@"]),
    row("curl", &["-K", "--config", "-o", "--output", "-O", "--remote-name", "--remote-name-all",
        "--output-dir", "-J", "--remote-header-name", "-D", "--dump-header", "-c", "--cookie-jar", "-T",
        "--upload-file", "--trace", "--trace-ascii", "--stderr", "--libcurl", "--unix-socket",
        "--abstract-unix-socket", "--etag-save", "--hsts", "--alt-svc", "-d", "--data", "--data-binary",
        "--data-raw", "--data-urlencode", "-F", "--form", "--proxy", "-x", "--preproxy", "--engine",
        "-H", "--header", "-b", "--cookie", "--json", "--url-query", "-w", "--write-out", "--resolve",
        "--connect-to", "--variable", "-E", "--cert", "--netrc-file", "-A", "--user-agent", "-e",
        "--referer", "-u", "--user", "-X", "--request", "--request-target", "-Q", "--quote", "--doh-url",
        "--dns-servers", "--interface", "--socks4", "--socks4a", "--socks5", "--socks5-hostname",
        "--proxy-header", "-U", "--proxy-user", "--location-trusted", "-n", "--netrc",
        "--netrc-optional", "--key", "--oauth2-bearer", "--aws-sigv4", "-k", "--insecure", "--cacert",
        "--capath", "--mail-from", "--mail-rcpt", "-t", "--telnet-option", "--proto-default",
        "--ipfs-gateway", "--next", "-:"],
        &["file:", "gopher:", "telnet:", "smtp:", "dict:", "ldap:", "tftp:"]),
    row("wget", &["-O", "--output-document", "-o", "--output-file", "-a", "--append-output", "-P",
        "--directory-prefix", "-i", "--input-file", "-e", "--execute", "--config", "--use-askpass",
        "--post-file", "--post-data", "--body-file", "--body-data", "--save-cookies", "--warc-file",
        "--header", "--referer", "-U", "--user-agent", "--method", "--user", "--password", "--http-user",
        "--http-password", "--proxy-user", "--proxy-password", "--load-cookies", "--ca-certificate",
        "--certificate", "--private-key", "--no-check-certificate", "--content-disposition",
        "--rejected-log", "--hsts-file", "-B", "--base", "--bind-address"],
        &[]),
    row("rsync", &["-e", "--rsh", "--rsync-path", "--log-file", "--write-batch",
        "--only-write-batch", "-M", "--remote-option", "--daemon", "--config", "--password-file",
        "--backup-dir", "--temp-dir", "-T", "--partial-dir", "--early-input"], &[]),
    row("scp", &["-S", "-o", "-F", "-D", "-J"], &[]),
    row("sftp", &["-S", "-o", "-F", "-D", "-b", "-J"], &[]),
    row("zip", &["-T", "-TT", "--unzip-command", "--test"], &[]),
    row("sort", &["-o", "--output", "--compress-program", "-T", "--temporary-directory",
        "--files0-from"], &[]),
    row("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"], &[]),
    row("fd", &["-x", "--exec", "-X", "--exec-batch"], &[]),
    row("fdfind", &["-x", "--exec", "-X", "--exec-batch"], &[]),
    row("ag", &["--pager"], &[]),
    row("ack", &["--pager", "--ackrc"], &[]),
    row("bat", &["--pager", "--config-file"], &["cache"]),
    row("batcat", &["--pager", "--config-file"], &["cache"]),
    row("tree", &["-o", "-R", "-H"], &[]),
    row("file", &["-C", "--compile", "-m", "--magic-file", "-f", "--files-from", "-z"], &[]),
    row("date", &["-s", "--set", "-f", "--file"], &[]),
    row("sponge", &[], &["/"]),
    row("split", &["--filter"], &[]),
    row("jq", &["-L", "--library-path"], &[]),
    row("yq", &["-i", "--inplace", "-s", "--split-exp"], &[]),
    row("diff", &["-l", "--paginate"], &[]),
    row("ip", &["-batch"], &["netns"]),
    row("http", &["-o", "--output", "-d", "--download", "--session", "--proxy", "--verify"], &[]),
    row("aria2c", &["-o", "--out", "-d", "--dir", "-i", "--input-file", "--conf-path",
        "--on-download-complete", "--on-download-start", "--all-proxy"], &[]),
    row("tcpdump", &["-z", "-w", "-Z"], &[]),
    row("dd", &[], &["of="]),
    row("nc", &["-e", "-c", "--exec", "--sh-exec"], &[]),
    row("ncat", &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"], &[]),
    row("openssl", &["-out", "-engine", "-provider", "-writerand", "-keyout"], &["s_server",
        "engine"]),
    row("gcc", &["-fplugin", "-wrapper", "-specs", "-B", "-o"], &["@"]),
    row("g++", &["-fplugin", "-wrapper", "-specs", "-B", "-o"], &["@"]),
    row("clang", &["-fplugin", "-fpass-plugin", "-Xclang", "-load", "-B", "-o"], &["@"]),
    row("cargo", &["--config", "-Z", "--manifest-path", "-C"], &["install", "fix", "publish"]),
    row("go", &["-exec", "-toolexec", "-C", "-modfile", "-overlay", "-o"], &["generate", "install",
        "env"]),
    row("npm", &["--script-shell", "--prefix", "-C", "--userconfig", "--globalconfig",
        "--node-options", "--shell", "-g", "--global"], &["exec", "x", "explore", "config", "set",
        "publish", "init", "edit"]),
    row("pnpm", &["--script-shell", "--prefix", "-C", "--dir", "-g", "--global"], &["exec", "dlx",
        "config", "publish"]),
    row("yarn", &["--cwd", "--use-yarnrc"], &["exec", "dlx", "config", "node", "publish",
        "global"]),
    row("pip", &["--python", "--target", "-t", "--prefix", "--root", "--log", "--cache-dir",
        "--report"], &["config"]),
    row("pytest", &["-p", "-c", "--rootdir", "--confcutdir", "-o", "--override-ini", "--basetemp",
        "--junitxml", "--junit-xml", "--debug"], &[]),
    row("docker", &["-H", "--host", "--config", "-v", "--volume", "--mount", "--privileged"],
        &["run", "exec", "build", "buildx", "cp", "compose", "plugin", "load", "import"]),
    row("podman", &["-v", "--volume", "--mount", "--privileged"], &["run", "exec", "build", "cp",
        "load", "import"]),
    row("kubectl", &["--kubeconfig", "-f", "--filename"], &["exec", "run", "cp", "apply", "debug",
        "plugin"]),
    row("gh", &["--body-file", "-F", "--output", "-O"], &["alias", "extension", "config", "api",
        "auth", "codespace"]),
    row("tee", &["-a", "--append"], &["/"]),
    row("xxd", &["-r"], &[]),
    row("gpg", &["-o", "--output", "--keyserver-options", "--options", "--agent-program"], &[]),
];

/// Programs that take a script as an argument, and the options that introduce it.
const INLINE: &[(&str, &[&str])] = &[
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    (
        "node",
        &[
            "-e",
            "--eval",
            "-p",
            "--print",
            "-r",
            "--require",
            "--import",
            "--loader",
        ],
    ),
    ("bun", &["-e", "--eval", "-p", "--print", "-r", "--preload"]),
    ("deno", &["eval"]),
    ("perl", &["-e", "-E", "-M", "-I"]),
    ("ruby", &["-e", "-r", "-I"]),
    ("php", &["-r", "-d"]),
    ("lua", &["-e", "-l"]),
    ("osascript", &["-e"]),
    ("Rscript", &["-e"]),
];

/// Whether a program runs whatever its arguments name.
pub fn is_carrier(name: &str) -> bool {
    let plain = name.rsplit('/').next().unwrap_or(name);
    CARRIERS.contains(&plain) || CARRIERS.contains(&unversioned(name))
}

/// Whether a program runs what files around it say.
pub fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&unversioned(name))
}

/// Whether a script stands among the arguments. `None` for arguments that are not all known.
pub fn is_inline(name: &str, arguments: Option<&[String]>) -> bool {
    let name = unversioned(name);
    INLINE
        .iter()
        .filter(|(program, _)| *program == name)
        .any(|(_, options)| match arguments {
            None => true,
            Some(arguments) => arguments
                .iter()
                .any(|argument| options.iter().any(|option| is_option(argument, option))),
        })
}

/// Whether some arguments make a program run or write something else.
pub fn has_carrying_options(name: &str) -> bool {
    CARRYING.iter().any(|row| row.program == unversioned(name))
}

/// Letters that mean something else after one command of a program.
const OF_ONE_COMMAND: &[(&str, &str, &[&str])] = &[
    ("git", "clone", &["-u"]),
    ("git", "fetch-pack", &["--exec"]),
    ("git", "ls-remote", &["-u", "--exec"]),
    ("git", "rebase", &["-i", "--interactive"]),
    ("git", "add", &["-e", "--edit"]),
];

/// The argument that makes a program run or write something else.
pub fn carried<'a>(name: &str, arguments: &'a [String]) -> Option<&'a str> {
    let name = unversioned(name);
    let row = CARRYING.iter().find(|row| row.program == name)?;
    let by_command = OF_ONE_COMMAND
        .iter()
        .filter(|(program, command, _)| {
            *program == name && arguments.iter().any(|argument| argument == command)
        })
        .flat_map(|(_, _, options)| options.iter());
    let fetches = matches!(name, "curl" | "wget" | "http" | "aria2c");
    let special = arguments.iter().enumerate().find(|(at, argument)| {
        by_command.clone().any(|option| is_option(argument, option))
            || fetches && has_odd_host(argument)
            // The first word of `tar` is a cluster without a dash.
            || name == "tar" && *at == 0 && !argument.starts_with('-') && {
                let cluster = format!("-{argument}");
                row.options.iter().any(|option| is_option(&cluster, option))
            }
    });
    if let Some((_, argument)) = special {
        return Some(argument);
    }
    arguments
        .iter()
        .find(|argument| {
            let option = row.options.iter().any(|option| is_option(argument, option));
            let word = row
                .words
                .iter()
                .any(|word| match word.ends_with([':', '=', '@', '/']) {
                    true => argument.starts_with(word),
                    false => argument == word,
                });
            option || word
        })
        .map(String::as_str)
}

/// Whether an operand names a host in a way in which nobody writes one: as a number, in other bases,
/// with too few parts, or as an address within another kind.
fn has_odd_host(argument: &str) -> bool {
    if argument.starts_with('-') {
        return false;
    }
    let rest = argument
        .split_once("://")
        .map_or(argument, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.starts_with('[') || host.contains(['%', '{']) {
        return true;
    }
    let host = host
        .split(':')
        .next()
        .unwrap_or_default()
        .trim_end_matches('.');
    let parts: Vec<&str> = host.split('.').collect();
    let is_number = |part: &&str| {
        let lower = part.to_ascii_lowercase();
        let hex = lower.strip_prefix("0x");
        match hex {
            Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
            None => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
        }
    };
    let is_usual = |part: &&str| {
        part.len() <= 3
            && (part.len() == 1 || !part.starts_with('0'))
            && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    // The last part decides whether it is an address.
    parts.last().is_some_and(is_number) && !(parts.len() == 4 && parts.iter().all(is_usual))
}

/// Whether an argument is an option, in any of the ways programs read them.
fn is_option(argument: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(given) = argument.strip_prefix("--") else {
            return false;
        };
        let given = given.split('=').next().unwrap_or_default();
        return given == long || given.len() >= 3 && long.starts_with(given);
    }
    let Some(letters) = argument.strip_prefix('-') else {
        // `tar cIf` needs no dash, and `deno eval` is a word.
        return argument == option;
    };
    match option.strip_prefix('-') {
        // Of several letters with one dash: `-exec`, `-fplugin=x`.
        Some(name) if name.len() > 1 => {
            letters.trim_start_matches('-').split('=').next() == Some(name)
                || letters.starts_with(name)
        }
        Some(letter) => !letters.starts_with('-') && in_cluster(letters, letter),
        None => false,
    }
}

/// Whether a letter may be an option of a cluster such as `-sSKfile`. Digits and what follows a
/// `=` are values.
fn in_cluster(letters: &str, letter: &str) -> bool {
    letters
        .split('=')
        .next()
        .is_some_and(|letters| letters.contains(letter))
}

/// `python3.12` is `python`.
fn unversioned(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    let version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    match name.trim_end_matches(version) {
        "" => name,
        // `pip3` is `pip`, and `g++` stays.
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn every_option_of_every_row_is_seen() {
        for row in CARRYING {
            for option in row.options {
                let given = words(&format!("x {option} y"));
                assert!(
                    carried(row.program, &given).is_some(),
                    "{} {option}",
                    row.program
                );
            }
            for word in row.words {
                let given = words(&format!("{word}x {word}"));
                assert!(
                    carried(row.program, &given).is_some(),
                    "{} {word}",
                    row.program
                );
            }
            assert_eq!(
                carried(row.program, &words("plain.txt")),
                None,
                "{}",
                row.program
            );
        }
    }

    #[test]
    fn calls_that_run_or_write_something_else_are_seen() {
        for line in [
            "git -c alias.x=!cmd x",
            "git log --output=/home/me/.bashrc",
            "git log --outp=/x",
            "git clone ext::sh",
            "tar xf a.tar --checkpoint-action=exec=sh",
            "tar --use-comp=sh xf a",
            "curl -K evil",
            "curl -sSKevil",
            "curl -o/home/me/.bashrc x",
            "rg --pre=sh x",
            "go test -exec sh",
            "dd if=a of=/x",
            "npm exec x",
            "git clone -u /tmp/x host:repo",
            "git clone --upload-pack=/tmp/x host:repo",
            "git --config-env=core.pager=X log",
            "git grep -Ovim x",
            "git clone fd::17",
            "curl 2130706433/x",
            "curl http://0x7f000001/x",
            "curl http://0177.0.0.1/",
            "curl http://127.1/",
            "curl http://[::ffff:127.0.0.1]/",
            "curl http://a@0x7f.1/",
            "wget 3232235777",
            "curl --resolve a:80:1.2.3.4 http://a/",
            "curl --connect-to ::b http://a/",
            "curl -x proxy http://a/",
            "curl --unix-socket /s http://a/",
            "wget --header=x http://a/",
            "tar cIf sh a.tar b",
            "tar xf a.tar --to-command=sh",
            "tar -T list -cf a.tar",
            "rsync -e sh a b:c",
            "sort --compress-prog=sh a",
            "split --filter=sh a",
            "tree -o x",
            "file -C -m x",
            "date -s tomorrow",
            "ag --pager=sh x",
            "bat --pager=sh x",
            "fdfind -x rm",
        ] {
            let given = words(line);
            let (name, arguments) = given.split_first().unwrap();
            assert!(carried(name, arguments).is_some(), "{line}");
        }
        for line in [
            "git status",
            "git push -u origin main",
            "git commit -m text",
            "tar xzf a.tar.gz",
            "cargo test --workspace",
            "npm run build",
            "curl http://127.0.0.1:8080/x",
            "curl https://example.org/2024/01",
            "wget http://192.168.1.1/",
            "git clone https://example.org/a.git",
            "git stash push -u",
            "tar tzf a.tgz",
            "jq .a.b x.json",
            "date +%F",
        ] {
            let given = words(line);
            let (name, arguments) = given.split_first().unwrap();
            assert_eq!(carried(name, arguments), None, "{line}");
        }
        assert!(
            is_carrier("sed") && is_carrier("xargs") && is_carrier("ssh") && is_carrier("gawk")
        );
        for program in [
            "env", "nice", "timeout", "nohup", "less", "man", "m4", "dc", "sqlite3",
        ] {
            assert!(is_carrier(program), "{program}");
        }
        for program in [
            "npx", "uvx", "pipx", "bunx", "pnpx", "tclsh", "julia", "pwsh",
        ] {
            assert!(is_interpreter(program), "{program}");
        }
        assert!(is_inline("python3.12", Some(&words("-c x"))));
        assert!(is_inline("perl", Some(&words("-ne x"))));
        assert!(!is_inline("python3", Some(&words("run.py"))));
        assert!(is_interpreter("python3") && is_interpreter("npm") && !is_interpreter("git"));
    }
}
