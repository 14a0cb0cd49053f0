//! Seals: a hash over named values in a form that reads one way only.

use std::ops::Range;

use chela_core::ContentHash;
use rusqlite::Row;
use rusqlite::types::ValueRef;

/// Collects values, each with its length before it: no two lists of values give the same bytes.
#[derive(Debug, Default)]
pub struct Seal(Vec<u8>);

impl Seal {
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
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
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
pub fn of_row(purpose: &str, row: &Row<'_>, columns: Range<usize>) -> rusqlite::Result<Seal> {
    Seal::new(purpose).columns(row, columns)
}

impl Seal {
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
