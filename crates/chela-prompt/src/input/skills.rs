//! The listing of skills, and where each entry lies in it.

use std::ops::Range;
use std::sync::Arc;

use chela_core::{Origin, Trust};

use crate::{CleanText, SpanOrigin};

/// The listing as the model reads it. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillsListing {
    text: CleanText,
    origin: SpanOrigin,
    trust: Trust,
    entries: Vec<SkillEntry>,
}

/// One skill of the listing: a line among `<skills>`, or a `<skill>` of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    pub name: Arc<str>,
    /// Bytes of the listing.
    pub range: Range<usize>,
    /// The line that opens the group it stands in.
    group: Option<Range<usize>>,
    pub origin: SpanOrigin,
    pub trust: Trust,
}

impl SkillsListing {
    /// Reads a listing; `None` when it is blank. The entries take the listing's source until [`label`](Self::label) gives them their own.
    pub fn new(listing: &str, origin: Origin, trust: Trust) -> Option<Self> {
        let text = CleanText::new(listing);
        if text.is_empty() {
            return None;
        }
        let origin = SpanOrigin::from(origin);
        let lines = lines_in(text.as_str()).map(|(name, range, group)| (name, range, Some(group)));
        let elements = elements_in(text.as_str()).map(|(name, range)| (name, range, None));
        let entries = lines
            .chain(elements)
            .map(|(name, range, group)| SkillEntry {
                name,
                range,
                group,
                origin: origin.clone(),
                trust,
            })
            .collect();
        Some(Self {
            text,
            origin,
            trust,
            entries,
        })
    }

    /// Gives each entry the source that `source_of` knows for its name.
    #[must_use]
    pub fn label(mut self, mut source_of: impl FnMut(&str) -> Option<(Origin, Trust)>) -> Self {
        for entry in &mut self.entries {
            if let Some((origin, trust)) = source_of(&entry.name) {
                entry.origin = SpanOrigin::from(origin);
                entry.trust = trust;
            }
        }
        self
    }

    /// The listing with one of its entries alone; `None` when it has none of that name.
    pub fn only(&self, name: &str) -> Option<Self> {
        let (first, last) = (self.entries.first()?, self.entries.last()?);
        let wanted = self.entries.iter().find(|entry| &*entry.name == name)?;
        let text = self.text();
        let inner = text.get(wanted.range.clone())?;
        let parts = match &wanted.group {
            Some(group) => [OPEN, text.get(group.clone())?, inner, GROUP_CLOSE, CLOSE],
            None => [
                text.get(..first.range.start)?,
                inner,
                text.get(last.range.end..)?,
                "",
                "",
            ],
        };
        let alone = Self::new(&parts.concat(), (*self.origin).clone(), self.trust)?;
        Some(alone.label(|_| Some(((*wanted.origin).clone(), wanted.trust))))
    }

    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    pub fn origin(&self) -> &SpanOrigin {
        &self.origin
    }

    /// The lowest trust of the listing and its entries.
    pub fn trust(&self) -> Trust {
        self.entries
            .iter()
            .fold(self.trust, |trust, entry| trust.join(entry.trust))
    }

    pub fn entries(&self) -> &[SkillEntry] {
        &self.entries
    }
}

const OPEN: &str = "<available_skills>\n";
const CLOSE: &str = "</available_skills>";
const GROUP_OPEN: &str = "<skills ";
const GROUP_CLOSE: &str = "</skills>\n";

/// Each described line of a group, `name v123456: what it does`, with its name and the line that
/// opens the group.
fn lines_in(text: &str) -> impl Iterator<Item = (Arc<str>, Range<usize>, Range<usize>)> + '_ {
    let mut at = 0;
    let mut group: Option<Range<usize>> = None;
    text.split_inclusive('\n').filter_map(move |line| {
        let range = at..at + line.len();
        at = range.end;
        if line.starts_with('<') {
            group = line.starts_with(GROUP_OPEN).then_some(range);
            return None;
        }
        let (name, rest) = line.split_once(" v")?;
        let (version, _) = rest.split_once(':')?;
        let is_line = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        let name = chela_core::sanitize::literal(name).trim().into();
        is_line.then(|| group.clone().map(|group| (name, range, group)))?
    })
}

