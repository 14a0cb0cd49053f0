//! The `chela` command: glue between what was typed and the crates that do the work.

mod chat;
mod cli;
mod cmd;
mod fail;
mod file_trouble;
mod heard_signals;
mod machine;
mod owner_editor;
mod picture;
mod process_log;
mod screen;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use chela_core::ok_or_warn;
use chela_core::secret::Redactor;
use chela_sandbox::{HELPER_COMMAND, HELPER_FAILED};

use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen, print_beside};

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if asks_for_version(&args) {
        // Answered before anything is set up: scripts ask often.
        let _ = writeln!(std::io::stdout(), "chela {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    if args.get(1).is_some_and(|word| word == HELPER_COMMAND) {
        // Started by this very program, around a sandboxed command: nothing else is set up.
        return match chela_sandbox::helper::run(args.into_iter().skip(2)) {
            Ok(code) => ExitCode::from(code),
            Err(why) => {
                print_beside(format_args!("chela sandbox: {why}"));
                ExitCode::from(HELPER_FAILED)
            }
        };
    }
    // Its memory and its environment hold keys; the commands it starts run as the same user.
    let undumpable = machine::hide_memory();
    let form = ErrorForm::of(&args);
    let cli = match cli::parse_typed(args) {
        Ok(cli) => cli,
        Err(error) => {
            say_usage(&error);
            if error.use_stderr() {
                let told = error.render().to_string();
                let told = Redactor::default().redact(&told).into_owned();
                form.print(&CommandError::usage(told.trim()));
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let host = chela_agent::machine::this_machine(cli.profile.as_deref());
    let mut screen = Screen::stdout(&host, cli.color);
    let outcome = machine::check(&host)
        .and_then(|()| process_log::begin(&host, cli.log.as_deref(), cli.color))
        .map(|()| {
            ok_or_warn!(
                undumpable,
                "other processes may read the memory of this one"
            )
        })
        .and_then(|_| survive(|| cmd::run(&host, &mut screen, cli.command)))
        .and_then(|exit| screen.flush().map(|()| exit).map_err(CommandError::from));
    process_log::finish();
    match outcome {
        Ok(exit) => ExitCode::from(CommandExit::code(exit)),
        Err(fail) => {
            // The error that follows says more than this one could.
            let _ = screen.flush();
            let fail = fail.without_secrets(&host);
            complain(&fail, screen.paint);
            form.print(&fail);
            ExitCode::from(fail.code)
        }
    }
}

/// A fault of our own ends the command like any other error: with words and a code.
fn survive(
    run: impl FnOnce() -> Result<CommandExit, CommandError>,
) -> Result<CommandExit, CommandError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|payload| Err(CommandError::broken(&*payload)))
}

/// Whether a program reads standard output: then an error is an object there, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorForm {
    Words,
    Json,
    JsonLine,
}

impl ErrorForm {
    fn of(args: &[OsString]) -> Self {
        let mut words = args.iter().take_while(|word| *word != "--");
        match words.find(|word| *word == "--json" || *word == "--json-stream") {
            Some(word) if word == "--json" => Self::Json,
            Some(_) => Self::JsonLine,
            None => Self::Words,
        }
    }

    fn print(self, fail: &CommandError) {
        if self == Self::Words || fail.silent {
            return;
        }
        let mut told = serde_json::json!({
            "error": { "message": fail.message, "hint": fail.hint, "code": fail.code },
        });
        if self == Self::JsonLine {
            told["type"] = "error".into();
        }
        let text = match self {
            Self::JsonLine => told.to_string(),
            _ => format!("{told:#}"),
        };
        // Whoever closed the pipe does not read this either.
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// What was typed may have been a key, pasted in the wrong place.
fn say_usage(error: &clap::Error) {
    // Where standard error is closed nobody is left to be told.
    let text = error.render().to_string();
    match Redactor::default().redact(&text) {
        Cow::Borrowed(_) => {
            let _ = error.print();
        }
        Cow::Owned(clean) => {
            let _ = std::io::stderr().lock().write_all(clean.as_bytes());
        }
    }
}

fn asks_for_version(args: &[OsString]) -> bool {
    matches!(args, [_, only] if only == "--version" || only == "-V")
}

fn complain(fail: &CommandError, paint: ColourMode) {
    if fail.silent {
        return;
    }
    print_beside(format_args!("{} {}", paint.bad("error:"), fail.message));
    if let Some(hint) = &fail.hint {
        print_beside(format_args!("{} {hint}", paint.accent("  →")));
    }
}
