use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use rusqlite::Connection;

use super::{GroupWatch, JobError, SqliteEngine, WriteDurability};
use crate::file::{FileFormat, FileSoundness, FileState, FreedRoom};
use crate::{StoreError, block_on};

static LIST: FileFormat = FileFormat {
    name: "the list",
    if_damaged: "write a new one",
    steps: &["CREATE TABLE things (name TEXT NOT NULL)"],
    mend: None,
    room: FreedRoom::Kept,
};

fn place() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("state/list.sqlite");
    (home, path)
}

fn insert(connection: &Connection, name: &str) -> Result<(), JobError> {
    connection.execute("INSERT INTO things VALUES (?1)", [name])?;
    Ok(())
}

fn names(connection: &Connection) -> Result<Vec<String>, JobError> {
    let mut statement = connection.prepare("SELECT name FROM things ORDER BY rowid")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Keeps the writer busy until it is let go, so that what comes next is queued together.
fn hold(engine: &SqliteEngine) -> mpsc::Sender<()> {
    let (go, wait) = mpsc::channel();
    let (begun, begins) = mpsc::channel();
    drop(engine.write(WriteDurability::Process, move |_| {
        begun.send(()).unwrap();
        let _ = wait.recv();
        Ok(())
    }));
    begins.recv().unwrap();
    go
}

#[test]
fn what_waits_is_committed_together() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    let go = hold(&engine);
    let writes: Vec<_> = (0..100)
        .map(|at| {
            let durability = match at {
                50 => WriteDurability::Disk,
                _ => WriteDurability::Process,
            };
            engine.write(durability, move |tx| insert(tx, &at.to_string()))
        })
        .collect();
    go.send(()).unwrap();
    for write in writes {
        block_on(write).unwrap();
    }
    let counts = engine.counts();
    assert_eq!((counts.writes, counts.commits, counts.synced), (101, 2, 1));
    assert_eq!(block_on(engine.read(names)).unwrap().len(), 100);
}

#[test]
fn a_piece_that_fails_takes_back_only_itself() {
    let engine = SqliteEngine::open_in_memory(&LIST).unwrap();
    let go = hold(&engine);
    let good = engine.write(WriteDurability::Disk, |tx| insert(tx, "good"));
    let bad = engine.write(WriteDurability::Disk, |tx| {
        insert(tx, "half")?;
        Err::<(), _>(JobError::Damaged("it reads wrong".to_owned()))
    });
    let panics = engine.write(WriteDurability::Disk, |tx| -> Result<(), JobError> {
        insert(tx, "quarter")?;
        panic!("out of luck")
    });
    let later = engine.write(WriteDurability::Disk, |tx| insert(tx, "later"));
    go.send(()).unwrap();
    block_on(good).unwrap();
    let told = block_on(bad).unwrap_err().to_string();
    assert_eq!(
        told,
        "the list :memory: is damaged: it reads wrong; write a new one"
    );
    let told = block_on(panics).unwrap_err().to_string();
    assert!(told.ends_with("because of a bug: out of luck"), "{told}");
    block_on(later).unwrap();
    assert_eq!(engine.counts().commits, 2);
    assert_eq!(block_on(engine.read(names)).unwrap(), ["good", "later"]);
}

#[test]
fn a_commit_that_fails_fails_everybody_in_it() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    block_on(engine.maintain(|connection| {
        connection.execute_batch(
            "PRAGMA foreign_keys = ON; CREATE TABLE a (id INTEGER PRIMARY KEY);
             CREATE TABLE b (a REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED)",
        )?;
        Ok(())
    }))
    .unwrap();
    let go = hold(&engine);
    let innocent = engine.write(WriteDurability::Disk, |tx| insert(tx, "innocent"));
    let guilty = engine.write(WriteDurability::Disk, |tx| {
        tx.execute("INSERT INTO b VALUES (7)", [])?;
        Ok(())
    });
    go.send(()).unwrap();
    assert!(block_on(innocent).is_err());
    let told = block_on(guilty).unwrap_err().to_string();
    assert!(told.contains("FOREIGN KEY"), "{told}");
    assert!(block_on(engine.read(names)).unwrap().is_empty());
    block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "after"))).unwrap();
}

#[test]
fn nobody_has_to_wait_for_what_is_queued() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    let go = hold(&engine);
    for at in 0..20 {
        drop(engine.write(WriteDurability::Process, move |tx| {
            insert(tx, &at.to_string())
        }));
    }
    go.send(()).unwrap();
    // The last handle waits until everything queued is done.
    drop(engine);
    let again = SqliteEngine::open_existing(&path, &LIST).unwrap().unwrap();
    assert_eq!(block_on(again.read(names)).unwrap().len(), 20);
}

#[test]
fn opening_starts_nothing_and_a_first_look_needs_no_second_connection() {
    let (_home, path) = place();
    assert!(SqliteEngine::open_existing(&path, &LIST).unwrap().is_none());
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    assert_eq!(engine.found(), FileState::Empty);
    block_on(engine.read(names)).unwrap();
    block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "x"))).unwrap();
    assert_eq!(engine.counts().readers, 0);
    drop(engine);
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    assert_eq!(engine.found(), FileState::Present);
}

