//! `chela context …`: every question about the prompt.

use insta::assert_snapshot;

use crate::home::TestHome;

#[test]
fn list_and_detail_have_the_known_form() {
    let home = TestHome::ready();
    let list = home.run(&["context", "list"]).ok();
    for line in [
        "🧠 Context breakdown",
        "Bootstrap max/file: 20,000 chars",
        "Sandbox: mode=off sandboxed=false",
        "Injected workspace files:",
        "Tools: (same as above)",
    ] {
        assert!(
            list.lines().any(|own| own.starts_with(line)),
            "{line} in\n{list}"
        );
    }
    assert!(list.contains("- SOUL.md: OK | raw "), "{list}");
    let detail = home.run(&["context", "detail"]).ok();
    assert!(
        detail.contains("(detailed)") && detail.contains("- safety ## Safety: "),
        "{detail}"
    );
}

#[test]
fn the_map_fits_the_terminal_and_is_drawn_in_every_form() {
    let home = TestHome::ready();
    let bars = home.run(&["context", "map"]).ok();
    assert!(
        bars.lines().all(|line| line.chars().count() <= 80),
        "{bars}"
    );
    assert!(bars.contains("AGENTS.md"));
    for (name, start) in [
        ("m.svg", b"<svg" as &[u8]),
        ("m.html", b"<!doctype html>"),
        ("m.png", b"\x89PNG"),
    ] {
        home.run(&["context", "map", "-o", name]).ok();
        assert!(
            std::fs::read(home.path(name)).unwrap().starts_with(start),
            "{name}"
        );
    }
    assert!(
        home.run(&["context", "map", "-o", "m.gif"])
            .fails(2)
            .contains(".svg")
    );
}

#[test]
fn why_answers_for_files_sections_words_and_what_is_not_there() {
    let home = TestHome::ready();
    home.write(
        ".chela/workspace/MEMORY.md",
        "# Facts\n\nThe cat is called Miso.\n",
    );
    let told = home.run(&["context", "why", "called Miso"]).ok();
    let place = told.split("bytes ").nth(1).unwrap().lines().next().unwrap();
    let (start, end) = place.split_once('-').unwrap();
    let number = |part: &str| part.replace(',', "").parse::<usize>().unwrap();
    assert_eq!(number(end) - number(start), "The cat is called Miso.".len());
    // Where it begins depends on how long the path of the home is.
    insta::with_settings!({ filters => vec![(r"bytes [\d,]+-[\d,]+", "bytes [FROM]-[TO]")] }, {
        assert_snapshot!("why_words", told);
    });
    let group = home.run(&[
        "context",
        "why",
        "MEMORY.md",
        "--session",
        "agent:main:discord:group:1",
    ]);
    assert_eq!(group.code, 1);
    assert!(group.out.contains("private"), "{}", group.out);
    let words = home.run(&[
        "context",
        "why",
        "called Miso",
        "--session",
        "agent:main:discord:group:1",
    ]);
    assert!(
        words.out.contains("MEMORY.md:3") && words.out.contains("private"),
        "{}",
        words.out
    );
    let section = home.run(&["context", "why", "sandbox"]);
    assert!(section.out.contains("needs a sandbox"), "{}", section.out);
    let minimal = home.run(&["context", "why", "messaging", "--mode", "minimal"]);
    assert!(
        minimal.out.contains("minimal prompt leaves it out"),
        "{}",
        minimal.out
    );
    let typo = home.run(&["context", "why", "SOLU.md"]);
    assert!(typo.out.contains("SOUL.md"), "{}", typo.out);
}

#[test]
fn why_tells_what_was_cut() {
    let home = TestHome::with_config("{ agents: { defaults: { bootstrapMaxChars: 600 } } }");
    home.run(&["init"]).ok();
    let body: String = (1..200)
        .map(|line| format!("- rule number {line} of the house\n"))
        .collect();
    home.write(".chela/workspace/AGENTS.md", &format!("# Rules\n{body}"));
    let file = home.run(&["context", "why", "AGENTS.md"]).ok();
    assert!(
        file.contains("partly in the prompt") && file.contains("600 characters"),
        "{file}"
    );
    let line = home.run(&["context", "why", "rule number 90 of"]);
    assert_eq!(line.code, 1);
    assert!(
        line.out.contains("AGENTS.md:91") && line.out.contains("cut"),
        "{}",
        line.out
    );
    let doctor = home.run(&["doctor"]).ok();
    assert!(doctor.contains("AGENTS.md was cut"), "{doctor}");
}

#[test]
fn diff_names_the_break_its_cause_and_its_price() {
    let home = TestHome::ready();
    let before = home.exact(&["prompt", "--json"]);
    home.write("before.json", &before);
    let same = home.run(&["context", "diff", "before.json", "main"]).ok();
    assert!(same.contains("Identical to the byte"), "{same}");
    let soul = home.read(".chela/workspace/SOUL.md");
    home.write(".chela/workspace/SOUL.md", &soul.replace("calm", "loud"));
    let run = home.run(&["context", "diff", "before.json", "main"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out.contains("project_context") && run.out.contains("file SOUL.md"),
        "{}",
        run.out
    );
    let diff: serde_json::Value = serde_json::from_str(
        &home
            .run(&["context", "diff", "before.json", "main", "--json"])
            .out,
    )
    .unwrap();
    assert_eq!(diff["firstBreak"]["zone"], "stable");
    assert!(diff["firstBreak"]["tokensAfter"].as_u64().unwrap() > 100);
    let channels = home.run(&["context", "diff", "channel:telegram", "channel:discord"]);
    assert!(
        channels.out.contains("prefix stays intact"),
        "{}",
        channels.out
    );
    let modes = home.run(&["context", "diff", "mode:full", "mode:minimal"]);
    assert!(modes.out.contains("execution_bias"), "{}", modes.out);
    assert!(
        home.run(&["context", "diff", "mode:fast", "main"])
            .fails(2)
            .contains("minimal")
    );
}

#[test]
fn lint_finds_and_a_fresh_home_is_clean() {
    let home = TestHome::ready();
    home.run(&["context", "lint"]).ok();
    home.write(
        ".chela/workspace/TOOLS.md",
        "- Always speak French with guests.\ntoken ghp_0123456789abcdefghijABCDEFGHIJ012345\n",
    );
    home.write(
        ".chela/workspace/MEMORY.md",
        "- Never speak French with guests.\n",
    );
    let run = home.run(&["context", "lint"]);
    assert_eq!(run.code, 1);
    assert_snapshot!("lint", run.out);
    assert_eq!(
        home.run(&["context", "lint", "--fail-on", "error", "--json"])
            .code,
        1
    );
}
