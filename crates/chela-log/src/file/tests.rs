use std::collections::BTreeSet;
use std::path::Path;

use super::{GENERATIONS, LogFile, generation, with_end};

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_full_file_is_renamed_and_old_ones_go() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("logs/chela.log");
    let mut file = LogFile::new(path.clone(), 40);
    assert!(!path.exists(), "opened before there was a line");
    for number in 0..60 {
        file.append(&format!("line {number:04}")).unwrap();
    }
    for older in 0..=GENERATIONS {
        let file = generation(&path, older);
        assert_eq!(lines(&file).len(), 4, "{}", file.display());
    }
    assert!(!generation(&path, GENERATIONS + 1).exists());
    assert_eq!(lines(&path).last().unwrap(), "line 0059");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}

#[test]
fn writers_side_by_side_lose_and_mix_nothing() {
    const WRITERS: usize = 8;
    const EACH: usize = 100;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    // As many lines as fit into all generations, so that none is old enough to go.
    let most = u64::try_from(WRITERS * EACH * 20 / 3).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = path.clone();
            scope.spawn(move || {
                let mut file = LogFile::new(path, most);
                for number in 0..EACH {
                    file.append(&format!("writer {writer:03} {number:06}"))
                        .unwrap();
                }
            });
        }
    });
    let all: Vec<String> = (0..=GENERATIONS)
        .flat_map(|older| lines(&generation(&path, older)))
        .collect();
    assert!(generation(&path, 1).exists());
    assert_eq!(all.len(), WRITERS * EACH);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), WRITERS * EACH);
}

#[test]
fn a_lock_that_is_held_costs_room_and_no_line() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("chela.log");
    let _lock = chela_files::LockFile::try_take(&with_end(&path, "lock")).unwrap();
    let mut file = LogFile::new(path.clone(), 20);
    for _ in 0..5 {
        file.append("0123456789").unwrap();
    }
    assert_eq!(lines(&path).len(), 5);
    assert!(!generation(&path, 1).exists());
}
