//! One command of a call that names it twice.
//!
//! Small models fill in `command` and `argv` both. What they mean is mostly plain, and a refusal
//! only makes them say it again.

use serde_json::{Map, Value};

/// The arguments with either `command` or `argv`, not both. Where the two cannot be joined the
/// line counts: it is what the model wrote out.
pub(super) fn one_command(mut arguments: Map<String, Value>) -> Map<String, Value> {
    let line = text_of(&arguments);
    let words = words_of(&arguments);
    match (line, words) {
        (Some(line), Some(words)) => match joined(&line, &words) {
            Some(words) => {
                arguments.remove("command");
                arguments.insert("argv".to_owned(), words.into());
            }
            None => {
                arguments.remove("argv");
            }
        },
        // A whole line in the place of its words.
        (None, Some(words)) if is_line(&words) => {
            arguments.remove("argv");
            arguments.insert("command".to_owned(), words.concat().into());
        }
        (None, Some(_)) => {
            arguments.remove("command");
        }
        (_, None) => {
            arguments.remove("argv");
        }
    }
    arguments
}

fn text_of(arguments: &Map<String, Value>) -> Option<String> {
    let line = arguments.get("command")?.as_str()?;
    (!line.trim().is_empty()).then(|| line.trim().to_owned())
}

fn words_of(arguments: &Map<String, Value>) -> Option<Vec<String>> {
    let words = arguments.get("argv")?.as_array()?;
    let words: Vec<String> = words
        .iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    words
        .iter()
        .any(|word| !word.trim().is_empty())
        .then_some(words)
}

/// A program whose name has a blank in it is given with its folder.
fn is_line(words: &[String]) -> bool {
    match words {
        [one] => one
            .split_once(char::is_whitespace)
            .is_some_and(|(program, _)| !program.contains('/')),
        _ => false,
    }
}

/// The words of both; `None` where the line says it all, or says more than words can.
fn joined(line: &str, words: &[String]) -> Option<Vec<String>> {
    let needs_shell = |c: char| "|&;<>()$`\"'\\*?[]{}~#!\n".contains(c);
    if line.contains(needs_shell) {
        return None;
    }
    let own: Vec<&str> = line.split_whitespace().collect();
    let given: Vec<&str> = words.iter().map(String::as_str).collect();
    let split: Vec<&str> = words
        .iter()
        .flat_map(|word| word.split_whitespace())
        .collect();
    if own.ends_with(&split) {
        return None;
    }
    let with = |rest: &[&str]| {
        own.iter()
            .chain(rest)
            .map(|word| (*word).to_owned())
            .collect()
    };
    match given.starts_with(&own) {
        true => Some(words.to_vec()),
        false => Some(with(&given)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::one_command;

    fn settled(arguments: Value) -> Value {
        Value::Object(one_command(arguments.as_object().cloned().unwrap()))
    }

    #[test]
    fn a_command_said_twice_is_one() {
        let cases = [
            (
                json!({"command": "ls -la", "argv": ["ls", "-la"]}),
                json!({"command": "ls -la"}),
            ),
            (
                json!({"command": "ls", "argv": ["-la"]}),
                json!({"argv": ["ls", "-la"]}),
            ),
            (
                json!({"command": "ls", "argv": ["ls", "my notes"]}),
                json!({"argv": ["ls", "my notes"]}),
            ),
            (
                json!({"command": "git status", "argv": ["--short"]}),
                json!({"argv": ["git", "status", "--short"]}),
            ),
            (
                json!({"command": "ls -la", "argv": ["-la"]}),
                json!({"command": "ls -la"}),
            ),
            (
                json!({"command": "ls -la", "argv": ["ls -la"]}),
                json!({"command": "ls -la"}),
            ),
            (
                json!({"command": "ls | wc -l", "argv": ["ls"]}),
                json!({"command": "ls | wc -l"}),
            ),
            (
                json!({"command": " ", "argv": ["ls"]}),
                json!({"argv": ["ls"]}),
            ),
            (
                json!({"command": "ls", "argv": []}),
                json!({"command": "ls"}),
            ),
            (
                json!({"argv": ["ls -la notes"]}),
                json!({"command": "ls -la notes"}),
            ),
            (
                json!({"argv": ["/opt/my tool"]}),
                json!({"argv": ["/opt/my tool"]}),
            ),
        ];
        for (given, wanted) in cases {
            assert_eq!(settled(given.clone()), wanted, "{given}");
        }
    }
}
