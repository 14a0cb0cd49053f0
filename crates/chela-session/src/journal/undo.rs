//! Taking changes back.
//!
//! First a plan: what would be put where, and whether somebody else has been there since. Then
//! the deed, each file of it kept in the journal before it is touched, so that an undo can be
//! undone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, Trust};
use chela_files::{DraftPlacement, ExpectedContent, PathLocks};
use chela_store::ChangeQuery;
use chela_tools::place::{
    EntryKind, FilePlaces, FileReach, OpenPlace, PlaceAccess, PlaceError, PlaceRoot, PlacesSettings,
};
use chela_tools::{ChangeId, FileChange, MOST_FILE_BYTES};
use serde::Serialize;

use super::keep::{ChangeAuthor, TrustAfter};
use super::{FileJournal, JournalChange, JournalError};

/// What is to be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoTarget {
    /// What the last turn did that did something.
    LastTurn,
    /// What the last turn of this conversation did; nothing where that was another one's, under the
    /// same key.
    LastTurnOf { session: String, id: String },
    /// A change by its number, or a turn by the beginning of its id.
    Named(String),
}

/// What taking it back would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoPlan {
    /// One per file.
    pub steps: Vec<UndoStep>,
}

/// What would happen to one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoStep {
    pub path: PathBuf,
    /// The changes that are taken back, the oldest first.
    pub changes: Vec<i64>,
    /// What it does to the file as it is now, in lines.
    pub what: String,
    pub conflict: Option<UndoConflict>,
    /// What is put there; `None`: the file goes.
    #[serde(skip)]
    content: Option<Vec<u8>>,
    /// What was there when the plan was made.
    #[serde(skip)]
    found: Option<ContentHash>,
    #[serde(skip)]
    foreign: bool,
}

impl UndoStep {
    /// What the file held before the changes; `None`: there was no file.
    pub fn content_before(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }
}

/// What speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum UndoConflict {
    /// The agent changed the file again later.
    ChangedLater { by: i64 },
    /// Somebody else changed it since, or between two of the changes.
    ChangedElsewhere,
    /// It was changed in another home, of which this one is a copy: the file is that home's.
    OtherHome,
    /// It cannot be looked at.
    Unreadable { why: String },
}

/// What becomes of files that somebody else has changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictRule {
    /// Nothing is taken back then.
    Refuse,
    /// They are overwritten too; what they hold is kept.
    Overwrite,
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoneChange {
    pub path: PathBuf,
    pub what: String,
    /// The number under which this undo can itself be undone; `None` where the file was already
    /// as it is to be.
    pub change: Option<i64>,
    /// The changes that were taken back.
    pub undoes: Vec<i64>,
    /// What all files of this undo are on record under.
    pub turn: String,
}

