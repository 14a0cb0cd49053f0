//! Killed indexers, two at once, and searches all the while.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use chela_core::{Audience, FixedClock, Host};
use chela_memory::index::{SyncDepth, SyncOutcome};
use chela_memory::source::MemoryPlaces;
use chela_memory::{Memory, MemoryQuestion, MemorySettings, OpenMemory};
use chela_testkit::wait_until;

/// Tells the test binary that it is the indexer, and where.
const CHILD: &str = "CHELA_TEST_INDEXER";
/// More kills for a long run; each costs about 30 ms.
const KILLS: &str = "CHELA_TEST_KILLS";
const DEFAULT_KILLS: u32 = 12;

/// The same for the indexer that runs out of room, and for those that repair.
const NO_ROOM: &str = "CHELA_TEST_NO_ROOM";
const REPAIRER: &str = "CHELA_TEST_REPAIRER";

const NOTES: usize = 60;

fn write_notes(home: &Path, version: u32) {
    let folder = home.join("w/memory");
    std::fs::create_dir_all(&folder).unwrap();
    for note in 0..NOTES {
        let text: String = (0..30)
            .map(|line| {
                format!(
                    "- note{note} version{version} says word{} about thing{}\n",
                    line * 7 % 31,
                    line % 5
                )
            })
            .collect();
        std::fs::write(folder.join(format!("n{note}.md")), text).unwrap();
    }
}

fn open<'a>(host: &'a Host, home: &Path) -> Memory<'a> {
    Memory::local(OpenMemory {
        host,
        index_file: index_file(home),
        places: MemoryPlaces {
            workspace: home.join("w"),
            sessions: None,
            ..Default::default()
        },
        settings: MemorySettings::default(),
        embedder: None,
    })
    .unwrap()
}

fn index_file(home: &Path) -> PathBuf {
    home.join("state/main.sqlite")
}

fn sync(memory: &mut Memory<'_>, depth: SyncDepth) -> SyncOutcome {
    memory
        .sync(depth, &mut |_| ControlFlow::Continue(()))
        .unwrap()
        .outcome
}

fn content(memory: &Memory<'_>) -> Vec<(String, u32, String)> {
    let mut statement = memory
        .store()
        .connection()
        .prepare("SELECT f.label, c.start_line, c.text FROM chunks c JOIN files f ON f.id = c.file ORDER BY 1, 2")
        .unwrap();
    statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

/// How many entries a search looks at.
fn searched(memory: &mut Memory<'_>) -> usize {
    let ask = MemoryQuestion::new("note", Audience::Private);
    memory.search(&ask).unwrap().answer.searched
}

/// A search must answer, with the note it is about.
fn check_search(memory: &mut Memory<'_>, note: usize) {
    let question = format!("note{note} word3");
    let ask = MemoryQuestion::new(&question, Audience::Private);
    let found = memory.search(&ask).unwrap();
    assert_eq!(
        found.answer.searched,
        NOTES * 30,
        "a search saw half an index"
    );
    let best = &found.excerpts[0];
    assert!(
        best.text.contains(&format!("note{note} ")),
        "{question}: {}",
        best.text
    );
}

/// Run by [`killed_at_random_moments`] in a process of its own: indexes until it is killed.
#[test]
fn the_indexer_that_is_killed() {
    let Ok(home) = std::env::var(CHILD) else {
        return;
    };
    let home = PathBuf::from(home);
    let host = Host::fixed(&home);
    let mut memory = open(&host, &home);
    loop {
        sync(&mut memory, SyncDepth::Rebuild);
    }
}

#[test]
fn killed_at_random_moments() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let host = Host::fixed(home);
    let mut memory = open(&host, home);
    sync(&mut memory, SyncDepth::Quick);
    let kills = std::env::var(KILLS)
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(DEFAULT_KILLS);
    let mut random = 88_172_645_463_325_252_u64;
    for round in 1..=kills {
        if round % 10 == 0 {
            write_notes(home, round);
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "faults::the_indexer_that_is_killed"])
            .env(CHILD, home)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let until = Duration::from_micros(random % 60_000);
        let start = Instant::now();
        let mut searches = 0;
        while start.elapsed() < until || searches == 0 {
            check_search(&mut memory, (random as usize + searches) % NOTES);
            searches += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    check_search(&mut memory, 7);
    assert_eq!(sync(&mut memory, SyncDepth::Verify), SyncOutcome::Complete);
    assert!(memory.notices().is_empty(), "{:?}", memory.notices());
    let survived = content(&memory);
    drop(memory);
    std::fs::remove_dir_all(home.join("state")).unwrap();
    let mut fresh = open(&host, home);
    sync(&mut fresh, SyncDepth::Quick);
    assert!(survived == content(&fresh), "the index did not converge");
    check_search(&mut fresh, 7);
}

#[test]
fn two_indexers_and_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let host = Host::fixed(home);
    sync(&mut open(&host, home), SyncDepth::Quick);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let host = Host::fixed(home);
                let mut memory = open(&host, home);
                for _ in 0..3 {
                    let outcome = sync(&mut memory, SyncDepth::Rebuild);
                    assert!(matches!(outcome, SyncOutcome::Complete | SyncOutcome::Busy));
                }
            });
        }
        let mut reader = open(&host, home);
        for note in 0..30 {
            check_search(&mut reader, note);
        }
    });
    let mut memory = open(&host, home);
    assert_eq!(content(&memory).len(), NOTES * 30);
    check_search(&mut memory, 11);
}

