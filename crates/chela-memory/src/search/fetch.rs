//! The texts of what was ranked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chela_core::{Audience, Trust};
use rusqlite::Connection;

use super::{RankedChunk, SearchHit, SearchRequest};
use crate::day::CalendarDay;
use crate::settings::QueryMode;

/// Reads the texts of what was found.
pub fn hits(
    connection: &Connection,
    ranked: &[RankedChunk],
    request: &SearchRequest<'_>,
) -> rusqlite::Result<Vec<SearchHit>> {
    let mut chunks = connection.prepare_cached(
        "SELECT start_line, end_line, heading, date, text, body_at, speaker FROM chunks WHERE id = ?1",
    )?;
    let mut files =
        connection.prepare_cached("SELECT label, trust, audience FROM files WHERE id = ?1")?;
    let mut names: HashMap<i64, (String, Trust, Audience)> = HashMap::new();
    let best = ranked.first().map_or(1.0, |best| best.score).max(1e-6);
    let mut hits = Vec::with_capacity(ranked.len());
    for one in ranked {
        let Some(row) = chunks.query([one.chunk])?.next()?.map(|row| {
            Ok::<_, rusqlite::Error>((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get::<_, Option<i32>>(3)?,
                row.get(4)?,
                row.get::<_, u32>(5)?,
                row.get(6)?,
            ))
        }) else {
            continue;
        };
        let (start_line, end_line, heading, date, text, body_at, said_by) = row?;
        let (label, trust, audience) = match names.entry(one.file) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => new.insert(file(&mut files, one.file)?).clone(),
        };
        if !audience.may_reach(request.audience) {
            continue;
        }
        let score = match request.settings.mode {
            QueryMode::Compat => one.score,
            _ => (one.score / best).clamp(0.0, 1.0),
        };
        hits.push(SearchHit {
            chunk: one.chunk,
            label,
            start_line,
            end_line,
            heading,
            date: date.map(CalendarDay),
            text,
            body_at: body_at as usize,
            said_by,
            trust,
            audience,
            replaced_by: None,
            score,
            explain: one.explain,
            slot: one.slot,
        });
    }
    Ok(hits)
}

fn file(
    statement: &mut rusqlite::CachedStatement<'_>,
    id: i64,
) -> rusqlite::Result<(String, Trust, Audience)> {
    statement.query_row([id], |row| {
        let audience = match row.get::<_, String>(2)?.as_str() {
            "shared" => Audience::Shared,
            _ => Audience::Private,
        };
        Ok((
            row.get(0)?,
            trust_named(&row.get::<_, String>(1)?),
            audience,
        ))
    })
}

/// A trust as the index writes it; what cannot be read is foreign.
pub fn trust_named(name: &str) -> Trust {
    [Trust::Operator, Trust::Owner, Trust::Agent, Trust::Plugin]
        .into_iter()
        .find(|trust| trust.as_str() == name)
        .unwrap_or(Trust::External)
}
