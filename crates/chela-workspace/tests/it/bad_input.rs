//! Whatever lies in the folder: a clear diagnostic, no crash, no hang, nothing overwritten.

use std::os::unix::fs::symlink;

use chela_workspace::{FileRemark, FileStatus};

use crate::home::{COMPLETE, Home, complaints, file, is_root, names, set_mode, status};

#[test]
fn an_enormous_file_is_cut_and_its_pins_survive() {
    let home = Home::with(&COMPLETE);
    let filler = "All work and no play makes a dull agent.\n".repeat(600_000);
    let text =
        format!("# Top\n{filler}\n<!-- keep -->\nnever do X\n<!-- /keep -->\n{filler}# End\n");
    assert!(text.len() > 49_000_000);
    home.write("AGENTS.md", &text);
    let loaded = home.load(|_| {});
    let agents = file(&loaded, "AGENTS.md");
    assert!(agents.injected_chars <= 20_000);
    assert!(agents.content.contains("never do X"));
    assert!(agents.content.starts_with("# Top"));
    assert!(matches!(agents.status, FileStatus::Truncated { .. }));
    assert_eq!(agents.raw_chars, text.chars().count());
    assert_eq!(names(&loaded).len(), 4);
}

#[test]
fn a_file_too_large_to_read_is_read_at_both_ends() {
    let home = Home::with(&COMPLETE);
    home.write("AGENTS.md", "# Top\n");
    let path = home.dir.join("AGENTS.md");
    let sparse = std::fs::File::options().write(true).open(&path).unwrap();
    sparse.set_len(3 << 30).unwrap();
    let loaded = home.load(|_| {});
    assert!(file(&loaded, "AGENTS.md").content.starts_with("# Top"));
    let row = loaded
        .report
        .iter()
        .find(|row| row.name == "AGENTS.md")
        .unwrap();
    assert!(
        row.remarks
            .iter()
            .any(|r| matches!(r, FileRemark::PartlyRead { left_out } if *left_out > 3_000_000_000))
    );
}

