//! Everything somebody said, and everything that names them.

use chela_core::{Audience, Trust};

use crate::day::CalendarDay;
use crate::memory::Memory;
use crate::search::trust_named;
use crate::store::StoreError;
use crate::words::folded;

/// What memory has of a person, or of anything with a name. In the order of its days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedView {
    pub said: Vec<NamedEntry>,
    pub told: Vec<NamedEntry>,
}

/// An entry, with where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedEntry {
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub heading: String,
    pub date: Option<CalendarDay>,
    pub text: String,
    pub trust: Trust,
}

impl NamedEntry {
    /// `memory/2026-03-04.md#L10-L14`.
    pub fn citation(&self) -> String {
        match self.start_line == self.end_line {
            true => format!("{}#L{}", self.label, self.start_line),
            false => format!("{}#L{}-L{}", self.label, self.start_line, self.end_line),
        }
    }
}

/// Entries without a day, those of files that are kept up, come first.
const IN_ORDER: &str = "SELECT f.label, f.trust, f.audience, c.start_line, c.end_line, c.heading, c.date, \
     c.speaker, c.text FROM chunks c JOIN files f ON f.id = c.file \
     ORDER BY c.date IS NOT NULL, c.date, f.label, c.start_line";

impl Memory<'_> {
    /// Gathers what is said by and about a name: as a word or words in a row, in the text, as a
    /// `[[link]]` or a `#tag`, in the headings above it, or as the name of the file.
    pub fn about(&self, name: &str, audience: Audience) -> Result<NamedView, StoreError> {
        let wanted = words(name);
        let read = || -> rusqlite::Result<NamedView> {
            let mut view = NamedView::default();
            let mut statement = self.store().connection().prepare(IN_ORDER)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let of_file = match row.get::<_, String>(2)?.as_str() {
                    "shared" => Audience::Shared,
                    _ => Audience::Private,
                };
                if !of_file.may_reach(audience) {
                    continue;
                }
                let entry = NamedEntry {
                    label: row.get(0)?,
                    trust: trust_named(&row.get::<_, String>(1)?),
                    start_line: row.get(3)?,
                    end_line: row.get(4)?,
                    heading: row.get(5)?,
                    date: row.get::<_, Option<i32>>(6)?.map(CalendarDay),
                    text: row.get(8)?,
                };
                let speaker: String = row.get(7)?;
                if names(&speaker, &wanted) {
                    view.said.push(entry);
                } else if [&entry.text, &entry.heading, &entry.label]
                    .iter()
                    .any(|text| names(text, &wanted))
                {
                    view.told.push(entry);
                }
            }
            Ok(view)
        };
        match wanted.is_empty() {
            true => Ok(NamedView::default()),
            false => read().map_err(|error| self.store().explain(error)),
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect()
}

fn names(text: &str, wanted: &[String]) -> bool {
    words(text).windows(wanted.len()).any(|here| here == wanted)
}

#[cfg(test)]
mod tests {
    use chela_core::Audience;

    use crate::tests_support::MemoryHome;

    #[test]
    fn what_is_said_by_and_about_somebody_is_gathered() {
        let talk = "- Paola: I was in Lisbon\n- Ann: nice\n- Paola: and in Porto\n- Ann: ah\n\
            - Paola: yes\n- Ann: bye\n";
        let home = MemoryHome::new(&[
            (
                "MEMORY.md",
                "# People\n- Paola lives in Faro\n- Paolo lives in Rome\n",
            ),
            ("memory/2026-03-04.md", talk),
            ("memory/2026-02-01.md", "- met [[Paola]] at the sea\n"),
        ]);
        let memory = home.synced();
        let view = memory.about("paola", Audience::Private).unwrap();
        let cited = |entries: &[super::NamedEntry]| {
            entries
                .iter()
                .map(super::NamedEntry::citation)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            cited(&view.said),
            [
                "memory/2026-03-04.md#L1",
                "memory/2026-03-04.md#L3",
                "memory/2026-03-04.md#L5"
            ]
        );
        assert_eq!(
            cited(&view.told),
            ["MEMORY.md#L2", "memory/2026-02-01.md#L1"]
        );
        assert!(
            memory
                .about("paola", Audience::Shared)
                .unwrap()
                .told
                .is_empty()
        );
        assert_eq!(
            memory.about("!", Audience::Private).unwrap(),
            super::NamedView::default()
        );
    }
}
