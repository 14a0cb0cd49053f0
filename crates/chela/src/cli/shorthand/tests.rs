use std::ffi::OsString;

use crate::cli::{CliCommand, parse_typed};

fn typed(words: &[&str]) -> Result<CliCommand, String> {
    let args = ["chela"].iter().chain(words).map(OsString::from).collect();
    match parse_typed(args) {
        Ok(cli) => Ok(cli.command.unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

/// The message, whether it continues, and what is resumed.
fn meant(words: &[&str]) -> (String, bool, String) {
    match typed(words) {
        Ok(CliCommand::Chat(args)) => {
            let said = match args.chat.message {
                Some(message) => message,
                None => args.words.join(" "),
            };
            (said, args.chat.continue_last, String::new())
        }
        Ok(CliCommand::Resume(args)) => (
            args.chat.message.unwrap_or_default(),
            false,
            format!("resume {}", args.which.join(" ")),
        ),
        other => panic!("{words:?}: {other:?}"),
    }
}

#[test]
fn habits_mean_what_they_mean_elsewhere() {
    let said = |text: &str| (text.to_owned(), false, String::new());
    let resumed = |text: &str, which: &str| (text.to_owned(), false, format!("resume {which}"));
    assert_eq!(meant(&["what is new?"]), said("what is new?"));
    assert_eq!(
        meant(&["what", "is", "in", "notes"]),
        said("what is in notes")
    );
    assert_eq!(meant(&["-p", "hello"]), said("hello"));
    assert_eq!(meant(&["--print", "two words"]), said("two words"));
    assert_eq!(meant(&["two words", "-p"]), said("two words"));
    assert_eq!(meant(&["--model", "a/b", "hello"]), said("hello"));
    assert_eq!(meant(&["--profile", "x", "-m", "hello"]), said("hello"));
    assert_eq!(meant(&["exec", "hello"]), said("hello"));
    assert_eq!(meant(&["chat", "hello there"]), said("hello there"));
    assert_eq!(meant(&["--", "-5 degrees"]), said("-5 degrees"));
    let last = |text: &str| (text.to_owned(), true, String::new());
    assert_eq!(meant(&["--continue"]), last(""));
    assert_eq!(meant(&["-c", "-p", "go on"]), last("go on"));
    assert_eq!(meant(&["-cp", "go on"]), last("go on"));
    assert_eq!(meant(&["-r"]), resumed("", ""));
    assert_eq!(meant(&["--resume", "3f2a"]), resumed("", "3f2a"));
    assert_eq!(
        meant(&["--resume=3f2a", "-p", "go on"]),
        resumed("go on", "3f2a")
    );
    assert_eq!(meant(&["-r", "3f2a", "go on"]), resumed("go on", "3f2a"));
}

#[test]
fn a_mistyped_command_is_an_error_that_names_the_near_one_only() {
    for (words, near) in [
        (&["staus"][..], Some("'status'")),
        (&["memroy", "search", "lease"], Some("'memory'")),
        (&["emmory", "search", "lease"], Some("'memory'")),
        (&["sessions", "lst"], Some("'list'")),
        (&["hello"], None),
        (&["cost"], None),
    ] {
        let told = typed(words).unwrap_err();
        let tip = told.lines().find(|line| line.contains("similar"));
        match near {
            Some(near) => {
                let tip = tip.unwrap_or_default();
                assert!(tip.contains(near), "{told}");
                assert_eq!(tip.matches('\'').count(), 2, "one of them: {tip}");
            }
            None => assert_eq!(tip, None, "{told}"),
        }
    }
    assert!(
        typed(&["hello"])
            .unwrap_err()
            .contains("chela chat -m 'hello'")
    );
    assert!(typed(&["cost"]).unwrap_err().contains("`chela usage`"));
    // An option in the wrong place makes no message of a command.
    assert!(typed(&["--json", "status"]).unwrap_err().contains("--json"));
    assert!(
        typed(&["--frobnicate"])
            .unwrap_err()
            .contains("--frobnicate")
    );
    assert!(!typed(&["sessions", "lst"]).unwrap_err().contains("chat -m"));
}