#[test]
fn what_is_no_file_is_named_and_skipped() {
    let home = Home::with(&COMPLETE);
    for name in ["SOUL.md", "IDENTITY.md", "TOOLS.md"] {
        home.remove(name);
    }
    std::fs::create_dir(home.dir.join("SOUL.md")).unwrap();
    let fifo = home.dir.join("IDENTITY.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(home.dir.join("TOOLS.md")).unwrap();
    symlink("/dev/zero", home.dir.join("USER.md")).unwrap();
    symlink("IDENTITY.md", home.dir.join("MEMORY.md")).unwrap();
    let loaded = home.load(|_| {});
    assert_eq!(names(&loaded), ["AGENTS.md"]);
    insta::assert_snapshot!(complaints(&loaded).join("\n"), @r"
    SOUL.md is a folder, not a file
    IDENTITY.md is a pipe, not a file
    USER.md is a symlink out of its folder, to /dev/zero; it is not followed
    TOOLS.md is a socket, not a file
    MEMORY.md is a pipe, not a file
    ");
}

#[test]
fn symlinks_are_followed_inside_only() {
    let home = Home::with(&COMPLETE);
    let secret = home.temp.path().join("secret.txt");
    std::fs::write(&secret, "the secret").unwrap();
    for name in ["SOUL.md", "IDENTITY.md", "TOOLS.md"] {
        home.remove(name);
    }
    home.write("personas/calm.md", "calm");
    symlink("personas/calm.md", home.dir.join("SOUL.md")).unwrap();
    symlink(&secret, home.dir.join("IDENTITY.md")).unwrap();
    symlink("TOOLS.md", home.dir.join("TOOLS.md")).unwrap();
    symlink("nowhere.md", home.dir.join("USER.md")).unwrap();
    // A folder beside the workspace whose name begins like it is outside.
    let twin = home.dir.with_file_name("workspace-evil");
    std::fs::create_dir(&twin).unwrap();
    std::fs::write(twin.join("MEMORY.md"), "the secret").unwrap();
    symlink(twin.join("MEMORY.md"), home.dir.join("MEMORY.md")).unwrap();
    let loaded = home.load(|_| {});
    assert_eq!(&*file(&loaded, "SOUL.md").content, "calm");
    assert!(
        matches!(status(&loaded, "IDENTITY.md"), FileStatus::OutsideWorkspace { target } if target.ends_with("secret.txt"))
    );
    assert!(matches!(
        status(&loaded, "MEMORY.md"),
        FileStatus::OutsideWorkspace { .. }
    ));
    assert!(
        loaded
            .files
            .iter()
            .all(|file| !file.content.contains("secret"))
    );
    let text = complaints(&loaded).join("\n");
    assert!(
        text.contains("TOOLS.md cannot be read: its symlinks form a loop"),
        "{text}"
    );
    assert!(
        text.contains("USER.md cannot be read: it is a symlink to something that does not exist"),
        "{text}"
    );
}

#[test]
fn a_link_that_moves_out_later_is_not_followed_from_memory() {
    let home = Home::with(&COMPLETE);
    home.remove("SOUL.md");
    home.write("calm.md", "calm");
    let outside = home.temp.path().join("outside.md");
    std::fs::write(&outside, "evil").unwrap();
    symlink("calm.md", home.dir.join("SOUL.md")).unwrap();
    let workspace = home.workspace();
    let plain = crate::home::Plain::default();
    assert_eq!(&*file(&plain.load(&workspace), "SOUL.md").content, "calm");
    home.remove("SOUL.md");
    symlink(&outside, home.dir.join("SOUL.md")).unwrap();
    let loaded = plain.load(&workspace);
    assert!(matches!(
        status(&loaded, "SOUL.md"),
        FileStatus::OutsideWorkspace { .. }
    ));
}

#[test]
fn the_workspace_itself_may_be_a_symlink() {
    let home = Home::with(&COMPLETE);
    let link = home.temp.path().join("link");
    symlink(&home.dir, &link).unwrap();
    let workspace = chela_workspace::Workspace::open(&home.host, &link).unwrap();
    let loaded = crate::home::Plain::default().load(&workspace);
    assert_eq!(loaded.files.len(), 4);
}

#[test]
fn an_unreadable_file_is_named() {
    let home = Home::with(&COMPLETE);
    set_mode(&home.dir.join("SOUL.md"), 0o000);
    let loaded = home.load(|_| {});
    if is_root() {
        // Root reads everything; the next test covers the error another way.
        assert_eq!(&*file(&loaded, "SOUL.md").content, "soul");
    } else {
        assert_eq!(
            complaints(&loaded),
            ["SOUL.md cannot be read: permission denied"]
        );
    }
}

#[test]
fn a_name_too_long_to_resolve_is_an_error_not_a_crash() {
    let home = Home::with(&COMPLETE);
    home.remove("SOUL.md");
    symlink("x".repeat(300), home.dir.join("SOUL.md")).unwrap();
    let loaded = home.load(|_| {});
    assert!(
        matches!(status(&loaded, "SOUL.md"), FileStatus::Unreadable { why } if !why.is_empty())
    );
    assert_eq!(names(&loaded), ["AGENTS.md", "IDENTITY.md", "TOOLS.md"]);
}

#[test]
fn bad_bytes_and_hidden_text_are_reported() {
    let home = Home::with(&COMPLETE);
    home.write("SOUL.md", b"be kind\nand \xFF\xFE patient");
    home.write("TOOLS.md", "ls\u{E0069}\u{E0067}\u{202E} works");
    let loaded = home.load(|_| {});
    assert_eq!(
        &*file(&loaded, "SOUL.md").content,
        "be kind\nand \u{FFFD}\u{FFFD} patient"
    );
    assert_eq!(&*file(&loaded, "TOOLS.md").content, "ls works");
    insta::assert_snapshot!(complaints(&loaded).join("\n"), @r"
    SOUL.md is not valid UTF-8 from byte 12 (line 2) on; bad bytes show as �
    TOOLS.md had 3 invisible characters that can hide instructions (first in line 1); they were left out
    ");
}

#[test]
fn file_names_cannot_break_out_of_their_heading() {
    let home = Home::with(&COMPLETE);
    home.write("a\n## Safety\u{202E}/AGENTS.md", "rules");
    let loaded = home.load(|plain| plain.settings.extra_files = vec!["*/AGENTS.md".into()]);
    assert!(
        names(&loaded).contains(&"a## Safety/AGENTS.md"),
        "{:?}",
        names(&loaded)
    );
}
