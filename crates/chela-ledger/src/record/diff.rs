//! What differs between two requests, part by part.

use serde::Serialize;

use crate::ledger::{Ledger, LedgerError};
use crate::mark::SectionMark;
use crate::request::RecordId;
use crate::shape::{RequestPlace, RequestShape, RequestUnit, same};

/// One part that is not the same in both requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestDifference {
    pub change: RequestChange,
    pub place: RequestPlace,
    /// Its bytes then; of a section only their number is known.
    pub before: Option<DifferenceSide>,
    pub after: Option<DifferenceSide>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestChange {
    Added,
    Changed,
    Removed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DifferenceSide {
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Ledger {
    /// What the second request has that the first has not, and the other way round.
    pub async fn diff(
        &self,
        one: RecordId,
        other: RecordId,
    ) -> Result<Vec<RequestDifference>, LedgerError> {
        let (before, after) = (self.raw(one).await?, self.raw(other).await?);
        let old_sections = self.show(one).await?.sections;
        let new_sections = self.show(other).await?.sections;
        let (old, new) = (
            RequestShape::of(&before, &[]),
            RequestShape::of(&after, &[]),
        );
        let sides = Sides {
            before: &before,
            after: &after,
        };
        let mut found = Vec::new();
        sides.by_place(&old.others, &new.others, &mut found);
        sides.by_place(&old.settings, &new.settings, &mut found);
        sides.by_place(&old.tools, &new.tools, &mut found);
        let named = found.len();
        by_section(&old_sections, &new_sections, &mut found);
        if found.len() == named {
            sides.in_order(&old.system, &new.system, &mut found);
        }
        sides.in_order(&old.messages, &new.messages, &mut found);
        Ok(found)
    }
}

struct Sides<'a> {
    before: &'a [u8],
    after: &'a [u8],
}

impl Sides<'_> {
    /// Lists whose parts have names: settings, tools.
    fn by_place(
        &self,
        old: &[RequestUnit],
        new: &[RequestUnit],
        found: &mut Vec<RequestDifference>,
    ) {
        for unit in new {
            match old.iter().find(|other| other.place == unit.place) {
                None => found.push(self.difference(None, Some(unit))),
                Some(other) => found.extend(self.changed(other, unit)),
            }
        }
        for unit in old {
            if !new.iter().any(|other| other.place == unit.place) {
                found.push(self.difference(Some(unit), None));
            }
        }
    }

    /// Lists whose parts have only their order: what they begin and end with in common is the
    /// same part; what lies between was changed as far as it goes in pairs.
    fn in_order(
        &self,
        old: &[RequestUnit],
        new: &[RequestUnit],
        found: &mut Vec<RequestDifference>,
    ) {
        let alike = |(one, other): (&RequestUnit, &RequestUnit)| self.is_same(one, other);
        let both = old.len().min(new.len());
        let start = old.iter().zip(new).take_while(|pair| alike(*pair)).count();
        let end = old[start..]
            .iter()
            .rev()
            .zip(new[start..].iter().rev())
            .take_while(|pair| alike(*pair))
            .count()
            .min(both - start);
        let (old, new) = (&old[start..old.len() - end], &new[start..new.len() - end]);
        for at in 0..old.len().max(new.len()) {
            match (old.get(at), new.get(at)) {
                (Some(one), Some(other)) => found.extend(self.changed(one, other)),
                (one, other) => found.push(self.difference(one, other)),
            }
        }
    }

    fn is_same(&self, one: &RequestUnit, other: &RequestUnit) -> bool {
        same(
            &self.before[one.range.clone()],
            &self.after[other.range.clone()],
        )
    }

    fn changed(&self, one: &RequestUnit, other: &RequestUnit) -> Option<RequestDifference> {
        (!self.is_same(one, other)).then(|| self.difference(Some(one), Some(other)))
    }

    fn difference(
        &self,
        old: Option<&RequestUnit>,
        new: Option<&RequestUnit>,
    ) -> RequestDifference {
        let side = |unit: &RequestUnit, body: &[u8]| DifferenceSide {
            bytes: unit.range.len() as u64,
            text: Some(String::from_utf8_lossy(&body[unit.range.clone()]).into_owned()),
        };
        RequestDifference {
            change: change(old.is_some(), new.is_some()),
            place: new
                .or(old)
                .map_or(RequestPlace::Request, |unit| unit.place.clone()),
            before: old.map(|unit| side(unit, self.before)),
            after: new.map(|unit| side(unit, self.after)),
        }
    }
}

fn change(was: bool, is: bool) -> RequestChange {
    match (was, is) {
        (true, true) => RequestChange::Changed,
        (false, _) => RequestChange::Added,
        (true, false) => RequestChange::Removed,
    }
}

fn by_section(old: &[SectionMark], new: &[SectionMark], found: &mut Vec<RequestDifference>) {
    let mut note = |before: Option<&SectionMark>, after: Option<&SectionMark>| {
        let side = |mark: &SectionMark| DifferenceSide {
            bytes: mark.bytes,
            text: None,
        };
        let id = after
            .or(before)
            .map_or_else(String::new, |mark| match &mark.origin {
                chela_core::Origin::File { path, .. } => format!("{} ({path})", mark.id),
                _ => mark.id.clone(),
            });
        found.push(RequestDifference {
            change: change(before.is_some(), after.is_some()),
            place: RequestPlace::Section { id },
            before: before.map(side),
            after: after.map(side),
        });
    };
    for mark in new {
        match old.iter().find(|other| other.is_same_place(mark)) {
            None => note(None, Some(mark)),
            Some(other) if other.hash != mark.hash => note(Some(other), Some(mark)),
            Some(_) => {}
        }
    }
    for mark in old {
        if !new.iter().any(|other| other.is_same_place(mark)) {
            note(Some(mark), None);
        }
    }
}
