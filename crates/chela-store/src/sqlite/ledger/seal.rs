//! Seals: a hash over named values in a form that reads one way only.

use std::ops::Range;

use chela_core::ContentHash;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// Collects values, each with its length before it: no two lists of values give the same bytes.
#[derive(Debug, Default)]
pub(super) struct SealBuilder(Vec<u8>);

impl SealBuilder {
    pub fn new(purpose: &str) -> Self {
        Self::default().bytes(purpose.as_bytes())
    }

    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend((bytes.len() as u64).to_be_bytes());
        self.0.extend(bytes);
        self
    }

    #[must_use]
    pub fn number(self, number: u64) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    pub fn hash(self) -> ContentHash {
        ContentHash::of(self.0)
    }

    /// The first bytes of the hash: enough against accidents.
    pub fn short(self) -> i64 {
        let hash = self.hash();
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        i64::from_be_bytes(first)
    }
}

/// A seal over columns of a row, whatever their types.
pub(super) fn of_row(
    purpose: &str,
    row: &Row<'_>,
    columns: Range<usize>,
) -> rusqlite::Result<SealBuilder> {
    SealBuilder::new(purpose).columns(row, columns)
}

impl SealBuilder {
    pub fn columns(mut self, row: &Row<'_>, columns: Range<usize>) -> rusqlite::Result<Self> {
        for column in columns {
            self = match row.get_ref(column)? {
                ValueRef::Null => self.number(0),
                ValueRef::Integer(number) => self.number(1).bytes(&number.to_be_bytes()),
                ValueRef::Real(number) => self.number(2).bytes(&number.to_be_bytes()),
                ValueRef::Text(text) => self.number(3).bytes(text),
                ValueRef::Blob(bytes) => self.number(4).bytes(bytes),
            };
        }
        Ok(self)
    }
}

/// The numbers of rows that do not have the seal in their last column any more.
pub(super) fn damaged_rows(
    tx: &Connection,
    purpose: &str,
    query: &str,
    seal: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut statement = tx.prepare(query)?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let own = of_row(purpose, row, 0..seal).map(SealBuilder::short);
        let sound = own.is_ok_and(|own| row.get(seal).is_ok_and(|noted: i64| noted == own));
        if !sound {
            damaged.push(row.get(0)?);
        }
    }
    Ok(damaged)
}