/// Why nothing can be taken back, or not all.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("nothing to undo: no file was changed")]
    Nothing,
    #[error(
        "nothing to undo here: this conversation changed no file; `chela undo --list` shows what earlier ones changed, \
         and `chela undo` undoes the last of it"
    )]
    NothingHere,
    #[error("there is no change or turn `{given}`; `chela undo --list` shows them")]
    NoSuch { given: String },
    #[error("several turns start with `{given}`: {}", turns.join(", "))]
    Ambiguous { given: String, turns: Vec<String> },
    #[error("this was already undone by change {by}; run `chela undo {by}` to redo")]
    Already { by: i64 },
    #[error("{}", in_words(.0))]
    Conflicts(Vec<UndoStep>),
    #[error("{why}{}", done_in_words(done))]
    File {
        why: String,
        done: Vec<UndoneChange>,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// What taking changes back did, one line per file.
pub fn undone_in_words(undone: &[UndoneChange], shown: impl Fn(&Path) -> String) -> Vec<String> {
    let line = |one: &UndoneChange| match one.change {
        Some(_) => format!("{}: {}", shown(&one.path), one.what),
        None => format!("{}: unchanged", shown(&one.path)),
    };
    undone.iter().map(line).collect()
}

impl FileJournal {
    /// What taking this back would do. Nothing is changed.
    pub fn plan_undo(&self, which: &UndoTarget) -> Result<UndoPlan, UndoError> {
        let changes = self.chosen(which)?;
        let mut by_path: BTreeMap<PathBuf, Vec<JournalChange>> = BTreeMap::new();
        for change in changes {
            by_path.entry(change.path.clone()).or_default().push(change);
        }
        let mut steps = by_path
            .into_values()
            .map(|changes| self.step(&changes))
            .collect::<Result<Vec<_>, _>>()?;
        // What was changed last goes back first.
        steps.sort_by_key(|step| std::cmp::Reverse(step.changes.last().copied()));
        Ok(UndoPlan { steps })
    }

    /// Takes it back. All files or none, unless the disk fails half-way.
    pub fn undo(
        &self,
        plan: &UndoPlan,
        conflicts: ConflictRule,
    ) -> Result<Vec<UndoneChange>, UndoError> {
        let against: Vec<UndoStep> = plan
            .steps
            .iter()
            .filter(|step| match (&step.conflict, conflicts) {
                (None, _) => false,
                (Some(UndoConflict::Unreadable { .. }), _) => true,
                (Some(_), conflicts) => conflicts == ConflictRule::Refuse,
            })
            .cloned()
            .collect();
        if !against.is_empty() {
            return Err(UndoError::Conflicts(against));
        }
        let newest = self.find(ChangeQuery::Newest { limit: 1 })?;
        let turn = format!("undo-{}", newest.first().map_or(0, |change| change.id) + 1);
        let mut done = Vec::new();
        for step in &plan.steps {
            match self.take_back(step, &turn, conflicts) {
                Ok(undone) => done.push(undone),
                Err(UndoError::File { why, .. }) => return Err(UndoError::File { why, done }),
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn chosen(&self, which: &UndoTarget) -> Result<Vec<JournalChange>, UndoError> {
        match which {
            UndoTarget::LastTurn => self.last_turn(None),
            UndoTarget::LastTurnOf { session, id } => {
                match self.last_turn(Some(session)) {
                    Ok(found) if found.iter().all(|change| change.session_id == *id) => Ok(found),
                    Ok(_) => Err(UndoError::NothingHere),
                    // Another session may have changed something.
                    Err(UndoError::Nothing) => match self.last_turn(None) {
                        Ok(_) => Err(UndoError::NothingHere),
                        Err(error) => Err(error),
                    },
                    Err(error) => Err(error),
                }
            }
            UndoTarget::Named(given) => {
                let given = given.trim();
                if let Ok(id) = given.trim_start_matches('#').parse::<i64>()
                    && let Some(change) = self.find(ChangeQuery::ByNumber(id))?.pop()
                {
                    return match change.undone {
                        Some(by) => Err(UndoError::Already { by }),
                        None => self.with_other_half(change),
                    };
                }
                self.named_turn(given)
            }
        }
    }

    fn last_turn(&self, session: Option<&str>) -> Result<Vec<JournalChange>, UndoError> {
        let found = self.find(ChangeQuery::LastTurn {
            session: session.map(str::to_owned),
        })?;
        match found.is_empty() {
            true => Err(UndoError::Nothing),
            false => Ok(found),
        }
    }

    fn named_turn(&self, given: &str) -> Result<Vec<JournalChange>, UndoError> {
        const SHORTEST: usize = 4;
        let no_such = || UndoError::NoSuch {
            given: given.to_owned(),
        };
        if given.len() < SHORTEST {
            return Err(no_such());
        }
        let mut found = self.find(ChangeQuery::TurnsBeginning(given.to_owned()))?;
        if found.iter().any(|change| change.turn == given) {
            found.retain(|change| change.turn == given);
        }
        let mut turns: Vec<&str> = found.iter().map(|change| change.turn.as_str()).collect();
        turns.sort_unstable();
        turns.dedup();
        match turns.as_slice() {
            [] => Err(no_such()),
            [_] => {
                let by = found.iter().find_map(|change| change.undone);
                let open: Vec<JournalChange> = found
                    .into_iter()
                    .filter(|change| change.undone.is_none())
                    .collect();
                match (open.is_empty(), by) {
                    (true, Some(by)) => Err(UndoError::Already { by }),
                    _ => Ok(open),
                }
            }
            many => Err(UndoError::Ambiguous {
                given: given.to_owned(),
                turns: many.iter().map(|turn| (*turn).to_owned()).collect(),
            }),
        }
    }

    /// A file that was moved is two changes: one is not taken back without the other.
    fn with_other_half(&self, change: JournalChange) -> Result<Vec<JournalChange>, UndoError> {
        let same_call = self.find(ChangeQuery::SameCall {
            turn: change.turn.clone(),
            call: change.call.clone(),
            session_id: change.session_id.clone(),
        })?;
        let moved = |to: &JournalChange, from: &JournalChange| {
            to.path != from.path && to.keeps.as_ref() == Some(&from.path) && from.after.is_none()
        };
        Ok(same_call
            .into_iter()
            .filter(|other| other.id == change.id || moved(other, &change) || moved(&change, other))
            .collect())
    }

    /// What becomes of a file when these changes of it are taken back.
    fn step(&self, changes: &[JournalChange]) -> Result<UndoStep, UndoError> {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Err(UndoError::Nothing);
        };
        let content = self.kept(first)?;
        let mut step = UndoStep {
            path: first.path.clone(),
            changes: changes.iter().map(|change| change.id).collect(),
            what: String::new(),
            conflict: None,
            found: None,
            foreign: first.foreign_before,
            content,
        };
        let now = match now(&self.host, &first.path) {
            Ok((_, now)) => now,
            Err(why) => {
                step.conflict = Some(UndoConflict::Unreadable { why });
                return Ok(step);
            }
        };
        step.what = FileChange {
            path: &step.path,
            before: now.as_deref(),
            after: step.content.as_deref(),
            keeps: None,
            tool: "undo",
            call: "",
        }
        .in_words();
        if now == step.content {
            return Ok(step);
        }
        if first.elsewhere {
            step.found = now.as_deref().map(ContentHash::of);
            step.conflict = Some(UndoConflict::OtherHome);
            return Ok(step);
        }
        let broken = changes
            .array_windows()
            .any(|[one, next]| one.after != next.before);
        let hash = now.as_deref().map(ContentHash::of);
        step.found = hash;
        if hash != last.after {
            let later = self.find(ChangeQuery::LaterOf {
                path: self.name_of(&first.path)?,
                after: last.id,
            })?;
            step.conflict = Some(match later.first() {
                Some(later) if later.after == hash => UndoConflict::ChangedLater { by: later.id },
                _ => UndoConflict::ChangedElsewhere,
            });
        } else if broken {
            step.conflict = Some(UndoConflict::ChangedElsewhere);
        }
        Ok(step)
    }

    fn take_back(
        &self,
        step: &UndoStep,
        turn: &str,
        conflicts: ConflictRule,
    ) -> Result<UndoneChange, UndoError> {
        let failed = |why: String| UndoError::File {
            why,
            done: Vec::new(),
        };
        // Sessions that change the file meanwhile wait until it is as it is to be.
        let _held = PathLocks::of(&self.host)
            .hold([step.path.as_path()])
            .map_err(|error| failed(error.to_string()))?;
        let (spot, now) = now(&self.host, &step.path).map_err(failed)?;
        let mut undone = UndoneChange {
            path: step.path.clone(),
            what: step.what.clone(),
            change: None,
            undoes: step.changes.clone(),
            turn: turn.to_owned(),
        };
        if now == step.content {
            self.mark_undone(&step.changes, 0)?;
            return Ok(undone);
        }
        let change = FileChange {
            path: &step.path,
            before: now.as_deref(),
            after: step.content.as_deref(),
            keeps: None,
            tool: "undo",
            call: &format!("of {}", step.changes.last().copied().unwrap_or_default()),
        };
        let hash = now.as_deref().map(ContentHash::of);
        if conflicts == ConflictRule::Refuse && hash != step.found {
            return Err(failed(format!(
                "{} was changed just now; try again",
                step.path.display()
            )));
        }
        let author = ChangeAuthor {
            session: "owner",
            session_id: "",
            turn,
            keeps_own: true,
            tainted: false,
        };
        let foreign = step.foreign;
        let kept = self.keep(&change, &author, TrustAfter::Restored { foreign })?;
        if let Err(error) = put(&self.host, spot, &change) {
            if let Err(error) = self.take_out(kept) {
                tracing::warn!(%error, "a change that was not made stays in the journal");
            }
            return Err(failed(error));
        }
        let ChangeId(id) = kept;
        self.mark_undone(&step.changes, id)?;
        undone.change = Some(id);
        Ok(undone)
    }

    /// Notes what was taken back, and by which change. What that had taken back itself counts
    /// again.
    fn mark_undone(&self, changes: &[i64], by: i64) -> Result<(), JournalError> {
        self.write(|journal| journal.mark_undone(changes.to_vec(), by))
    }
}

/// The whole disk: it is the owner who asks. Links are not followed all the same: a path of the
/// journal is a real one.
fn places(host: &Host) -> FilePlaces {
    FilePlaces::new(PlacesSettings {
        started_in: None,
        workspace: PlaceRoot::new("/", PlaceAccess::Write, Trust::Owner),
        granted: Vec::new(),
        reach: FileReach::Everything,
        protected: Vec::new(),
        user_home: host.user_home.clone(),
    })
}

/// What a file holds now, and where it is; `None`: there is none.
fn now(host: &Host, path: &Path) -> Result<(Option<OpenPlace>, Option<Vec<u8>>), String> {
    let shown = path.display();
    let spot = match places(host).locate(&path.to_string_lossy(), PlaceAccess::Write) {
        Ok(spot) if spot.kind() == EntryKind::Absent => return Ok((None, None)),
        Ok(spot) => spot,
        Err(PlaceError::Missing { .. }) => return Ok((None, None)),
        Err(error) => return Err(error.to_string()),
    };
    if spot.path() != path {
        return Err(format!(
            "{shown} is now reached through a link, to {}; it is left alone",
            spot.path().display()
        ));
    }
    match spot.read(MOST_FILE_BYTES) {
        Ok(Ok(bytes)) => Ok((Some(spot), Some(bytes))),
        Ok(Err(size)) => Err(format!(
            "{shown} has {size} bytes now, too many to keep; move it away first"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// Makes the change, if the file is still as it was read.
fn put(host: &Host, spot: Option<OpenPlace>, change: &FileChange<'_>) -> Result<(), String> {
    let shown = change.path.display();
    let expected = ExpectedContent::of(change.before);
    let put = match (spot, change.before, change.after) {
        (Some(spot), Some(before), None) => spot.remove_if(before),
        (Some(spot), _, Some(bytes)) => spot.replace(bytes, expected),
        (_, _, None) => return Ok(()),
        (None, _, Some(bytes)) => match places(host).locate_new(&change.path.to_string_lossy()) {
            Ok(spot) if spot.path() != change.path => {
                return Err(format!(
                    "{shown} is now reached through a link; it is left alone"
                ));
            }
            new => new.and_then(|spot| spot.replace(bytes, expected)),
        },
    };
    match put.map_err(|error| error.to_string())? {
        DraftPlacement::Placed => Ok(()),
        DraftPlacement::Changed => Err(format!("{shown} was changed just now; try again")),
    }
}

fn in_words(against: &[UndoStep]) -> String {
    let mut text = "nothing was undone:".to_owned();
    for step in against {
        let path = step.path.display();
        text.push_str(&match &step.conflict {
            Some(UndoConflict::ChangedLater { by }) => {
                format!("\n  {path} was changed again later, by change {by}")
            }
            Some(UndoConflict::OtherHome) => format!(
                "\n  {path} was changed in another home, of which this one is a copy; it does \
                    not belong to this home"
            ),
            Some(UndoConflict::Unreadable { why }) => format!("\n  {path} cannot be used: {why}"),
            Some(UndoConflict::ChangedElsewhere) | None => {
                format!("\n  {path} was changed by someone else since")
            }
        });
    }
    text
}

fn done_in_words(done: &[UndoneChange]) -> String {
    match done {
        [] => String::new(),
        done => {
            let paths: Vec<String> = done
                .iter()
                .map(|undone| undone.path.display().to_string())
                .collect();
            format!(". Undone before that: {}", paths.join(", "))
        }
    }
}
