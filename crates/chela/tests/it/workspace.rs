//! `chela workspace …`: what the files are, and undoing a bad edit.

use crate::home::TestHome;

#[test]
fn a_bad_edit_is_one_command_to_undo() {
    let home = TestHome::ready();
    let good = home.read(".chela/workspace/SOUL.md");
    home.write(".chela/workspace/SOUL.md", "You are a pirate.\n");
    let diff = home.run(&["workspace", "diff", "SOUL.md"]).ok();
    assert!(diff.contains("+You are a pirate."), "{diff}");
    let history = home.run(&["workspace", "history", "SOUL.md"]).ok();
    assert!(history.contains("2 versions"), "{history}");
    let told = home.run(&["workspace", "restore", "SOUL.md"]).ok();
    assert_eq!(home.read(".chela/workspace/SOUL.md"), good);
    let undo = told
        .lines()
        .find_map(|line| line.strip_prefix("Undo this with: chela "))
        .unwrap();
    home.run(&undo.split(' ').collect::<Vec<_>>()).ok();
    assert_eq!(home.read(".chela/workspace/SOUL.md"), "You are a pirate.\n");
}

#[test]
fn versions_that_do_not_exist_are_named() {
    let home = TestHome::ready();
    for (args, told) in [
        (
            &["workspace", "restore", "SOUL.md", "zzz"] as &[&str],
            "`zzz` is not a version",
        ),
        (&["workspace", "restore", "SOUL.md", "abcdef12"], "abcdef12"),
        (&["workspace", "history", "notes.txt"], "not a core file"),
        (&["workspace", "restore", "SOUL.md"], "no earlier version"),
    ] {
        let run = home.run(args);
        assert_ne!(run.code, 0);
        assert!(run.err.contains(told), "{args:?}: {}", run.err);
    }
}

#[test]
fn the_list_says_what_becomes_of_each_file() {
    let home = TestHome::ready();
    let list = home.run(&["workspace", "list"]).ok();
    assert!(
        list.contains("SOUL.md") && list.contains("is in the prompt, whole"),
        "{list}"
    );
    let report = home.run(&["workspace", "list", "--json"]).json();
    assert_eq!(report["files"][0]["name"], "AGENTS.md");
    assert_eq!(
        home.run(&["workspace", "path"]).ok(),
        "~/.chela/workspace\n"
    );
}
