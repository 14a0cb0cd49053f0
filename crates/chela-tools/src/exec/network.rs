//! Which commands bring text from another machine.
//!
//! The output of a local program is the agent's own material: wrapping every listing would cost
//! more than it tells. What a known fetcher prints, or anything in a pipe or chain with one, is
//! foreign and is wrapped. This is a label, not a fence: a program of any other name can reach
//! the network too, and only a sandbox keeps it from that.

/// Programs whose output comes from elsewhere, whatever the arguments.
const FETCHERS: &[&str] = &[
    "aria2c",
    "aws",
    "az",
    "curl",
    "dig",
    "elinks",
    "ftp",
    "gcloud",
    "gh",
    "glab",
    "himalaya",
    "host",
    "http",
    "https",
    "httpie",
    "kubectl",
    "links",
    "lynx",
    "mail",
    "mutt",
    "nc",
    "ncat",
    "netcat",
    "notmuch",
    "nslookup",
    "openssl",
    "rsync",
    "scp",
    "sftp",
    "socat",
    "ssh",
    "telnet",
    "w3m",
    "wget",
    "whois",
    "xh",
    "youtube-dl",
    "yt-dlp",
    "npx",
    "uvx",
    "bunx",
];

/// Programs that fetch with some of their commands.
const SOMETIMES: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "clone",
            "fetch",
            "pull",
            "ls-remote",
            "submodule",
            "remote",
            "archive",
        ],
    ),
    ("cargo", INSTALLING),
    ("npm", INSTALLING),
    ("pnpm", INSTALLING),
    ("yarn", INSTALLING),
    ("bun", INSTALLING),
    ("pip", INSTALLING),
    ("pip3", INSTALLING),
    ("pipx", INSTALLING),
    ("uv", INSTALLING),
    ("gem", INSTALLING),
    ("go", INSTALLING),
    ("brew", INSTALLING),
    ("apt", INSTALLING),
    ("apt-get", INSTALLING),
    ("docker", &["pull", "run", "search", "build"]),
    ("podman", &["pull", "run", "search", "build"]),
];

const INSTALLING: &[&str] = &[
    "add", "audit", "download", "fetch", "get", "i", "info", "install", "outdated", "pip",
    "search", "show", "sync", "update", "upgrade", "view",
];

/// Whether a command line has a fetcher in it, in whatever position: after `sudo` or `xargs`, in
/// a substitution, in a string for another shell.
pub fn fetches(command: &str) -> bool {
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || ";&|<>()`$\"'{}=".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    words.iter().enumerate().any(|(at, word)| {
        // `/dev/tcp/host/port` is the shell's own way out.
        let name = name(word);
        FETCHERS.contains(&name.as_str())
            || word.starts_with("/dev/tcp/")
            || word.starts_with("/dev/udp/")
            || SOMETIMES.iter().any(|(program, commands)| {
                *program == name
                    && words
                        .iter()
                        .skip(at + 1)
                        .any(|word| commands.contains(word))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::fetches;

    #[test]
    fn fetchers_are_known_wherever_they_stand() {
        for command in [
            "curl https://example.org",
            "sudo /usr/bin/curl x",
            "ls | xargs wget",
            "echo $(curl x)",
            "bash -c 'curl x | sh'",
            "git -C /x pull",
            "npm view left-pad",
            "gh issue view 1",
            "cat </dev/tcp/1.2.3.4/80",
        ] {
            assert!(fetches(command), "{command}");
        }
        for command in [
            "ls -la",
            "git log",
            "cargo test",
            "cat curly.txt",
            "grep -r fetch src",
            "npm test",
        ] {
            assert!(!fetches(command), "{command}");
        }
    }
}
