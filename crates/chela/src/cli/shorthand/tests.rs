use std::ffi::OsString;

use clap::CommandFactory;

use super::known_elsewhere::KNOWN_WORDS;
use crate::cli::{Cli, CliCommand, parse_typed};

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
            .contains("chela chat -m 'hello', or chela -p 'hello'")
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

#[test]
fn names_of_other_programs_are_taken_where_they_mean_the_same() {
    for (words, same) in [
        (&["cron", "ls"][..], &["cron", "list"][..]),
        (&["skills", "ls", "--json"], &["skills", "list", "--json"]),
        (&["sessions", "delete", "3f2a"], &["sessions", "rm", "3f2a"]),
        (&["skills", "rm", "x"], &["skills", "remove", "x"]),
        (&["folders", "remove", "x"], &["folders", "rm", "x"]),
    ] {
        let here = format!("{:?}", typed(same).unwrap());
        assert_eq!(format!("{:?}", typed(words).unwrap()), here, "{words:?}");
    }
}

#[test]
fn what_other_programs_call_it_leads_to_what_it_is_called_here() {
    for (words, here) in [
        (&["config", "show"][..], "`chela config get`"),
        (&["memory", "list"], "`chela memory status`"),
        (&["models", "set", "x"], "agents.defaults.model"),
        (&["uninstall"], "`chela docs installing`"),
        (&["cron", "frob"], "`chela cron` has add, list, show"),
    ] {
        let told = typed(words).unwrap_err();
        assert!(told.contains(here), "{words:?}: {told}");
        assert!(!told.contains("similar"), "{words:?}: {told}");
    }
}

#[test]
fn options_of_other_programs_are_told_what_there_is_instead() {
    for (words, here) in [
        (&["--yolo", "do it"][..], "chela approvals allow PROGRAM"),
        (&["-p", "hi", "--output-format", "json"], "`--json`"),
        (&["chat", "--system", "x"], "SOUL.md"),
        (&["--cwd=/tmp", "look around"], "`--cd DIR`"),
    ] {
        let told = typed(words).unwrap_err();
        assert!(told.contains(here), "{words:?}: {told}");
        assert!(!told.contains("similar"), "{words:?}: {told}");
    }
}

#[test]
fn every_word_of_the_table_leads_to_a_command_and_is_none() {
    let mut cli = Cli::command();
    cli.build();
    for (of, words, here) in KNOWN_WORDS {
        let mut place = &cli;
        for word in of.split_whitespace() {
            place = place.find_subcommand(word).unwrap();
        }
        for word in *words {
            assert!(
                place.find_subcommand(word).is_none(),
                "`{of} {word}` is a command"
            );
        }
        let mut at = &cli;
        for word in here.split_whitespace().skip(1) {
            match at.find_subcommand(word) {
                Some(inner) => at = inner,
                None => {
                    let is_argument = !at.has_subcommands() || word.starts_with('-');
                    assert!(is_argument, "`{here}` names no command");
                    break;
                }
            }
        }
    }
}
