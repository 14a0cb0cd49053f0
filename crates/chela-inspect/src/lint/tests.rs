use super::{FileFate, LintFile, LintFinding, lint};

fn file(name: &str, text: &str) -> LintFile {
    LintFile {
        name: name.into(),
        text: text.into(),
        fate: FileFate::Whole {
            limit: Some(20_000),
        },
    }
}

fn codes(findings: &[LintFinding]) -> Vec<(&str, &str, u32)> {
    findings
        .iter()
        .map(|f| (f.code, f.file.as_str(), f.line))
        .collect()
}

#[test]
fn repeated_rules_name_both_places() {
    let findings = lint(&[
        file(
            "AGENTS.md",
            "# Rules\n\n- Ask before you send a message to anyone.\n",
        ),
        file(
            "SOUL.md",
            "You are calm.\n\nAsk **before** you send a message to anyone!\n",
        ),
        file("USER.md", "Ask before.\n"),
    ]);
    assert_eq!(codes(&findings), [("repeated", "SOUL.md", 3)]);
    assert!(
        findings[0].message.contains("AGENTS.md:3"),
        "{}",
        findings[0].message
    );
}

#[test]
fn keys_with_two_values_contradict_unless_they_speak_of_someone_else() {
    let findings = lint(&[
        file("IDENTITY.md", "- **Name:** Chela\n"),
        file("USER.md", "- Name: Robin\n- Time zone: Europe/Berlin\n"),
        file(
            "MEMORY.md",
            "The backup server is at 10.0.0.2.\nTime zone: America/New_York\n",
        ),
        file("TOOLS.md", "The backup server is at 10.0.0.9.\n"),
    ]);
    assert_eq!(
        codes(&findings),
        [
            ("contradiction", "MEMORY.md", 2),
            ("contradiction", "TOOLS.md", 1)
        ]
    );
}

#[test]
fn a_rule_and_its_opposite_are_an_error() {
    let findings = lint(&[
        file(
            "AGENTS.md",
            "- Always use tabs for indentation.\n- Use metric units.\n",
        ),
        file(
            "SOUL.md",
            "- Never use tabs for indentation.\n- Avoid using metric units.\n",
        ),
    ]);
    assert_eq!(
        codes(&findings),
        [("opposite", "SOUL.md", 1), ("opposite", "SOUL.md", 2)]
    );
}

#[test]
fn secrets_are_found_and_never_repeated() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let findings = lint(&[file(
        "TOOLS.md",
        &format!(
            "token {token}\npassword: hunter22\npassword: ask the owner\nAPI key: $OPENAI_KEY\n"
        ),
    )]);
    assert_eq!(
        codes(&findings),
        [("secret", "TOOLS.md", 1), ("secret", "TOOLS.md", 2)]
    );
    assert!(
        findings
            .iter()
            .all(|f| !f.message.contains("hunter22") && !f.message.contains(&token))
    );
}

#[test]
fn cut_unseen_full_and_broken_files_are_told() {
    let mut long = file("AGENTS.md", &"word ".repeat(3_700));
    let mut cut = file("SOUL.md", "a b\n");
    cut.fate = FileFate::Cut {
        dropped: vec![40..=90],
        limit: "20000 chars".into(),
    };
    let mut unseen = file("MEMORY.md", "facts\n");
    unseen.fate = FileFate::Unseen {
        why: "a symlink out of the workspace".into(),
        expected: false,
    };
    let mut expected = file("BOOTSTRAP.md", "hello\n");
    expected.fate = FileFate::Unseen {
        why: "not new".into(),
        expected: true,
    };
    long.text.push_str("\n```sh\n<!-- keep -->\n");
    let findings = lint(&[
        long,
        cut,
        unseen,
        expected,
        file("USER.md", "<!-- keep -->\nx\n"),
    ]);
    assert_eq!(
        codes(&findings),
        [
            ("unclosed-fence", "AGENTS.md", 2),
            ("cut", "SOUL.md", 40),
            ("unseen", "MEMORY.md", 0),
            ("unclosed-keep", "USER.md", 1),
            ("near-limit", "AGENTS.md", 0),
        ]
    );
}

#[test]
fn code_comments_and_headings_say_nothing() {
    let noise = "# Ask before you send a message\n```\nask before you send a message now\n```\n<!-- ask before you send\na message now -->\n";
    assert!(lint(&[file("AGENTS.md", noise), file("SOUL.md", noise)]).is_empty());
}