#[cfg(unix)]
#[test]
fn a_read_only_index_still_answers() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let host = Host::fixed(home);
    sync(&mut open(&host, home), SyncDepth::Quick);
    let state = home.join("state");
    let set = |mode: u32, file: u32| {
        std::fs::set_permissions(index_file(home), std::fs::Permissions::from_mode(file)).unwrap();
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555, 0o444);
    // Root may write anywhere; then there is nothing to see here.
    let root = std::fs::write(state.join("probe"), "x").is_ok();
    let mut memory = open(&host, home);
    check_search(&mut memory, 5);
    if !root {
        assert!(
            memory.notices()[0]
                .to_string()
                .contains("cannot be written")
        );
        assert_eq!(sync(&mut memory, SyncDepth::Quick), SyncOutcome::ReadOnly);
    }
    drop(memory);
    set(0o755, 0o644);
}

/// Run by [`no_room_on_the_disk`] in a process that may write only small files.
#[test]
fn the_indexer_without_room() {
    let Ok(home) = std::env::var(NO_ROOM) else {
        return;
    };
    let home = PathBuf::from(home);
    let host = Host::fixed(&home);
    let mut memory = open(&host, &home);
    let result = memory.sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()));
    assert!(result.is_err(), "there was room: {result:?}");
    // Not a crash, and what was there is still found.
    check_search(&mut memory, 3);
}

#[cfg(unix)]
#[test]
fn no_room_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let host = Host::fixed(home);
    sync(&mut open(&host, home), SyncDepth::Quick);
    let index = index_file(home);
    let before = content(&open(&host, home));
    let blocks = std::fs::metadata(&index).unwrap().len() / 512 + 8;
    let more: String = (0..3_000)
        .map(|line| {
            format!(
                "- addition{line} to what is known about subject{}\n",
                line % 97
            )
        })
        .collect();
    std::fs::write(home.join("w/memory/more.md"), more).unwrap();
    // A signal that is ignored stays ignored in the process that follows: writing fails instead.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "faults::the_indexer_without_room"])
        .env(NO_ROOM, home)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let mut memory = open(&host, home);
    assert!(memory.notices().is_empty(), "{:?}", memory.notices());
    assert!(before == content(&memory), "half a note was kept");
    // With room again the work is done.
    assert_eq!(sync(&mut memory, SyncDepth::Quick), SyncOutcome::Complete);
    assert_eq!(content(&memory).len(), before.len() + 3_000);
}

/// Run by [`two_processes_repair_one_file`].
#[test]
fn the_process_that_repairs() {
    let Ok(home) = std::env::var(REPAIRER) else {
        return;
    };
    let home = PathBuf::from(home);
    let host = Host::fixed(&home);
    let mut memory = open(&host, &home);
    // One of them indexes; whoever is late waits for what the other has.
    wait_until("the index is whole", || {
        sync(&mut memory, SyncDepth::Quick);
        searched(&mut memory) == NOTES * 30
    });
    check_search(&mut memory, 9);
}

#[test]
fn two_processes_repair_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let host = Host::fixed(home);
    sync(&mut open(&host, home), SyncDepth::Quick);
    for round in 0..2 {
        damage(&index_file(home), round);
        let children: Vec<_> = (0..3)
            .map(|_| {
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "faults::the_process_that_repairs"])
                    .env(REPAIRER, home)
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "round {round}: {told}");
        }
        let mut memory = open(&host, home);
        assert!(memory.notices().is_empty(), "{:?}", memory.notices());
        assert_eq!(content(&memory).len(), NOTES * 30, "round {round}");
        check_search(&mut memory, 21);
    }
    // One file was set aside each time, not one by every process.
    let aside = std::fs::read_dir(home.join("state"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains(".damaged-"))
        .count();
    assert_eq!(aside, 2);
}

/// A foreign beginning, or pages in the middle that cannot be read.
fn damage(index: &Path, round: u32) {
    let mut bytes = std::fs::read(index).unwrap();
    match round % 2 {
        0 => bytes[..64].fill(b'?'),
        _ => {
            let from = 8192.min(bytes.len());
            bytes[from..].fill(0xff);
        }
    }
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", index.display()));
    }
    std::fs::write(index, bytes).unwrap();
}

#[test]
fn the_clock_jumps() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    write_notes(home, 0);
    let mut host = Host::fixed(home);
    for (version, seconds) in [
        (0, 1_900_000_000),
        (1, 5),
        (2, 4_000_000_000),
        (3, 1_700_000_000),
    ] {
        host.clock = Arc::new(FixedClock(UNIX_EPOCH + Duration::from_secs(seconds)));
        write_notes(home, version);
        let mut memory = open(&host, home);
        assert_eq!(sync(&mut memory, SyncDepth::Quick), SyncOutcome::Complete);
        let told = format!("version{version} ");
        assert!(
            content(&memory)
                .iter()
                .all(|(_, _, text)| text.contains(&told)),
            "at {seconds} a change was missed"
        );
        check_search(&mut memory, 12);
    }
}