#[test]
fn nobody_who_reads_waits_for_one_who_writes() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    block_on(engine.write(WriteDurability::Process, |tx| insert(tx, "before"))).unwrap();
    let go = hold(&engine);
    let after = engine.write(WriteDurability::Process, |tx| insert(tx, "after"));
    // Answered while the writer stands still.
    assert_eq!(block_on(engine.read(names)).unwrap(), ["before"]);
    assert_eq!(block_on(engine.scan(names)).unwrap(), ["before"]);
    go.send(()).unwrap();
    block_on(after).unwrap();
    assert_eq!(block_on(engine.read(names)).unwrap(), ["before", "after"]);
    assert!(engine.counts().readers <= 2);
}

#[test]
fn two_engines_share_a_file() {
    let (_home, path) = place();
    let one = SqliteEngine::open(&path, &LIST).unwrap();
    let two = SqliteEngine::open(&path, &LIST).unwrap();
    let writers: Vec<_> = [one.clone(), two.clone()]
        .into_iter()
        .map(|engine| {
            std::thread::spawn(move || {
                for at in 0..50 {
                    let write = engine.write(WriteDurability::Process, move |tx| {
                        insert(tx, &at.to_string())
                    });
                    block_on(write).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(block_on(one.read(names)).unwrap().len(), 100);
    assert_eq!(block_on(two.read(names)).unwrap().len(), 100);
}

#[test]
fn a_file_that_is_gone_is_not_written_to_any_more() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "x"))).unwrap();
    std::fs::remove_file(&path).unwrap();
    let error = block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "y"))).unwrap_err();
    assert!(matches!(error, StoreError::Replaced { .. }), "{error}");
    assert_eq!(FileState::of(&path), FileState::Absent);
}

#[test]
fn a_sound_file_is_told_from_a_damaged_one() {
    let (_home, path) = place();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    for _ in 0..50 {
        let write = engine.write(WriteDurability::Process, |tx| {
            insert(tx, &"long ".repeat(200))
        });
        block_on(write).unwrap();
    }
    assert_eq!(block_on(engine.check()).unwrap(), FileSoundness::Sound);
    drop(engine);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0);
    std::fs::write(&path, bytes).unwrap();
    let engine = SqliteEngine::open(&path, &LIST).unwrap();
    assert!(matches!(
        block_on(engine.check()),
        Ok(FileSoundness::Damaged(_)) | Err(StoreError::Damaged { .. })
    ));
}

struct Counting {
    begun: Arc<AtomicUsize>,
    committed: Arc<AtomicUsize>,
    ended: Arc<AtomicUsize>,
}

impl GroupWatch for Counting {
    fn begin(&mut self) -> Result<(), JobError> {
        match self.begun.fetch_add(1, Ordering::Relaxed) {
            2 => Err(JobError::Locked {
                path: PathBuf::from("lock"),
            }),
            _ => Ok(()),
        }
    }

    fn committed(&mut self, _: WriteDurability) -> Result<(), JobError> {
        self.committed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn end(&mut self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_watch_goes_along_with_every_group() {
    let engine = SqliteEngine::open_in_memory(&LIST).unwrap();
    let (begun, committed, ended) = (Arc::default(), Arc::default(), Arc::default());
    engine.watch(Box::new(Counting {
        begun: Arc::clone(&begun),
        committed: Arc::clone(&committed),
        ended: Arc::clone(&ended),
    }));
    for _ in 0..2 {
        block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "x"))).unwrap();
    }
    let refused = block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "x"))).unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    assert_eq!((count(&begun), count(&committed), count(&ended)), (3, 2, 3));
    assert_eq!(block_on(engine.read(names)).unwrap().len(), 2);
}

/// Panics once at each of its three points, a group each.
struct Panicking(usize);

impl Panicking {
    fn panic_at(&self, group: usize) {
        assert_ne!(self.0, group, "a watch broke");
    }
}

impl GroupWatch for Panicking {
    fn begin(&mut self) -> Result<(), JobError> {
        self.0 += 1;
        self.panic_at(1);
        Ok(())
    }

    fn committed(&mut self, _: WriteDurability) -> Result<(), JobError> {
        self.panic_at(2);
        Ok(())
    }

    fn end(&mut self) {
        self.panic_at(3);
    }
}

#[test]
fn a_watch_that_panics_fails_its_group_and_no_other() {
    let engine = SqliteEngine::open_in_memory(&LIST).unwrap();
    engine.watch(Box::new(Panicking(0)));
    for group in 1..=3 {
        let failed = block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "x")));
        let failed = failed.unwrap_err().to_string();
        assert!(failed.contains("a watch broke"), "{group}: {failed}");
    }
    block_on(engine.write(WriteDurability::Disk, |tx| insert(tx, "y"))).unwrap();
}
