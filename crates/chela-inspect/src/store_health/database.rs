//! The SQLite files: records and the memory index.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use chela_core::Severity;
use chela_ledger::{Ledger, LedgerError, ledger_file, verify_absent};
use chela_store::{FileExamination, StoreError, block_on, examine};

use super::rights::{RightsTrouble, is_on_read_only_disk};
use super::{DatabaseFile, StoreFinding, StoreHealthInput, StoreKind, StorePlace, StoreTrouble};

/// The sessions, the journal or the memory index of an agent.
pub fn check_agent_file(ground: &StoreHealthInput<'_>, file: &DatabaseFile) -> Vec<StoreFinding> {
    let place = StorePlace {
        host: ground.host,
        kind: file.kind,
        path: &file.path,
    };
    let store = OneStore {
        place,
        beside: sides(&file.path),
        had_been: file.had_been || has_waiting_entries(&file.path),
        rescue: match file.kind {
            StoreKind::Sessions => format!(
                "`chela sessions rescue --agent {}` recovers what can be read into a new one",
                file.agent
            ),
            StoreKind::MemoryIndex => {
                "delete it: it is rebuilt from the notes, and nothing is lost".to_owned()
            }
            _ => "move it aside to start a new one (older changes can then no longer be undone)"
                .to_owned(),
        },
    };
    match store.check() {
        // Where nothing can be written, that is said of the whole home.
        Ok(()) if is_on_read_only_disk(&file.path) => Vec::new(),
        Ok(()) => ground
            .opener
            .open(file)
            .err()
            .map(|error| refused(place, &error))
            .into_iter()
            .collect(),
        Err(findings) => findings,
    }
}

/// The ledger, and the newest hash beside it.
pub fn check_ledger(ground: &StoreHealthInput<'_>) -> Vec<StoreFinding> {
    let host = ground.host;
    let path = ledger_file(host);
    let place = StorePlace {
        host,
        kind: StoreKind::Ledger,
        path: &path,
    };
    let mut beside = sides(&path);
    beside.extend(["head", "lock"].map(|extension| path.with_extension(extension)));
    let store = OneStore {
        place,
        beside,
        had_been: ground.ledger_had_been || has_waiting_entries(&path),
        rescue: "restore a copy, or move it and ledger.head aside to start a new one".to_owned(),
    };
    if !path.is_dir() && std::fs::metadata(&path).map_or(0, |file| file.len()) == 0 {
        let absent = verify_absent(host);
        if !absent.is_sound() {
            return vec![without_ledger(place, &absent)];
        }
    }
    match store.check() {
        Ok(()) if is_on_read_only_disk(&path) => Vec::new(),
        Ok(()) => open_ledger(place),
        Err(findings) => findings,
    }
}

fn without_ledger(place: StorePlace<'_>, absent: &chela_ledger::VerifyReport) -> StoreFinding {
    // The first says that it is gone, the others what is known of it.
    let known: Vec<&str> = absent
        .damage
        .iter()
        .skip(1)
        .map(|damage| damage.words.as_str())
        .collect();
    let what = format!(
        "is empty or gone although there was one: {}",
        known.join("; ")
    );
    place.finding(
        StoreTrouble::HeadWithoutLedger,
        &what,
        "restore it from a copy. To start a new one, move ledger.head beside it away too",
    )
}

fn open_ledger(place: StorePlace<'_>) -> Vec<StoreFinding> {
    let looked = match Ledger::open_existing(place.host) {
        Ok(Some(ledger)) => block_on(ledger.check_head()),
        Ok(None) => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    match looked {
        Ok(damage) => damage
            .into_iter()
            .map(|damage| {
                place.finding(
                    StoreTrouble::HeadMismatch,
                    &format!("does not match ledger.head beside it: {}", damage.words),
                    "`chela audit verify` shows which; if you have copies, restore both from the \
                     same time, otherwise move both aside to start over",
                )
            })
            .collect(),
        Err(LedgerError::Store(error)) => vec![refused(place, &error)],
        Err(error) => vec![place.finding(
            StoreTrouble::Unusable,
            &format!("cannot be used: {error}"),
            "restore a copy, or move it and ledger.head aside to start a new one",
        )],
    }
}

/// One file with what belongs to it.
struct OneStore<'a> {
    place: StorePlace<'a>,
    beside: Vec<PathBuf>,
    had_been: bool,
    /// What to do when it is damaged.
    rescue: String,
}

