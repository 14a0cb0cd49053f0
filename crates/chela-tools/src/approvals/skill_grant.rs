//! The commands a skill asks to have pre-approved, as its `allowed-tools` writes them: `Bash(git
//! add:*)`, `Bash(npm run test)`.

use super::document::ApprovalEntry;

/// What the id of a grant begins with.
pub const SKILL_GRANT: &str = "skill:";

/// What a skill asks for in one word of `allowed-tools`.
#[derive(Debug, Clone, PartialEq)]
pub enum SkillRequest {
    /// Commands that can be granted.
    Commands(Box<ApprovalEntry>),
    /// Commands that no grant covers, and why.
    AnyCommand(&'static str),
    /// Another tool, which the guard decides about as for everybody.
    Tool(String),
}

impl SkillRequest {
    pub fn read(written: &str) -> Self {
        let (name, inner) = match written.split_once('(') {
            Some((name, rest)) => (name.trim(), Some(rest.trim_end_matches(')').trim())),
            None => (written.trim(), None),
        };
        let shells = ["bash", "shell", "sh", "terminal", "exec"];
        if !shells.contains(&name.to_ascii_lowercase().as_str()) {
            return Self::Tool(written.trim().to_owned());
        }
        match inner.filter(|inner| !matches!(*inner, "" | "*" | ":*")) {
            None => Self::AnyCommand("any command is more than can be granted"),
            Some(inner) => match entry(inner) {
                Some(entry) => Self::Commands(Box::new(entry)),
                None => Self::AnyCommand("only a program with its first words can be granted"),
            },
        }
    }

    /// The entry of a request that was granted at a time in milliseconds since 1970.
    pub fn into_entry(self, skill: &str, granted_at: u64) -> Option<ApprovalEntry> {
        match self {
            Self::Commands(entry) => Some(ApprovalEntry {
                granted_at: Some(granted_at),
                id: format!("{SKILL_GRANT}{skill}"),
                source: Some(format!("skill {skill}")),
                ..*entry
            }),
            Self::AnyCommand(_) | Self::Tool(_) => None,
        }
    }
}

/// `git add:*` and `git add *` are every command that begins so, `git status` is that one.
fn entry(inner: &str) -> Option<ApprovalEntry> {
    let open = inner
        .strip_suffix(":*")
        .or_else(|| inner.strip_suffix(" *"));
    let words: Vec<&str> = open.unwrap_or(inner).split_whitespace().collect();
    let is_word = |word: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+".contains(c);
        word.chars().all(plain)
    };
    if words.is_empty() || !words.iter().all(is_word) {
        return None;
    }
    let (program, arguments) = words.split_first()?;
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    Some(ApprovalEntry {
        pattern: (*program).to_owned(),
        arg_pattern: open.is_none().then(|| regex::escape(&arguments.join(" "))),
        prefix: (open.is_some() && !arguments.is_empty()).then_some(arguments),
        ..ApprovalEntry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::SkillRequest;

    #[test]
    fn requests_are_read_as_skills_write_them() {
        let entry = |written: &str| match SkillRequest::read(written) {
            SkillRequest::Commands(entry) => {
                let entry = *entry;
                Some((
                    entry.pattern,
                    entry.prefix.unwrap_or_default().join(" "),
                    entry.arg_pattern,
                ))
            }
            _ => None,
        };
        let some = |program: &str, prefix: &str, whole: Option<&str>| {
            Some((
                program.to_owned(),
                prefix.to_owned(),
                whole.map(str::to_owned),
            ))
        };
        assert_eq!(entry("Bash(git add:*)"), some("git", "add", None));
        assert_eq!(entry("Bash(git add *)"), some("git", "add", None));
        assert_eq!(entry("bash(git:*)"), some("git", "", None));
        assert_eq!(entry("Bash(git status)"), some("git", "", Some("status")));
        assert_eq!(entry("Bash(npm run test:*)"), some("npm", "run test", None));
        for wide in [
            "Bash",
            "Bash(*)",
            "exec",
            "Bash(git * push)",
            "Bash(a; b)",
            "Bash($(x):*)",
        ] {
            assert!(
                matches!(SkillRequest::read(wide), SkillRequest::AnyCommand(_)),
                "{wide}"
            );
        }
        assert_eq!(
            SkillRequest::read("WebFetch(domain:x.org)"),
            SkillRequest::Tool("WebFetch(domain:x.org)".to_owned())
        );
    }
}
