//! A yes covers what will run: it falls with the files a command reads, holds in its folder, and
//! covers no option that runs something else.

use serde_json::json;

use super::running::{RunningHome, exec, exec_with, was_asked, write};

#[test]
fn a_yes_falls_when_what_the_command_reads_was_written_after_a_page() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("run.sh", ". ./helper.sh\n");
    home.write("helper.sh", "touch ran\n");
    home.allows("/bin/sh", &["run.sh"], "");
    let clean = home.plays("before", [exec("sh run.sh")]);
    assert!(home.exists("ran"), "{clean:?}");
    let tainted = home.plays(
        "tainted",
        [
            home.page(),
            write("helper.sh", "touch pwned\n"),
            exec("sh run.sh"),
        ],
    );
    assert!(was_asked(&tainted[2]), "{tainted:?}");
    // Nothing is forgotten by the next session, which has read nothing.
    let later = home.plays("later", [exec("sh run.sh")]);
    assert!(was_asked(&later[0]), "{later:?}");
    assert!(later[0].contains("helper.sh"), "{later:?}");
    assert!(!home.exists("pwned"));
}

#[test]
fn a_yes_holds_in_the_folder_it_was_given_in() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("run.sh", "touch ran\n");
    home.write("vendor/lib/run.sh", "touch ran\n");
    home.allows("/bin/sh", &["run.sh"], "");
    let results = home.plays(
        "one",
        [
            exec_with("sh run.sh", json!({ "workdir": "vendor/lib" })),
            exec("sh run.sh"),
        ],
    );
    assert!(was_asked(&results[0]), "{results:?}");
    assert!(!home.exists("vendor/lib/ran"));
    assert!(home.exists("ran"), "{results:?}");
}

#[test]
fn a_yes_for_a_program_covers_no_option_that_runs_or_writes_something_else() {
    let home = RunningHome::without_sandbox(json!({}));
    for program in [
        "git", "tar", "sed", "python3", "perl", "curl", "find", "awk", "xargs", "env", "ssh",
        "sort", "split", "nice", "timeout", "sqlite3",
    ] {
        home.scene.home.run(&["approvals", "allow", program]).ok();
    }
    let commands = [
        "git -c alias.x='!touch pwned' x",
        "git log --output=pwned",
        "tar cf /dev/null . --checkpoint=1 --checkpoint-action=exec='touch pwned'",
        "sed '1e touch pwned' AGENTS.md",
        "sed 'w pwned' AGENTS.md",
        "python3 -c 'open(\"pwned\",\"w\")'",
        "perl -e 'open(F,\">pwned\")'",
        "curl -K pwned.conf",
        "curl -o pwned file:///etc/hostname",
        "find . -maxdepth 0 -exec touch pwned ;",
        "awk 'BEGIN{system(\"touch pwned\")}'",
        "xargs touch pwned",
        "env touch pwned",
        "ssh -o ProxyCommand='touch pwned' localhost",
        "git clone -u 'touch pwned;' .git copy",
        "git grep -O'touch pwned' Rules",
        "tar cIf 'touch pwned; cat' a.tar AGENTS.md",
        "curl -s 2130706433/pwned",
        "curl -s http://0x7f.1/pwned",
        "curl -s --connect-to ::localhost:1 http://example.org/",
        "sort -o pwned AGENTS.md",
        "split --filter='touch pwned' AGENTS.md",
        "nice touch pwned",
        "timeout 5 touch pwned",
        "sqlite3 :memory: '.shell touch pwned'",
    ];
    let results = home.plays("one", commands.map(exec));
    for (command, result) in commands.iter().zip(&results) {
        let is_there = !result.contains("was not found on PATH");
        assert!(!is_there || was_asked(result), "{command}: {result}");
    }
    assert!(!home.exists("pwned"));
    let plain = home.plays("two", [exec("git version")]);
    assert!(plain[0].contains("git version"), "{plain:?}");
}

/// Four plain writes make a folder a bare repository whose config names a program.
#[test]
fn git_is_not_free_where_a_repository_says_what_to_run() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("repo/HEAD", "ref: refs/heads/main\n");
    home.write("repo/objects/x", "");
    home.write("repo/refs/x", "");
    home.write(
        "repo/config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch pwned; false\n",
    );
    let results = home.plays(
        "one",
        [
            exec_with("git status", json!({ "workdir": "repo" })),
            exec("ls repo"),
        ],
    );
    assert!(was_asked(&results[0]), "{results:?}");
    assert!(results[1].contains("HEAD"), "looking is free: {results:?}");
    assert!(!home.exists("repo/pwned"));
}