impl OneStore<'_> {
    /// `Ok` when it is sound, or not there and never was.
    fn check(&self) -> Result<(), Vec<StoreFinding>> {
        let place = self.place;
        let file = match std::fs::metadata(place.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return self.absent(),
            Err(error) => {
                let what = format!("cannot be checked: {error}");
                let next = "check the owner and permissions of its folder";
                return Err(vec![place.finding(StoreTrouble::WrongRights, &what, next)]);
            }
        };
        if file.is_dir() {
            return Err(vec![place.folder_in_place()]);
        }
        let barred = self.check_rights(&file);
        if !barred.is_empty() {
            return Err(barred);
        }
        if !file.is_file() {
            return Err(vec![self.not_a_database()]);
        }
        if file.len() == 0 {
            return self.empty();
        }
        match examine(place.path, place.kind.name()) {
            Ok(FileExamination::Sound) => Ok(()),
            Ok(FileExamination::NotADatabase) => Err(vec![self.garbage()]),
            Ok(FileExamination::Damaged(complaints)) => Err(vec![self.damaged(&complaints)]),
            Err(error) => Err(vec![refused(place, &error)]),
        }
    }

    fn absent(&self) -> Result<(), Vec<StoreFinding>> {
        // A link that leads nowhere was made by somebody who had a file.
        let linked = self.place.path.symlink_metadata().is_ok();
        if (!self.had_been && !linked) || self.place.kind == StoreKind::MemoryIndex {
            return Ok(());
        }
        let next = "if you have a copy, stop Chela and restore it; otherwise a new one is \
                    started with the next conversation";
        let what = "is gone although there was one";
        Err(vec![self.place.finding(StoreTrouble::Gone, what, next)])
    }

    fn empty(&self) -> Result<(), Vec<StoreFinding>> {
        if self.place.kind == StoreKind::MemoryIndex {
            return Ok(());
        }
        let what = match self.had_been {
            true => "is empty, but it had content before",
            false => "is empty: creating it was interrupted, or its content was lost",
        };
        let next = "if you have a copy, stop Chela and restore it; otherwise delete the empty \
                    file, and a new one is started";
        let mut finding = self.place.finding(StoreTrouble::Empty, what, next);
        if !self.had_been {
            finding.severity = Severity::Warning;
        }
        Err(vec![finding])
    }

    fn not_a_database(&self) -> StoreFinding {
        self.place.finding(
            StoreTrouble::NotADatabase,
            "is not a database",
            "if you have a copy, stop Chela and restore it; otherwise move the file away, and a \
             new one is started",
        )
    }

    /// A file, but of something else. What is left of conversations can be looked for in it.
    fn garbage(&self) -> StoreFinding {
        let finding = self.not_a_database();
        match self.place.kind {
            StoreKind::Sessions => StoreFinding {
                next: format!("if you have a copy, restore it; otherwise {}", self.rescue),
                ..finding
            },
            _ => finding,
        }
    }

    fn damaged(&self, complaints: &[String]) -> StoreFinding {
        // Some are many lines long.
        let first = complaints.first().map_or("", |complaint| {
            complaint.lines().next_back().unwrap_or_default()
        });
        let more = match complaints.len() {
            0 | 1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let what = format!("is damaged: {first}{more}");
        self.place
            .finding(StoreTrouble::Damaged, &what, self.rescue.clone())
    }

    /// The rights of the file and of everything beside it.
    fn check_rights(&self, file: &Metadata) -> Vec<StoreFinding> {
        let place = self.place;
        let mut findings = Vec::new();
        if let Some(trouble) = RightsTrouble::of(place.path, file) {
            let next = trouble.next(&place.host.compact(place.path));
            let mut finding = place.finding(StoreTrouble::WrongRights, &trouble.words(), next);
            finding.mode = trouble.mended();
            findings.push(finding);
        }
        for side in &self.beside {
            findings.extend(check_beside(place, side));
        }
        findings
    }
}

fn check_beside(place: StorePlace<'_>, side: &Path) -> Option<StoreFinding> {
    let found = std::fs::metadata(side).ok()?;
    let shown = place.host.compact(side);
    let (words, next, mode) = match RightsTrouble::of(side, &found) {
        _ if found.is_dir() => {
            let words = "is a folder, not a file".to_owned();
            (words, "move that folder away".to_owned(), None)
        }
        _ if !found.is_file() => {
            let words = "is not a regular file".to_owned();
            (words, "move it away".to_owned(), None)
        }
        Some(trouble) => (trouble.words(), trouble.next(&shown), trouble.mended()),
        None => return None,
    };
    let what = format!("cannot be used because of a file beside it: {shown} {words}");
    Some(StoreFinding {
        path: side.to_owned(),
        mode,
        ..place.finding(StoreTrouble::SideFile, &what, next)
    })
}

/// What an agent is told that opens it.
fn refused(place: StorePlace<'_>, error: &StoreError) -> StoreFinding {
    let unusable = |next: &str| {
        // The error names the file itself.
        StoreFinding {
            message: error.to_string(),
            ..place.finding(StoreTrouble::Unusable, "", next)
        }
    };
    match error {
        StoreError::Newer { found, known, .. } => {
            let what =
                format!("was written by a newer Chela (format {found}, this one knows {known})");
            place.finding(StoreTrouble::NewerFormat, &what, "update Chela to use it")
        }
        StoreError::Damaged { what, next, .. } => {
            place.finding(StoreTrouble::Damaged, &format!("is damaged: {what}"), *next)
        }
        StoreError::Busy { .. } => StoreFinding {
            severity: Severity::Note,
            ..place.finding(
                StoreTrouble::Busy,
                "is being written by another process",
                "try again in a moment",
            )
        },
        StoreError::DiskFull { .. } => StoreFinding {
            message: error.to_string(),
            ..place.finding(StoreTrouble::DiskFull, "", "free some space on that disk")
        },
        StoreError::ReadOnlyDisk { .. } => {
            unusable("remount the disk so that it can be written, or copy the home to another one")
        }
        StoreError::ReadOnly { .. } | StoreError::SideFile { .. } => unusable(
            "check the owner and permissions of the file, its folder and the files beside it",
        ),
        _ => unusable("check the owner and permissions of the file and its folder"),
    }
}

/// What SQLite keeps beside a file.
fn sides(path: &Path) -> Vec<PathBuf> {
    ["-wal", "-shm"].map(|suffix| side(path, suffix)).into()
}

fn side(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Entries that wait for their file: it had been there.
fn has_waiting_entries(path: &Path) -> bool {
    std::fs::metadata(side(path, "-wal")).is_ok_and(|waiting| waiting.len() > 0)
}
