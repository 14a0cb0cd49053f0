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
            .written(None)
            .0
            .is_empty()
    );
    let before = SelfRunningFiles::look(vec![work.to_owned()]);
    put(work, ".vscode/tasks.json", "theirs");
    let (written, _) = before.written(None);
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
    let nature = SecondNature::of(&[work.join("tools/tasks.json")], vec![work.clone()]);
    assert_eq!(nature.names.names, [work.join(".zed/tasks.json")]);
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
        names(&work, &before.written(None).0),
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
fn a_folder_that_becomes_a_repository_is_seen_by_any_of_its_looks() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    put(&work, "late/config", "[core]\n\tfsmonitor = evil\n");
    put(&work, "repo/.git/HEAD", "ref: refs/heads/main");
    put(
        &work,
        "repo/.git/config",
        "[core]\n\thooksPath = tools/run\n[include]\n\tpath = ../more.inc\n[alias]\n\tup = \"!./up.sh\"\n",
    );
    let before = SelfRunningFiles::look(vec![work.clone()]);
    put(&work, "late/HEAD", "ref: refs/heads/main");
    put(&work, "src/HEAD", "ref: refs/heads/main");
    put(&work, "src/commondir", "../data\n");
    put(&work, "data/config", "[core]\n\tfsmonitor = evil\n");
    put(&work, "data/hooks/any", "evil");
    put(&work, "shared/objects/x", "");
    put(&work, "shared/refs/x", "");
    put(&work, "shared/config", "[core]\n\tfsmonitor = evil\n");
    put(&work, "repo/tools/run/any", "evil");
    put(&work, "repo/more.inc", "evil");
    put(&work, "repo/up.sh", "evil");
    put(&work, "repo/plain.sh", "good");
    // As `git worktree add` leaves it.
    put(&work, "repo/.git/worktrees/a/commondir", "../..\n");
    put(&work, "repo/.git/modules/lib/a/HEAD", "ref: x");
    put(
        &work,
        "repo/.git/modules/lib/a/config",
        "[alias]\n\tx = !evil\n",
    );
    std::os::unix::fs::symlink("not-there-yet", work.join(".idea")).unwrap();
    assert_eq!(
        names(&work, &before.written(None).0),
        [
            ".idea",
            "data/config",
            "data/hooks/any",
            "late/config",
            "repo/.git/modules/lib/a/config",
            "repo/more.inc",
            "repo/tools/run/any",
            "repo/up.sh",
            "shared/config",
            "src/commondir",
        ]
    );
}

#[test]
fn a_file_tool_is_told_what_it_would_complete() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    put(&work, "bare/HEAD", "ref: refs/heads/main");
    put(&work, "half/objects/x", "");
    put(&work, "half/refs/x", "");
    put(&work, "nearly/config", "x");
    put(&work, "nearly/objects/x", "");
    put(
        &work,
        "repo/.git/config",
        "[core]\n\thooksPath = tools/run\n[alias]\n\tup = \"!./up.sh\"\n",
    );
    let shapes = |files: &[&str]| {
        let files: Vec<PathBuf> = files.iter().map(|file| work.join(file)).collect();
        SecondNature::of(&files, vec![work.clone()]).shapes_repository
    };
    for file in [
        "bare/config",
        "bare/objects/x",
        "half/config",
        "half/HEAD",
        "nearly/refs/heads/x",
        "repo/up.sh",
        "repo/tools/run/new",
    ] {
        assert!(shapes(&[file]), "{file}");
    }
    for file in ["other/config", "other/HEAD", "app/objects/x", "repo/main.c"] {
        assert!(!shapes(&[file]), "{file}");
    }
    // In one call.
    assert!(shapes(&["new/HEAD", "new/config"]));
}

#[test]
fn links_lead_somewhere_before_anything_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    let (work, other) = (home.join("work"), home.join("other"));
    put(&work, "a", "x");
    put(&other, "deep/a", "x");
    std::os::unix::fs::symlink("cfg", work.join(".vscode")).unwrap();
    std::os::unix::fs::symlink("mid", work.join(".zed")).unwrap();
    std::os::unix::fs::symlink("../work/cfg", work.join("mid")).unwrap();
    std::os::unix::fs::symlink(work.join("cfg/x"), other.join("deep/.envrc")).unwrap();
    let names = |file: &str| {
        let nature = SecondNature::of(&[work.join(file)], vec![work.clone(), other.clone()]);
        let mut names = nature.names.names;
        names.sort();
        names
    };
    assert_eq!(
        names("cfg/tasks.json"),
        [".vscode", ".zed", "mid"].map(|link| work.join(link).join("tasks.json"))
    );
    assert!(names("cfg/x").contains(&other.join("deep/.envrc")));
    let narrow = LookLimits::for_tests(1);
    let roots = open_roots(&[work.clone(), other]);
    assert!(OtherNames::of(&roots, &[], narrow).is_cut);
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
    let (written, _) = before.written(None);
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

#[test]
fn what_a_command_wrote_is_found_however_much_it_made() {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().canonicalize().unwrap();
    put(&work, "notes/a.md", "x");
    let narrow = LookLimits::for_tests(20);
    let look = || SelfRunningFiles::look_within(vec![work.clone()], narrow);
    let before = look();
    for number in 0..40 {
        put(&work, &format!("d{number}/a"), "x");
    }
    put(&work, "z/deep/er/.envrc", "evil");
    put(&work, "z/deep/er/bare/HEAD", "ref: refs/heads/main");
    put(
        &work,
        "z/deep/er/bare/config",
        "[core]\n\tfsmonitor = evil\n",
    );
    let touched = [
        "z/deep/er/.envrc",
        "z/deep/er/bare/HEAD",
        "z/deep/er/bare/config",
        "d1/a",
        "gone",
    ];
    let touched = touched.map(|file| work.join(file)).into_iter().collect();
    let found = |written: &[WrittenFile]| -> Vec<PathBuf> {
        written.iter().map(|file| file.path.clone()).collect()
    };
    let (written, now) = before.written_within(narrow, Some(&touched));
    assert!(!now.is_cut);
    let expected = ["z/deep/er/.envrc", "z/deep/er/bare/config"];
    for file in expected {
        assert!(found(&written).contains(&work.join(file)), "{written:?}");
    }
    // Nobody told: then it is said that not everything was looked at.
    let (written, now) = look().written_within(narrow, None);
    assert!(now.is_cut && found(&written).is_empty(), "{written:?}");
}
