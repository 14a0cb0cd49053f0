use std::ops::ControlFlow;

use chela_core::Trust;

use super::{SyncDepth, SyncOutcome, indexed_files};
use crate::chunk::ChunkCut;
use crate::memory::Memory;
use crate::source::TrustCeiling;
use crate::tests_support::{MemoryHome, ask, found, sync};

/// Everything a search could see, in order.
fn content(memory: &Memory<'_>) -> Vec<(String, u32, String)> {
    let mut statement = memory
        .store()
        .connection()
        .prepare("SELECT f.label, c.start_line, c.text FROM chunks c JOIN files f ON f.id = c.file ORDER BY 1, 2, 3")
        .unwrap();
    statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

#[test]
fn only_what_changed_is_indexed_again() {
    let home = MemoryHome::new(&[
        ("MEMORY.md", "- tea\n"),
        ("memory/a.md", "- cat\n"),
        ("memory/b.md", "- dog\n"),
    ]);
    let mut memory = home.memory();
    let first = sync(&mut memory);
    assert_eq!(
        (first.added, first.chunks, first.outcome),
        (3, 3, SyncOutcome::Complete)
    );
    home.write("memory/a.md", "- lion\n- tiger\n");
    std::fs::remove_file(home.workspace().join("memory/b.md")).unwrap();
    let second = sync(&mut memory);
    assert_eq!(
        (
            second.added,
            second.changed,
            second.removed,
            second.unchanged
        ),
        (0, 1, 1, 1)
    );
    let best = memory.search(&ask("tiger")).unwrap().answer.hits[0].clone();
    assert_eq!((best.label.as_str(), best.start_line), ("memory/a.md", 2));
    assert!(
        !found(&mut memory, "dog")
            .iter()
            .any(|place| place.contains("b.md"))
    );
    assert_eq!(sync(&mut memory).unchanged, 2);
}

#[test]
fn a_file_that_lost_its_trust_is_shown_with_what_is_left() {
    let home = MemoryHome::new(&[("memory/a.md", "- cat\n"), ("memory/b.md", "- dog\n")]);
    let trust = |memory: &mut Memory<'_>, name: &str| {
        let found = memory.search(&ask("cat or dog")).unwrap();
        let one = found.excerpts.iter().find(|one| one.label == name);
        one.map(|one| one.trust)
    };
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["memory/a.md", "memory/b.md"] {
        let file = std::fs::File::options()
            .write(true)
            .open(home.workspace().join(name))
            .unwrap();
        // Far from the moment of indexing, so the quick look trusts it.
        file.set_modified(old).unwrap();
    }
    let mut memory = home.memory();
    sync(&mut memory);
    assert_eq!(trust(&mut memory, "memory/a.md"), Some(Trust::Agent));
    drop(memory);
    let ceiling = TrustCeiling::new(|path, _| match path.ends_with("a.md") {
        true => Trust::External,
        false => Trust::Operator,
    });
    let mut memory = home.memory_below(ceiling);
    let report = sync(&mut memory);
    assert_eq!((report.changed, report.unchanged), (0, 2));
    assert_eq!(trust(&mut memory, "memory/a.md"), Some(Trust::External));
    assert_eq!(trust(&mut memory, "memory/b.md"), Some(Trust::Agent));
    drop(memory);
    let mut memory = home.memory();
    sync(&mut memory);
    assert_eq!(trust(&mut memory, "memory/a.md"), Some(Trust::Agent));
}

