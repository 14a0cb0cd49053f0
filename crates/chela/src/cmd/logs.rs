//! `chela logs`: what the program itself did.

use std::path::Path;
use std::time::Duration;

use chela_core::{Host, sanitize};
use chela_log::{LogFollower, LogLevel, LogLine, LogQuery, pretty, read_newest};

use super::{CommandOutcome, CommandSetup};
use crate::cli::logs::{LevelName, LogsArgs};
use crate::fail::{CommandError, CommandExit};
use crate::process_log;
use crate::screen::{ColourMode, Screen, print_beside};

/// How often a followed log is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub fn run(host: &Host, screen: &mut Screen, args: &LogsArgs) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let path = process_log::file_of(host, &setup.loaded);
    let query = query_of(host, args)?;
    let cannot = |error: std::io::Error| {
        let path = host.compact(&path);
        CommandError::new(format!("cannot read the log {path}: {error}"))
            .hint("`logging.file` in the config names another file")
    };
    // From before the newest lines are read, so that none falls between.
    let follower = match args.follow {
        true => Some(LogFollower::from_now(&path, query.clone()).map_err(cannot)?),
        false => None,
    };
    let lines = read_newest(&path, &query, args.lines).map_err(cannot)?;
    for line in &lines {
        print(screen, line, args.json)?;
    }
    let Some(mut follower) = follower else {
        if lines.is_empty() && args.lines > 0 {
            // Not where the lines go: whoever reads them reads nothing else.
            print_beside(why_empty(host, &path, args));
        }
        return Ok(match args.turn.is_some() && lines.is_empty() {
            true => CommandExit::Findings,
            false => CommandExit::Fine,
        });
    };
    loop {
        screen.flush()?;
        std::thread::sleep(LOOK_EVERY);
        for line in follower.read_more().map_err(cannot)? {
            print(screen, &line, args.json)?;
        }
    }
}

/// Why there is nothing to show.
fn why_empty(host: &Host, path: &Path, args: &LogsArgs) -> String {
    let shown = host.compact(path);
    let any = read_newest(path, &LogQuery::default(), 1).unwrap_or_default();
    match (any.is_empty(), &args.turn) {
        (true, _) => format!("Nothing is logged yet ({shown})."),
        (false, Some(turn)) if args.level.is_none() && args.since.is_none() => {
            format!("No lines for turn {} ({shown}).", sanitize::literal(turn))
        }
        (false, _) => format!("No matching lines ({shown})."),
    }
}

fn print(screen: &mut Screen, line: &LogLine, json: bool) -> Result<(), CommandError> {
    let text = match json {
        true => line.to_json(),
        false => pretty(line, screen.paint == ColourMode::Colour),
    };
    Ok(screen.line(text)?)
}

fn query_of(host: &Host, args: &LogsArgs) -> Result<LogQuery, CommandError> {
    let since = match args.since.as_deref() {
        Some(age) => {
            let age = i64::try_from(millis_of(age)?).unwrap_or(i64::MAX);
            let now = i64::try_from(host.unix_millis()).unwrap_or(i64::MAX);
            Some(now.saturating_sub(age))
        }
        None => None,
    };
    Ok(LogQuery {
        level: args.level.map_or(LogLevel::Trace, level_named),
        since,
        turn: args.turn.clone(),
    })
}

fn level_named(name: LevelName) -> LogLevel {
    match name {
        LevelName::Error => LogLevel::Error,
        LevelName::Warn => LogLevel::Warn,
        LevelName::Info => LogLevel::Info,
        LevelName::Debug => LogLevel::Debug,
        LevelName::Trace => LogLevel::Trace,
    }
}

/// Milliseconds of `30s`, `10m`, `2h`, `3d`.
fn millis_of(age: &str) -> Result<u64, CommandError> {
    let wrong =
        || CommandError::usage(format!("`{age}` is not an age")).hint("write 30s, 10m, 2h or 3d");
    let age = age.trim();
    let digits = age.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match age.get(digits.len()..) {
        Some("s") => 1,
        Some("m" | "min") => 60,
        Some("h") => 3_600,
        Some("d") => 86_400,
        _ => return Err(wrong()),
    };
    Ok(number.saturating_mul(seconds * 1_000))
}

#[cfg(test)]
mod tests {
    use super::millis_of;

    #[test]
    fn ages_are_read() {
        assert_eq!(millis_of("30s").unwrap(), 30_000);
        assert_eq!(millis_of(" 2h").unwrap(), 7_200_000);
        assert_eq!(millis_of("3d").unwrap(), 259_200_000);
        for wrong in ["", "h", "2", "2 h", "-2h", "2weeks", "１h"] {
            assert!(millis_of(wrong).is_err(), "{wrong}");
        }
    }
}
