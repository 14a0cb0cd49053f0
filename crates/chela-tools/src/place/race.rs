//! A tree that changes while tools work in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chela_files::ExpectedContent;

use super::tests::{SECRET, TestMachine};
use super::{FileReach, PlaceAccess};

/// Swaps a file and a folder for links to the outside and back, as fast as it can, while files
/// are read and written through both. Nothing outside is ever read or changed.
#[test]
fn a_swapped_link_lets_nothing_out() {
    const LONG_ENOUGH: Duration = Duration::from_millis(900);
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    fs::create_dir(machine.at("vault")).unwrap();
    fs::write(machine.at("vault/file.txt"), SECRET).unwrap();
    fs::create_dir(machine.workspace("folder")).unwrap();
    fs::write(machine.workspace("folder/file.txt"), "mine").unwrap();
    fs::write(machine.workspace("file.txt"), "mine").unwrap();
    let done = AtomicBool::new(false);
    let (mut reads, mut refused, mut writes) = (0u64, 0u64, 0u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = machine.workspace("file.txt");
            let spare = machine.workspace("spare");
            let folder = machine.workspace("folder");
            let folder_link = machine.workspace("folder-link");
            symlink(machine.at("vault"), &folder_link).unwrap();
            while !done.load(Ordering::Relaxed) {
                symlink(machine.at("secret.txt"), &spare).unwrap();
                fs::rename(&spare, &file).unwrap();
                fs::write(&spare, "mine").unwrap();
                fs::rename(&spare, &file).unwrap();
                exchange(&folder_link, &folder);
            }
        });
        let start = Instant::now();
        while start.elapsed() < LONG_ENOUGH {
            for path in ["file.txt", "folder/file.txt"] {
                let read = places
                    .locate(path, PlaceAccess::Read)
                    .and_then(|spot| spot.read(1_000));
                match read {
                    Ok(Ok(bytes)) => {
                        assert_ne!(bytes, SECRET.as_bytes(), "{path} was read outside");
                        reads += 1;
                    }
                    _ => refused += 1,
                }
                let written = places
                    .locate_new(path)
                    .and_then(|spot| spot.replace(b"mine", ExpectedContent::Anything));
                match written {
                    Ok(_) => writes += 1,
                    Err(_) => refused += 1,
                }
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    for outside in ["secret.txt", "vault/file.txt"] {
        assert_eq!(fs::read_to_string(machine.at(outside)).unwrap(), SECRET);
    }
    let strangers = fs::read_dir(machine.at("vault")).unwrap().count();
    assert_eq!(strangers, 1, "nothing was left outside");
    // The race was a race: work went through, and some of it met a link.
    assert!(
        reads > 0 && writes > 0 && refused > 0,
        "{reads} {writes} {refused}"
    );
}

/// Swaps two names at one stroke where the system can, else one after the other.
fn exchange(a: &std::path::Path, b: &std::path::Path) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let _ = renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
    }
    #[cfg(not(target_os = "linux"))]
    {
        let spare = a.with_extension("spare");
        let _ = fs::rename(a, &spare);
        let _ = fs::rename(b, a);
        let _ = fs::rename(&spare, b);
    }
}
