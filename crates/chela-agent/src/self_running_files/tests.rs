use std::path::Path;

use super::*;

fn put(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn names(root: &Path, written: &[WrittenFile]) -> Vec<String> {
    let paths = written.iter().map(|file| &file.path);
    paths
        .map(|path| path.strip_prefix(root).unwrap().display().to_string())
        .collect()
}

#[test]
fn what_a_command_wrote_is_told_from_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let work = &folder.path().canonicalize().unwrap();
    put(work, ".vscode/tasks.json", "mine");
    put(work, "Makefile", "all:");
    assert!(
        SelfRunningFiles::look(vec![work.to_owned()])
            .written()
            .0
            .is_empty()
    );
    let before = SelfRunningFiles::look(vec![work.to_owned()]);
    put(work, ".vscode/tasks.json", "theirs");
    let (written, _) = before.written();
    assert_eq!(names(work, &written), [".vscode/tasks.json"]);
    let tasks = work.join(".vscode/tasks.json");
    let held = written[0].rename_and_put_back().unwrap();
    assert_eq!(std::fs::read(&held).unwrap(), b"theirs");
    assert_eq!(std::fs::read(&tasks).unwrap(), b"mine");
    // What was set aside is not looked at again.
    assert!(
        SelfRunningFiles::look(vec![work.to_owned()])
            .files
            .keys()
            .all(|path| *path != held)
    );
}

#[test]
fn no_way_around_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    put(&work, "tools/readme.md", "x");
    put(&work, "env.sh", "x");
    std::os::unix::fs::symlink("tools", work.join(".zed")).unwrap();
    std::os::unix::fs::symlink("env.sh", work.join(".envrc")).unwrap();
    put(&work, "repo/.git/HEAD", "ref: refs/heads/main");
    put(&work, "repo/.git/config", "[core]\n\tbare = false\n");
    put(&work, "repo/.git/hooks/pre-commit.sample", "x");
    let before = SelfRunningFiles::look(vec![work.to_owned()]);
    put(&work, "node_modules/a/.envrc", "evil");
    put(&work, "node_modules/a/package.json", "{}");
    put(&work, ".venv/lib/site-packages/x.pth", "import evil");
    put(&work, "tools/tasks.json", "evil, by the name of .zed");
    put(&work, "env.sh", "evil, by the name of .envrc");
    assert_eq!(
        other_names(std::slice::from_ref(&work), &work.join("tools/tasks.json")),
        [work.join(".zed/tasks.json")]
    );
    put(&work, "new/.git/HEAD", "ref: refs/heads/main");
    put(&work, "new/.git/config", "[core]\n\tfsmonitor = evil\n");
    put(&work, "new/.git/hooks/post-checkout", "evil");
    put(&work, "bare/HEAD", "ref: refs/heads/main");
    put(&work, "bare/config", "[core]\n\tfsmonitor = evil\n");
    put(&work, "repo/.git/config", "[core]\n\thooksPath = evil\n");
    put(&work, "plain/.git/HEAD", "ref: refs/heads/main");
    put(&work, "plain/.git/config", "[core]\n\tbare = false\n");
    put(&work, "lead/.git", "gitdir: ../bare");
    std::os::unix::fs::symlink("tools", work.join(".vscode")).unwrap();
    assert_eq!(
        names(&work, &before.written().0),
        [
            ".envrc",
            ".venv/lib/site-packages/x.pth",
            ".vscode",
            "bare/config",
            "lead/.git",
            "new/.git/config",
            "new/.git/hooks/post-checkout",
            "node_modules/a/.envrc",
            "repo/.git/config",
            "tools/tasks.json",
        ]
    );
}

#[test]
fn nothing_outside_is_read_or_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let work = home.join("work");
    put(&home, "me/.vimrc", "the owner's");
    put(&home, "me/.config/git/config", "the owner's");
    put(&work, "d/.vimrc", "mine");
    let before = SelfRunningFiles::look(vec![work.clone()]);
    std::os::unix::fs::symlink(home.join("me"), work.join("x")).unwrap();
    std::os::unix::fs::symlink(home.join("me/.config"), work.join(".config")).unwrap();
    put(&work, "d/.vimrc", "evil");
    let (written, _) = before.written();
    let paths: Vec<&PathBuf> = written.iter().map(|file| &file.path).collect();
    assert!(
        paths.iter().all(|path| path.starts_with(&work)),
        "{paths:?}"
    );
    assert!(paths.contains(&&work.join("d/.vimrc")), "{paths:?}");
    // The folder becomes a link between the look and the deed.
    std::fs::rename(work.join("d"), work.join("e")).unwrap();
    std::os::unix::fs::symlink(home.join("me"), work.join("d")).unwrap();
    for file in &written {
        if file.path == work.join("d/.vimrc") {
            assert!(file.rename_and_put_back().is_err());
            assert_eq!(file.text_now(), None);
        }
    }
    assert_eq!(
        std::fs::read(home.join("me/.vimrc")).unwrap(),
        b"the owner's"
    );
    // Nor is it kept as what was there before.
    let seen = SelfRunningFiles::look(vec![work.clone()]);
    assert!(
        seen.files
            .values()
            .all(|known| known.text.as_deref() != Some(b"the owner's".as_slice()))
    );
}

#[test]
fn what_a_command_made_too_large_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    for number in 0..30 {
        put(&work, &format!("d{number}/a"), "x");
    }
    put(&work, "z/deep/.envrc", "x");
    let narrow = LookLimits::for_tests(20);
    assert!(SelfRunningFiles::look_within(vec![work.clone()], narrow).is_cut);
    let wide = SelfRunningFiles::look(vec![work.clone()]);
    assert!(!wide.is_cut && wide.files.contains_key(&work.join("z/deep/.envrc")));
}
