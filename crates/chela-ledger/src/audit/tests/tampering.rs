//! A file that somebody wrote into, bit by bit and column by column.

use chela_store::WaitHere as _;
use proptest::prelude::*;
use serde_json::json;

use super::{AuditKind, other_chain, written};
use crate::Ledger;

/// Everything that can be read of a ledger, or why not.
fn dump(path: &std::path::Path) -> Result<Vec<String>, rusqlite::Error> {
    let file = rusqlite::Connection::open(path)?;
    let mut lines = Vec::new();
    for table in ["blobs", "records", "sessions", "audit", "calls"] {
        let mut statement = file.prepare(&format!("SELECT * FROM {table} ORDER BY 1"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut line = table.to_owned();
            for column in 0..columns {
                line.push_str(&format!(" {:?}", row.get_ref(column)?));
            }
            lines.push(line);
        }
    }
    Ok(lines)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A flipped bit is found, or it lies where nothing is kept: every row reads as before.
    #[test]
    fn no_bit_can_be_flipped_unseen(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        thread_local! {
            static WHOLE: (Vec<u8>, Vec<u8>, Vec<String>) = {
                let desk = written();
                desk.sql().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
                let path = desk.ledger.path();
                let head = std::fs::read(path.with_extension("head")).unwrap();
                (std::fs::read(path).unwrap(), head, dump(path).unwrap())
            };
        }
        let home = tempfile::tempdir().unwrap();
        let host = chela_core::Host::fixed(home.path());
        let path = crate::ledger_file(&host);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let before = WHOLE.with(|(bytes, head, rows)| {
            let mut bytes = bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, bytes).unwrap();
            std::fs::write(path.with_extension("head"), head).unwrap();
            rows.clone()
        });
        let verdict = Ledger::open(&host).and_then(|ledger| ledger.verify().wait());
        let seen = !verdict.is_ok_and(|verdict| verdict.is_sound());
        prop_assert!(seen || dump(&path).ok() == Some(before));
    }
}

#[test]
fn no_bit_of_the_newest_hash_can_be_flipped_unseen() {
    let desk = written();
    let head = desk.ledger.path().with_extension("head");
    let whole = std::fs::read(&head).unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            std::fs::write(&head, &bytes).unwrap();
            let verdict = desk.ledger.verify().wait().unwrap();
            assert!(!verdict.is_sound(), "bit {bit} of byte {at}");
        }
    }
    std::fs::write(&head, &whole).unwrap();
    assert!(desk.ledger.verify().wait().unwrap().is_sound());
}

#[test]
fn every_column_of_every_row_is_watched() {
    let desk = written();
    let other = other_chain(&desk);
    other.append(AuditKind::Spawn, &json!({})).wait().unwrap();
    let tables = ["blobs", "records", "sessions", "audit", "chains", "calls"];
    for table in tables {
        let names: Vec<String> = desk
            .sql()
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for column in names {
            // The number of a session is only what binds its rows together.
            if (table, column.as_str()) == ("records", "session") {
                continue;
            }
            let sql = desk.sql();
            sql.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
            let edit = format!(
                "UPDATE {table} SET {column} = CASE typeof({column}) \
                 WHEN 'integer' THEN {column} + 1 WHEN 'null' THEN 1 \
                 WHEN 'text' THEN {column} || ' ' ELSE {column} || x'00' END \
                 WHERE rowid = (SELECT max(rowid) FROM {table})"
            );
            let before = desk.ledger.path().with_extension("copy");
            sql.execute(&format!("VACUUM INTO '{}'", before.display()), [])
                .unwrap();
            let changed = sql.execute(&edit, []).unwrap();
            assert_eq!(changed, 1, "{table}.{column}");
            let verdict = desk.ledger.verify().wait();
            let seen = !verdict.is_ok_and(|verdict| verdict.is_sound());
            assert!(seen, "{table}.{column} was changed unseen");
            undo(&sql, table, &before);
            std::fs::remove_file(&before).unwrap();
            assert!(desk.ledger.verify().wait().unwrap().is_sound());
        }
    }
}

/// Puts the rows of a table back.
fn undo(sql: &rusqlite::Connection, table: &str, copy: &std::path::Path) {
    sql.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF; ATTACH '{}' AS copy; DELETE FROM main.{table}; \
         INSERT INTO main.{table} SELECT * FROM copy.{table}; DETACH copy;",
        copy.display()
    ))
    .unwrap();
}