/// Each `<skill>…</skill>` from its line's beginning to its line's end, with its `<name>`.
fn elements_in(text: &str) -> impl Iterator<Item = (Arc<str>, Range<usize>)> + '_ {
    const OPEN: &str = "<skill>";
    const CLOSE: &str = "</skill>";
    let mut at = 0;
    std::iter::from_fn(move || {
        let open = at + text.get(at..)?.find(OPEN)?;
        let close = open + text[open..].find(CLOSE)? + CLOSE.len();
        let indent = text[at..open].len() - text[at..open].trim_end_matches([' ', '\t']).len();
        let end = close + usize::from(text[close..].starts_with('\n'));
        at = end;
        Some((element(&text[open..close], "name"), open - indent..end))
    })
}

fn element(entry: &str, tag: &str) -> Arc<str> {
    let inner = entry
        .split_once(&format!("<{tag}>"))
        .and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")))
        .map_or("", |(inner, _)| inner);
    chela_core::sanitize::literal(inner).trim().into()
}

#[cfg(test)]
mod tests {
    use chela_core::{Origin, Trust};

    use super::SkillsListing;

    #[test]
    fn finds_the_entries_to_the_byte() {
        let listing = "<available_skills>\n  <skill>\n    <name>deploy</name>\n  </skill>\n  \
                       <skill><name> notes </name></skill>\n</available_skills>\n";
        let skills = SkillsListing::new(listing, Origin::Runtime, Trust::Owner).unwrap();
        let seen: Vec<_> = skills
            .entries()
            .iter()
            .map(|entry| (&*entry.name, &skills.text()[entry.range.clone()]))
            .collect();
        assert_eq!(
            seen,
            [
                ("deploy", "  <skill>\n    <name>deploy</name>\n  </skill>\n"),
                ("notes", "  <skill><name> notes </name></skill>\n"),
            ]
        );
    }

    #[test]
    fn the_lines_of_a_group_are_entries() {
        let listing = "<available_skills>\n<skills location=\"~/a/{name}/SKILL.md\">\n\
                       deploy v123456: Says v1: go.\nnotes@x/notes v000001: Keeps notes.\n- alpha beta\n</skills>\n\
                       <more>7 more</more>\n</available_skills>";
        let skills = SkillsListing::new(listing, Origin::Runtime, Trust::Owner).unwrap();
        let names: Vec<&str> = skills.entries().iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["deploy", "notes"]);
        let range = skills.entries()[0].range.clone();
        assert_eq!(&skills.text()[range], "deploy v123456: Says v1: go.\n");
        assert_eq!(
            skills.only("notes").unwrap().text(),
            "<available_skills>\n<skills location=\"~/a/{name}/SKILL.md\">\nnotes@x/notes v000001: Keeps notes.\n</skills>\n</available_skills>"
        );
        assert!(skills.only("alpha").is_none());
    }

    #[test]
    fn an_unclosed_entry_is_no_entry_and_blank_is_no_listing() {
        let skills = SkillsListing::new("<skill><name>x", Origin::Runtime, Trust::Owner).unwrap();
        assert!(skills.entries().is_empty());
        assert_eq!(
            SkillsListing::new(" \n", Origin::Runtime, Trust::Owner),
            None
        );
    }

    #[test]
    fn an_entry_of_low_trust_lowers_the_listing() {
        let listing = "<skill><name>a</name></skill><skill><name>b</name></skill>";
        let skills = SkillsListing::new(listing, Origin::Runtime, Trust::Owner)
            .unwrap()
            .label(|name| (name == "b").then_some((Origin::Runtime, Trust::External)));
        assert_eq!(skills.trust(), Trust::External);
        assert_eq!(skills.entries()[0].trust, Trust::Owner);
    }
}
