//! What should never be there: it is named, nothing crashes, hangs or is overwritten.

use std::os::unix::fs::symlink;

use crate::home::TestHome;

#[test]
fn strange_things_named_like_core_files() {
    let home = TestHome::ready();
    let file = |name: &str| home.path(&format!(".chela/workspace/{name}"));
    for name in ["SOUL.md", "USER.md", "TOOLS.md", "IDENTITY.md", "AGENTS.md"] {
        std::fs::remove_file(file(name)).unwrap();
    }
    std::fs::create_dir(file("SOUL.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        file("USER.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    symlink("/etc/passwd", file("TOOLS.md")).unwrap();
    symlink("IDENTITY.md", file("IDENTITY.md")).unwrap();
    std::fs::write(file("AGENTS.md"), b"# Rules\n\xff\xfe broken\n").unwrap();
    let prompt = home.run(&["prompt"]).ok();
    assert!(
        !prompt.contains("root:"),
        "a link out of the workspace was followed"
    );
    assert!(prompt.contains("broken"));
    let doctor = home.run(&["doctor"]);
    for told in [
        "SOUL.md is a folder",
        "USER.md is a ",
        "TOOLS.md is a symlink out",
        "IDENTITY.md",
        "AGENTS.md is not valid UTF-8",
    ] {
        assert!(doctor.out.contains(told), "{told} in\n{}", doctor.out);
    }
    assert!(file("SOUL.md").is_dir());
}

#[test]
fn a_file_of_fifty_megabytes() {
    let home = TestHome::ready();
    let line = "- one of very many rules that nobody reads\n";
    home.write(
        ".chela/workspace/AGENTS.md",
        &line.repeat(50_000_000 / line.len()),
    );
    let prompt = home.run(&["prompt"]).ok();
    assert!(prompt.len() < 100_000);
    assert!(home.run(&["doctor"]).ok().contains("AGENTS.md was cut"));
}

#[test]
fn a_config_that_is_none() {
    for (what, make) in [
        (
            "a folder",
            (|home: &TestHome| std::fs::create_dir_all(home.path(".chela/chela.json")).unwrap())
                as fn(&TestHome),
        ),
        ("not text", |home| {
            home.write(".chela/x", "");
            std::fs::write(home.path(".chela/chela.json"), b"\xff\xfe{").unwrap();
        }),
        ("too deep", |home| {
            home.write(".chela/chela.json", &"{a:".repeat(10_000));
        }),
        ("a cycle", |home| {
            home.write(".chela/chela.json", "{ $include: './chela.json' }");
        }),
        ("a list", |home| {
            home.write(".chela/chela.json", "[1, 2]");
        }),
    ] {
        let home = TestHome::empty();
        make(&home);
        let validated = home.run(&["config", "validate"]);
        assert_eq!(validated.code, 78, "{what}: {}", validated.out);
        assert!(
            validated.out.contains("chela.json"),
            "{what}: {}",
            validated.out
        );
        let run = home.run(&["prompt"]);
        assert_eq!(run.code, 0, "{what}: {}", run.err);
        assert!(run.err.contains("chela.json"), "{what}: {}", run.err);
    }
}

#[test]
fn a_config_cut_off_at_any_byte_is_placed_and_left_alone() {
    let whole = "{ agents: { list: [ { id: 'main', name: \"é\" } ] }, /* x */ tools: { profile: 'coding' } }";
    let home = TestHome::empty();
    for end in (1..whole.len())
        .step_by(7)
        .filter(|end| whole.is_char_boundary(*end))
    {
        let cut = &whole[..end];
        home.write(".chela/chela.json", cut);
        let run = home.run(&["config", "validate"]);
        assert_eq!(run.code, 78, "{cut}");
        assert!(run.out.contains("chela.json:1:"), "{cut}: {}", run.out);
        assert_eq!(home.read(".chela/chela.json"), cut);
    }
}

#[test]
fn invisible_characters_are_removed_and_told() {
    let home = TestHome::ready();
    home.write(
        ".chela/workspace/TOOLS.md",
        "Lights: \u{E0041}\u{E0042}hall\u{202E}\n",
    );
    assert!(!home.run(&["prompt"]).ok().contains('\u{202E}'));
    assert!(
        home.run(&["doctor"])
            .flat()
            .contains("invisible characters")
    );
}
