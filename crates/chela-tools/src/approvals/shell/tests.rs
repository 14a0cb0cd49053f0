use proptest::prelude::*;

use super::{NotUnderstood, ShellRedirection, WordValue, parse};

/// Each command on a line; words that expand in angle brackets.
fn commands(text: &str) -> String {
    let script = match parse(text) {
        Ok(script) => script,
        Err(error) => return format!("not understood: {error}"),
    };
    let lines: Vec<String> = script
        .commands
        .iter()
        .map(|command| {
            let mut parts: Vec<String> = vec!["=".repeat(command.assignments)];
            parts.retain(|part| !part.is_empty());
            for word in &command.words {
                parts.push(match word.value {
                    WordValue::Literal => format!("{:?}", word.text),
                    WordValue::Expands => format!("<{}>", word.text),
                });
            }
            for redirection in &command.redirections {
                parts.push(match redirection {
                    ShellRedirection::Harmless => "ok".to_owned(),
                    ShellRedirection::Input => "in".to_owned(),
                    ShellRedirection::Output(word) => format!(">{}", word.text),
                });
            }
            parts.join(" ")
        })
        .collect();
    lines.join("\n")
}

#[test]
fn every_command_of_a_script_is_found() {
    insta::assert_snapshot!(commands("ls -l 'a b' \"c\\\"d\" e\\ f"), @r#""ls" "-l" "a b" "c\"d" "e f""#);
    insta::assert_snapshot!(commands("a && b || c; d & e | f\ng"), @r#"
    "a"
    "b"
    "c"
    "d"
    "e"
    "f"
    "g"
    "#);
    insta::assert_snapshot!(commands("echo x | node # no"), @r#"
    "echo" "x"
    "node"
    "#);
    insta::assert_snapshot!(commands("echo \"$(curl x | sh)\" `id -u \\`who\\``"), @r#"
    "curl" "x"
    "sh"
    "who"
    "id" "-u" <`…`>
    "echo" <$(…)> <`…`>
    "#);
    insta::assert_snapshot!(commands("(cd /tmp; rm x) 2>/dev/null; ! true"), @r#"
    "cd" "/tmp"
    "rm" "x"
    ok
    "true"
    "#);
}

#[test]
fn what_expands_is_told_from_what_does_not() {
    insta::assert_snapshot!(
        commands("$X ${Y} '$Z' \"$A\" *.rs '*' ~/x a~ {a,b} \\* x=1 $ a$"),
        @r#"<$X> <$Y> "$Z" <$A> <*.rs> "*" <~/x> "a~" <{a,b}> "*" "x=1" <$> <a$>"#
    );
    insta::assert_snapshot!(commands("A=1 B=$(x) env"), @r#"
    "x"
    == "env"
    "#);
}

#[test]
fn redirections_are_read() {
    insta::assert_snapshot!(
        commands("a >out 2>&1 </dev/null 3>>log <in >|x"),
        @r#""a" >out ok ok >log in >x"#
    );
    insta::assert_snapshot!(commands("cat <<'E' | wc\n$(rm)\nE\nls"), @r#"
    "cat" in
    "wc"
    "ls"
    "#);
}

#[test]
fn what_is_not_understood_is_said() {
    for text in [
        "if true; then x; fi",
        "for i in 1; do x; done",
        "f() { x; }",
        "{ x; }",
        "echo $((1+1))",
        "echo ${X:-$(id)}",
        "echo $'\\x41'",
        "a <<< b",
        "a <(b)",
        "a &> b",
        "a |& b",
        "a > ",
        "echo 'x",
        "echo \"x",
        "echo $(x",
        "(x",
        "x)",
        "cat <<E\n$(rm)\nE",
        "cat <<E\nnever",
        "&& x",
        "x ;; y",
        "x=(a b)",
        "a\0b",
    ] {
        let read = commands(text);
        assert!(read.starts_with("not understood"), "{text}: {read}");
    }
    let deep = format!("{}x{}", "$(".repeat(40), ")".repeat(40));
    assert_eq!(parse(&deep), Err(NotUnderstood::TooLarge));
}

#[test]
fn a_plain_command_needs_no_shell() {
    let plain = |text: &str| {
        let script = parse(text).unwrap();
        script.plain_arguments().map(|words| words.join("|"))
    };
    assert_eq!(
        plain("git log -n 3 'a b'").as_deref(),
        Some("git|log|-n|3|a b")
    );
    assert_eq!(plain("  ls  ; ").as_deref(), Some("ls"));
    for text in [
        "a; b", "a | b", "a $X", "a *", "X=1 a", "a > b", "(a)", "a &", "! a", "a\nb",
    ] {
        assert_eq!(plain(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_quoted_comes_back_as_it_was(
        words in prop::collection::vec("[a-z'\"\\\\ $*;|&<>(){}~#=`?!-]{1,8}", 1..4),
    ) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let script = parse(&format!("printf {}", quoted.join(" "))).unwrap();
        let read = script.plain_arguments().unwrap();
        prop_assert_eq!(&read[1..], &words.iter().map(String::as_str).collect::<Vec<_>>()[..]);
    }

    #[test]
    fn no_text_makes_it_fail(text in "[ -~\\n]{0,60}") {
        let _ = parse(&text);
    }
}
