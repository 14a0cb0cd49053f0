//! A line for people.

use anstyle::{AnsiColor, Style};
use chela_core::sanitize;
use serde_json::{Map, Value};

use crate::line::{LogLevel, LogLine};

/// How lines look on a terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConsoleStyle {
    /// Time, level, module, words, fields and ids.
    #[default]
    Pretty,
    /// Level, words and fields.
    Compact,
    /// As in the file.
    Json,
}

pub(crate) fn for_console(line: &LogLine, json: &str, style: ConsoleStyle, colour: bool) -> String {
    match style {
        ConsoleStyle::Pretty => pretty(line, colour),
        ConsoleStyle::Json => json.to_owned(),
        ConsoleStyle::Compact => {
            let level = wear(colour, style_of(line.level), line.level.as_str());
            let rest = after(line, colour, &Map::new());
            format!("{level} {}{rest}", shown(&line.message))
        }
    }
}

/// One line of text: nothing in it moves the cursor or ends the line.
pub fn pretty(line: &LogLine, colour: bool) -> String {
    let dim = Style::new().dimmed();
    let time = wear(colour, dim, &time_of_day(&line.time));
    let level = format!("{:5}", line.level.as_str());
    let level = wear(colour, style_of(line.level), &level);
    let target = line.target.strip_prefix("chela_").unwrap_or(&line.target);
    let target = wear(colour, dim, &format!("{}:", shown(target)));
    let rest = after(line, colour, &line.ids);
    format!("{time} {level} {target} {}{rest}", shown(&line.message))
}

fn after(line: &LogLine, colour: bool, ids: &Map<String, Value>) -> String {
    let mut rest = String::new();
    for (name, value) in &line.fields {
        rest += &format!(
            " {}{}",
            wear(colour, Style::new().italic(), &format!("{}=", shown(name))),
            worded(value)
        );
    }
    for (name, value) in ids {
        let id = format!("{}={}", shown(name), worded(value));
        rest += &format!(" {}", wear(colour, Style::new().dimmed(), &id));
    }
    rest
}

fn worded(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.contains(char::is_whitespace) => {
            format!("\"{}\"", shown(text))
        }
        Value::String(text) => shown(text),
        other => shown(&other.to_string()),
    }
}

/// Line ends become blanks, what takes no room goes.
fn shown(text: &str) -> String {
    let one_line = text.replace(['\n', '\r', '\t'], " ");
    sanitize::literal(&one_line).into_owned()
}

/// `2026-11-16 14:55:01.123Z`: the same as in the file, wherever the reader is.
fn time_of_day(time: &str) -> String {
    match time.parse::<jiff::Timestamp>() {
        Ok(stamp) => stamp.strftime("%Y-%m-%d %H:%M:%S%.3fZ").to_string(),
        Err(_) => shown(time),
    }
}

fn style_of(level: LogLevel) -> Style {
    match level {
        LogLevel::Error => AnsiColor::Red.on_default().bold(),
        LogLevel::Warn => AnsiColor::Yellow.on_default(),
        LogLevel::Info => AnsiColor::Green.on_default(),
        LogLevel::Debug => AnsiColor::Cyan.on_default(),
        LogLevel::Trace => Style::new().dimmed(),
    }
}

fn wear(colour: bool, style: Style, text: &str) -> String {
    match colour {
        true => format!("{style}{text}{style:#}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ConsoleStyle, for_console, pretty};
    use crate::line::{LogLevel, LogLine};
    use serde_json::json;

    #[test]
    fn nothing_in_a_line_reaches_the_terminal_as_an_order() {
        let line = LogLine {
            time: "2026-11-16T14:55:01.123Z".to_owned(),
            level: LogLevel::Warn,
            target: "chela_model::chain".to_owned(),
            pid: 7,
            spans: vec!["turn".to_owned()],
            ids: json!({ "turn": "ab12" }).as_object().cloned().unwrap(),
            message: "went\n\u{1b}[2Jon".to_owned(),
            fields: json!({ "why": "two words\u{7}", "n": 3 })
                .as_object()
                .cloned()
                .unwrap(),
        };
        let text = pretty(&line, false);
        assert!(text.starts_with("2026-11-16 14:55:01.123Z warn"), "{text}");
        assert!(
            text.ends_with("warn  model::chain: went [2Jon why=\"two words\" n=3 turn=ab12"),
            "{text}"
        );
        let compact = for_console(&line, "{}", ConsoleStyle::Compact, false);
        assert_eq!(compact, "warn went [2Jon why=\"two words\" n=3");
        assert!(pretty(&line, true).contains("\u{1b}[33mwarn"));
    }
}