#[test]
fn a_file_system_that_lies_about_times_is_found_out() {
    let home = MemoryHome::new(&[("memory/a.md", "- cat\n")]);
    let path = home.workspace().join("memory/a.md");
    // Far from the moment of indexing, so the quick look trusts it.
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let set_time = || {
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(old)
            .unwrap()
    };
    set_time();
    let mut memory = home.memory();
    sync(&mut memory);
    home.write("memory/a.md", "- dog\n");
    set_time();
    assert_eq!(sync(&mut memory).changed, 0);
    let report = memory
        .sync(SyncDepth::Verify, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!(report.changed, 1);
    assert_eq!(found(&mut memory, "dog"), ["memory/a.md#L1"]);
}

#[test]
fn another_way_of_cutting_replaces_files_one_by_one() {
    let mut home = MemoryHome::new(&[
        ("memory/a.md", "- cat\n- dog\n"),
        ("memory/b.md", "- tea\n"),
    ]);
    assert_eq!(content(&home.synced()).len(), 3);
    home.settings.cut = ChunkCut::Fixed {
        tokens: 400,
        overlap: 80,
    };
    let mut memory = home.memory();
    let mut steps = 0;
    let report = memory
        .sync(SyncDepth::Quick, &mut |_| {
            steps += 1;
            if steps > 1 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    // Stopped half way: one file is in its new form, the other in its old one; both answer.
    assert_eq!((report.outcome, report.changed), (SyncOutcome::Stopped, 1));
    assert_eq!(found(&mut memory, "tea")[0], "memory/b.md#L1");
    assert_eq!(found(&mut memory, "dog")[0], "memory/a.md#L1-L2");
    sync(&mut memory);
    assert_eq!(content(&memory).len(), 2);
}

#[test]
fn many_small_syncs_stay_few_segments_and_find_everything() {
    let home = MemoryHome::new(&[]);
    let mut memory = home.memory();
    for number in 0..40 {
        home.write(
            &format!("memory/{number}.md"),
            &format!("- entry word{number}x\n- common thing\n"),
        );
        sync(&mut memory);
    }
    for number in (0..40).step_by(3) {
        home.write(
            &format!("memory/{number}.md"),
            &format!("- changed word{number}y\n"),
        );
    }
    sync(&mut memory);
    let segments = memory.status().unwrap().segments;
    assert!(segments <= 16, "{segments}");
    for number in 0..40 {
        let letter = if number % 3 == 0 { 'y' } else { 'x' };
        let hits = found(&mut memory, &format!("word{number}{letter}"));
        assert!(
            hits[0].starts_with(&format!("memory/{number}.md#")),
            "{number}: {hits:?}"
        );
    }
    // The same content indexed at once is the same.
    let grown = content(&memory);
    drop(memory);
    std::fs::remove_file(home.index_file()).unwrap();
    assert_eq!(grown, content(&home.synced()));
}

#[test]
fn a_drive_that_is_away_is_not_forgotten() {
    let home = MemoryHome::new(&[("MEMORY.md", "- tea\n")]);
    let mut memory = home.synced();
    std::fs::rename(home.workspace(), home.folder.path().join("away")).unwrap();
    let report = sync(&mut memory);
    assert_eq!(report.removed, 0);
    assert!(
        report.problems[0].contains("stays searchable"),
        "{:?}",
        report.problems
    );
    assert_eq!(found(&mut memory, "tea"), ["MEMORY.md#L1"]);
}

#[test]
fn a_second_indexer_steps_back() {
    let home = MemoryHome::new(&[("memory/a.md", "- cat\n"), ("memory/b.md", "- dog\n")]);
    let (mut one, mut two) = (home.memory(), home.memory());
    let mut inner = None;
    one.sync(SyncDepth::Quick, &mut |_| {
        inner.get_or_insert_with(|| sync(&mut two).outcome);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(inner, Some(SyncOutcome::Busy));
    assert_eq!(indexed_files(two.store()).unwrap().len(), 2);
}

#[test]
fn a_full_disk_keeps_the_last_state() {
    let home = MemoryHome::new(&[("MEMORY.md", "- tea\n")]);
    let mut memory = home.synced();
    let pages: i64 = memory
        .store()
        .connection()
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    memory
        .store()
        .connection()
        .pragma_update(None, "max_page_count", pages + 2)
        .unwrap();
    let big: String = (0..5000)
        .map(|i| format!("- a note about number {i}\n"))
        .collect();
    home.write("memory/big.md", &big);
    let error = memory
        .sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert!(
        matches!(error, crate::store::StoreError::DiskFull { .. }),
        "{error}"
    );
    assert_eq!(found(&mut memory, "tea"), ["MEMORY.md#L1"]);
    // Room again: the next sync goes on.
    memory
        .store()
        .connection()
        .pragma_update(None, "max_page_count", 1_000_000)
        .unwrap();
    assert_eq!(sync(&mut memory).added, 1);
}

#[test]
fn damage_met_while_searching_is_repaired() {
    let home = MemoryHome::new(&[("MEMORY.md", &"- a note about tea and cats\n".repeat(300))]);
    drop(home.synced());
    let mut bytes = std::fs::read(home.index_file()).unwrap();
    let length = bytes.len();
    // The header stays; pages behind it are noise.
    for byte in &mut bytes[4096..length] {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    std::fs::write(home.index_file(), bytes).unwrap();
    let mut memory = home.memory();
    assert!(
        found(&mut memory, "tea")
            .first()
            .is_some_and(|place| place.starts_with("MEMORY.md"))
    );
    assert!(
        memory
            .notices()
            .iter()
            .any(|notice| notice.to_string().contains("rebuilt"))
    );
}

#[test]
fn text_that_is_not_unicode_is_indexed_as_far_as_it_goes() {
    let home = MemoryHome::new(&[]);
    std::fs::create_dir_all(home.workspace().join("memory")).unwrap();
    std::fs::write(home.workspace().join("memory/x.md"), b"- caf\xe9 and tea\n").unwrap();
    assert_eq!(found(&mut home.synced(), "tea"), ["memory/x.md#L1"]);
}
