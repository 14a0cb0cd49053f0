//! Keeping the number of segments small.

use std::collections::HashMap;

use rusqlite::{Connection, TransactionBehavior, params};

use crate::segment::{IndexSegment, SegmentBuilder};
use crate::store::{IndexStore, StoreError, touch};
use crate::vector::VectorMatrix;

/// So many segments of about one size become one.
const FAN: usize = 8;
/// A segment of this size is never merged into a larger one: merging stays within memory.
const LARGEST: usize = 1 << 17;
/// Segments below this size are all alike.
const SMALLEST: usize = 256;

/// Merges what has become too many or too empty. Cheap when there is nothing to do.
pub fn tidy(store: &mut IndexStore) -> Result<(), StoreError> {
    loop {
        let chosen = choose(store.connection()).map_err(|error| store.explain(error))?;
        if chosen.is_empty() {
            return Ok(());
        }
        merge(store, &chosen).map_err(|error| store.explain(error))?;
    }
}

fn choose(connection: &Connection) -> rusqlite::Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id, s.docs, coalesce((SELECT sum(chunks) FROM files WHERE segment = s.id), 0) \
         FROM segments s ORDER BY s.id",
    )?;
    let rows: Vec<(i64, usize, usize)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    // Half dead is worth writing again, alone.
    if let Some((id, ..)) = rows.iter().find(|(_, docs, live)| live * 2 < *docs) {
        return Ok(vec![*id]);
    }
    let mut tiers: HashMap<u32, Vec<i64>> = HashMap::new();
    for (id, _, live) in rows.iter().filter(|(_, _, live)| *live <= LARGEST / FAN) {
        let tier = ((*live).max(SMALLEST) / SMALLEST).ilog2() / FAN.ilog2();
        tiers.entry(tier).or_default().push(*id);
    }
    Ok(tiers
        .into_values()
        .find(|ids| ids.len() >= FAN)
        .unwrap_or_default())
}

fn merge(store: &mut IndexStore, ids: &[i64]) -> rusqlite::Result<()> {
    let transaction = store
        .connection_mut()
        .transaction_with_behavior(TransactionBehavior::Immediate)?;
    let target: i64 =
        transaction.query_row("SELECT max(id) + 1 FROM segments", [], |row| row.get(0))?;
    let mut builder = SegmentBuilder::default();
    let mut models: HashMap<String, VectorMatrix> = shared_models(&transaction, ids)?;
    for id in ids {
        let data: Vec<u8> =
            transaction.query_row("SELECT data FROM segments WHERE id = ?1", [id], |row| {
                row.get(0)
            })?;
        let current: HashMap<i64, ()> = transaction
            .prepare_cached("SELECT id FROM files WHERE segment = ?1")?
            .query_map([id], |row| Ok((row.get(0)?, ())))?
            .collect::<rusqlite::Result<_>>()?;
        let Some(segment) = IndexSegment::from_bytes(&data) else {
            // Unreadable: its files are forgotten here and indexed again by the next sync.
            transaction.execute("DELETE FROM files WHERE segment = ?1", [id])?;
            continue;
        };
        let live = |doc: usize| {
            let doc = segment.docs.get(doc);
            doc.is_some_and(|doc| current.contains_key(&doc.file))
        };
        for (model, matrix) in &mut models {
            let data: Vec<u8> = transaction.query_row(
                "SELECT data FROM vectors WHERE segment = ?1 AND model = ?2",
                params![id, model],
                |row| row.get(0),
            )?;
            let rows = VectorMatrix::from_bytes(data, segment.docs.len());
            for doc in (0..segment.docs.len()).filter(|doc| live(*doc)) {
                match &rows {
                    Some(rows) => {
                        if matrix.rows() == 0 && matrix.dimensions == 0 {
                            *matrix = VectorMatrix::new(rows.dimensions);
                        }
                        if rows.dimensions == matrix.dimensions {
                            matrix.push_row(rows, doc);
                            continue;
                        }
                        matrix.push(&crate::vector::QuantisedVector {
                            scale: 0.0,
                            values: Vec::new(),
                        });
                    }
                    None => matrix.push(&crate::vector::QuantisedVector {
                        scale: 0.0,
                        values: Vec::new(),
                    }),
                }
            }
        }
        builder.append(&segment, live);
        transaction.execute(
            "UPDATE files SET segment = ?1 WHERE segment = ?2",
            params![target, id],
        )?;
        transaction.execute("DELETE FROM segments WHERE id = ?1", [id])?;
        transaction.execute("DELETE FROM vectors WHERE segment = ?1", [id])?;
    }
    if builder.docs() > 0 {
        let built = builder.finish();
        transaction.execute(
            "INSERT INTO segments (id, docs, data) VALUES (?1, ?2, ?3)",
            params![target, built.docs.len(), built.to_bytes()],
        )?;
        for (model, matrix) in &models {
            transaction.execute(
                "INSERT INTO vectors (segment, model, data) VALUES (?1, ?2, ?3)",
                params![target, model, matrix.to_bytes()],
            )?;
        }
    }
    touch(&transaction)?;
    transaction.commit()
}

/// The models under which all of these segments have vectors; others are made again.
fn shared_models(
    connection: &Connection,
    ids: &[i64],
) -> rusqlite::Result<HashMap<String, VectorMatrix>> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut statement =
        connection.prepare_cached("SELECT model FROM vectors WHERE segment = ?1")?;
    for id in ids {
        for model in statement.query_map([id], |row| row.get::<_, String>(0))? {
            *counts.entry(model?).or_default() += 1;
        }
    }
    Ok(counts
        .into_iter()
        .filter(|(_, count)| *count == ids.len())
        .map(|(model, _)| (model, VectorMatrix::new(0)))
        .collect())
}
