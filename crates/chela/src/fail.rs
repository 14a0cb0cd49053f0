//! Every error a person can meet, as a message, a hint and an exit code.

use std::io;

use chela_config::is_secret_key;
use chela_core::Host;
use chela_core::panics::caught_panic;
use chela_core::secret::{KnownSecret, Redactor, is_guessable};
use chela_model::oauth::OauthError;

/// What a command ends with when nothing went wrong on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    /// Done.
    Fine,
    /// Done, and what was looked for is wrong: findings, drift, differences.
    Findings,
    /// No model answers.
    NoModel,
    /// A turn was stopped, or came to a limit.
    Stopped,
    /// Answered, and something an agent wanted to do was refused.
    Refused,
    /// The config has errors.
    BadConfig,
    /// What a command that was run ended with.
    Command(u8),
}

impl CommandExit {
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::NoModel => NO_MODEL_CODE,
            Self::Stopped => STOPPED_CODE,
            Self::Refused => REFUSED_CODE,
            Self::BadConfig => CONFIG_CODE,
            Self::Command(code) => code,
        }
    }
}

/// `EX_CONFIG` of sysexits: the config is at fault.
const CONFIG_CODE: u8 = 78;
const USAGE_CODE: u8 = 2;
pub const NO_MODEL_CODE: u8 = 3;
const STOPPED_CODE: u8 = 4;
const REFUSED_CODE: u8 = 5;
const FAILURE_CODE: u8 = 1;
/// `EX_SOFTWARE` of sysexits: the program is at fault.
const FAULT_CODE: u8 = 70;

/// Why a command could not do what was asked.
#[derive(Debug)]
pub struct CommandError {
    pub message: String,
    pub hint: Option<String>,
    pub code: u8,
    /// The reader went away (`chela … | head`): nothing is said.
    pub silent: bool,
}

impl CommandError {
    /// Something went wrong while doing it.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self {
            message: without_codes(&message.to_string()),
            hint: None,
            code: FAILURE_CODE,
            silent: false,
        }
    }

    /// What was typed cannot be meant.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self {
            code: USAGE_CODE,
            ..Self::new(message)
        }
    }

    /// The config is at fault.
    pub fn config(message: impl std::fmt::Display) -> Self {
        Self {
            code: CONFIG_CODE,
            ..Self::new(message)
        }
    }

    /// Chela itself is at fault.
    pub fn broken(payload: &(dyn std::any::Any + Send)) -> Self {
        let panic = caught_panic(payload);
        let hint = match &panic.report {
            Some(report) => format!("the details are in {}", report.display()),
            None => "`chela logs` shows what led to it".to_owned(),
        };
        Self {
            code: FAULT_CODE,
            ..Self::new(format!("a bug in Chela: {panic}")).hint(hint)
        }
    }

    /// Errors quote what they are about; a secret is not quoted.
    #[must_use]
    pub fn without_secrets(mut self, host: &Host) -> Self {
        let secrets = host
            .env
            .iter()
            .filter(|(name, value)| is_secret_key(name) && !is_guessable(value))
            .map(|(name, value)| KnownSecret {
                name: format!("env:{name}"),
                value: value.clone(),
            });
        let redactor = Redactor::new(None, secrets.collect());
        self.message = redactor.redact(&self.message).into_owned();
        self.hint = self.hint.map(|hint| redactor.redact(&hint).into_owned());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl std::fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

/// A message without the system's numbers of its errors: the words beside them say the same.
fn without_codes(message: &str) -> String {
    let mut kept = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        let Some((number, behind)) = after.split_once(')') else {
            break;
        };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        kept.push_str(before);
        rest = behind;
    }
    kept + rest
}

/// The message of an error and of what is behind it.
pub fn explained(error: impl std::error::Error) -> CommandError {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        source = inner.source();
    }
    CommandError::new(text)
}

impl From<io::Error> for CommandError {
    /// Only writing to the screen gives a bare IO error; everything else names its file.
    fn from(error: io::Error) -> Self {
        let fail = Self::new(format!("cannot write the output: {error}"));
        match error.kind() {
            // A reader that has what it wanted is no fault.
            io::ErrorKind::BrokenPipe => Self {
                silent: true,
                code: CommandExit::Fine.code(),
                ..fail
            },
            _ => fail,
        }
    }
}

impl From<OauthError> for CommandError {
    fn from(error: OauthError) -> Self {
        match error {
            OauthError::Insecure { .. } => Self::usage(error),
            _ => Self::new(error),
        }
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

#[cfg(test)]
mod tests {
    use super::CommandError;

    #[test]
    fn numbers_of_the_system_are_left_out() {
        let told = |text: &str| CommandError::new(text).message;
        assert_eq!(
            told("x: No such file (os error 2), y"),
            "x: No such file, y"
        );
        assert_eq!(told("a (os error 2): b (os error 13)"), "a: b");
        assert_eq!(told("a (os error x) b"), "a (os error x) b");
    }
}
