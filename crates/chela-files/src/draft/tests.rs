use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::{DraftPlacement, ExpectedContent, FileDraft, FileMode, create_file, write_file};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_as_a_whole_and_keeps_its_rights() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/notes.md");
    write_file(&file, b"one", FileMode::KeepOrPrivate).unwrap();
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
    write_file(&file, b"two", FileMode::KeepOrUsual).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"two");
    assert_eq!(mode(&file), 0o640);
    write_file(&file, b"three", FileMode::Private).unwrap();
    assert_eq!(mode(&file), 0o600);
    assert_eq!(names(file.parent().unwrap()), ["notes.md"]);
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (link, other) = (folder.path().join("link"), folder.path().join("other"));
    std::fs::write(&other, "theirs").unwrap();
    symlink(&other, &link).unwrap();
    write_file(&link, b"ours", FileMode::KeepOrUsual).unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
    assert!(!link.is_symlink());
    let dangling = folder.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    let made = create_file(&dangling, b"x", FileMode::Private).unwrap();
    assert_eq!(made, DraftPlacement::Changed);
    assert!(dangling.is_symlink() && !folder.path().join("nowhere").exists());
}

#[test]
fn what_changed_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let draft =
        |text: &str| FileDraft::beside(&file, text.as_bytes(), FileMode::KeepOrUsual).unwrap();
    let read = || std::fs::read_to_string(&file).unwrap();

    let late = draft("late");
    assert_eq!(
        draft("first").put_if(ExpectedContent::Absent).unwrap(),
        DraftPlacement::Placed
    );
    assert_eq!(
        late.put_if(ExpectedContent::Absent).unwrap(),
        DraftPlacement::Changed
    );
    assert_eq!(read(), "first");

    let late = draft("late");
    std::fs::write(&file, "saved in an editor").unwrap();
    assert_eq!(
        late.put_if(ExpectedContent::Bytes(b"first")).unwrap(),
        DraftPlacement::Changed
    );
    assert_eq!(read(), "saved in an editor");

    let now = draft("now");
    assert_eq!(
        now.put_if(ExpectedContent::Bytes(b"saved in an editor"))
            .unwrap(),
        DraftPlacement::Placed
    );
    assert_eq!(read(), "now");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        draft("x").put_if(ExpectedContent::Bytes(b"now")).unwrap(),
        DraftPlacement::Changed
    );
    assert!(names(folder.path()).is_empty());
}

/// Somebody saves in an editor again and again while we change the file, at whatever moment. What
/// they saved is there when they look again, once our change is made or given up: in between, a save
/// that came too early for us lies beside its place for an instant, and nobody looks then. Only they
/// themselves may write over what we did.
#[test]
fn what_an_editor_saves_is_never_lost() {
    const SAVES: usize = 300;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.txt");
    let save = folder.path().join("editor-copy");
    std::fs::write(&file, "start\n").unwrap();
    let changing = std::sync::Mutex::new(());
    std::thread::scope(|scope| {
        let editor = scope.spawn(|| {
            for number in 0..SAVES {
                let looking = changing.lock().unwrap();
                let text = std::fs::read_to_string(&file).unwrap();
                drop(looking);
                for before in 0..number {
                    assert!(
                        text.contains(&format!("<{before}>")),
                        "save {before} is lost"
                    );
                }
                std::fs::write(&save, format!("{text}<{number}>\n")).unwrap();
                std::fs::rename(&save, &file).unwrap();
            }
        });
        let mut placed = 0;
        while !editor.is_finished() {
            let before = std::fs::read(&file).unwrap();
            let after = [before.as_slice(), b"."].concat();
            let draft = FileDraft::beside(&file, &after, FileMode::KeepOrUsual).unwrap();
            let putting = changing.lock().unwrap();
            let outcome = draft.put_if(ExpectedContent::Bytes(&before)).unwrap();
            drop(putting);
            placed += usize::from(outcome == DraftPlacement::Placed);
        }
        assert!(placed > 0, "nothing of ours was ever placed");
    });
    assert_eq!(names(folder.path()), ["log.txt"]);
}
