//! Commands people know from other programs.

/// What commands of other programs are called here, or in a shell.
pub(super) fn known_elsewhere(name: &str) -> Option<&'static str> {
    const KNOWN: &[(&[&str], &str)] = &[
        (&["add-dir", "adddir"], "`/cd DIR` adds a folder to work in"),
        (&["agents"], "`chela agents list`"),
        (
            &["allow", "approvals", "permissions"],
            "`chela approvals list` shows what runs without asking",
        ),
        (
            &["config", "settings"],
            "`chela config get`, or `chela config explain KEY`",
        ),
        (&["doctor"], "run `chela doctor` in a shell"),
        (
            &["edit", "editor", "vim"],
            "Ctrl-G opens your editor on the line",
        ),
        (&["forget"], "`chela memory forget WORDS` in a shell"),
        (
            &["history", "sessions"],
            "`/resume` lists your conversations",
        ),
        (&["login", "logout"], "`chela auth` in a shell"),
        (
            &["memory"],
            "`chela memory status`; to remember something, say so",
        ),
        (&["remember"], "say it: `remember that …`"),
        (
            &["revert", "rewind"],
            "`/undo` undoes your last message, `/undo files` file changes",
        ),
        (&["run", "shell", "sh"], "`!COMMAND` runs a command"),
        (
            &["save"],
            "`/export FILE.md` writes the conversation; it is kept anyway",
        ),
        (
            &["theme"],
            "`chela config set ui.theme light`, `mono` or `terminal`, in a shell",
        ),
        (
            &["tokens"],
            "`/context` counts them, `/cost` what was spent",
        ),
        (&["update", "upgrade"], "`chela update` in a shell"),
    ];
    let mut known = KNOWN.iter();
    let found = known.find(|(names, _)| names.iter().any(|known| name.eq_ignore_ascii_case(known)));
    found.map(|(_, here)| *here)
}

#[cfg(test)]
mod tests {
    use super::super::{find, help};

    #[test]
    fn a_command_of_another_program_leads_somewhere_and_hides_none_of_ours() {
        for (name, here) in [
            ("theme", "ui.theme"),
            ("rewind", "/undo"),
            ("run", "!COMMAND"),
            ("Permissions", "chela approvals list"),
        ] {
            assert!(find(name).is_none(), "{name}");
            let told = help(name);
            assert!(told.contains("no command") && told.contains(here), "{told}");
        }
        assert_eq!(find("clear").unwrap().name, "new");
    }
}
