//! What is worth saying about one skill: what, on which line, what to do.

use chela_config::Severity;
use serde::Serialize;

/// One remark about a file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillFinding {
    pub severity: Severity,
    /// A short stable name, such as `name-mismatch`.
    pub code: &'static str,
    /// The file, relative to the skill's folder.
    pub file: String,
    /// From 1; `None` for the file as a whole.
    pub line: Option<u32>,
    pub message: String,
    pub hint: Option<String>,
    /// The line itself, cleaned and cut, for the owner to see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

impl SkillFinding {
    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    pub(crate) fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let file = crate::SKILL_FILE.to_owned();
        Self {
            severity,
            code,
            file,
            line: None,
            message: message.into(),
            hint: None,
            excerpt: None,
        }
    }

    #[must_use]
    pub(crate) fn at(mut self, line: impl Into<Option<u32>>) -> Self {
        self.line = line.into();
        self
    }

    #[must_use]
    pub(crate) fn in_file(mut self, file: impl Into<String>) -> Self {
        self.file = file.into();
        self
    }

    #[must_use]
    pub(crate) fn excerpt(mut self, line: &str) -> Self {
        const MAX_CHARS: usize = 200;
        self.excerpt = Some(crate::one_line::one_line(line, MAX_CHARS));
        self
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for SkillFinding {
    /// `SKILL.md:3: the name has capitals (write `pdf-tools`)`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message)?,
            None => write!(f, "{}: {}", self.file, self.message)?,
        }
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}
