//! Who says what in a note that is a conversation.
//!
//! A message starts with a name: `Ann: hi`, `**User:** hi`, `[10:32] <Ann> hi`, a heading
//! `### Assistant`. Between a user and an assistant, what follows without a name is still the same
//! message, however many paragraphs, lists and code blocks it has.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{MessageSpeaker, NoteChunk};
use crate::language::Language;
use crate::words::folded;

/// A name that starts fewer units than this is a key, not a speaker.
const SPEAKS_AT_LEAST: usize = 3;
const LONGEST_NAME: usize = 40;

/// The words for the two sides of a conversation with an assistant.
static ROLES: LazyLock<HashMap<&'static str, MessageSpeaker>> = LazyLock::new(|| {
    let tables = || Language::all().map(Language::table);
    let user = tables()
        .flat_map(|t| &t.user)
        .map(|w| (w.as_str(), MessageSpeaker::User));
    let assistant = tables()
        .flat_map(|t| &t.assistant)
        .map(|w| (w.as_str(), MessageSpeaker::Assistant));
    user.chain(assistant).collect()
});

/// How a unit starts that names its speaker.
struct SpeakerLabel {
    name: String,
    /// Where what is said starts, in bytes of the body.
    said_at: usize,
    /// Written as no key of a form is: bold, in angles, with a time.
    is_marked: bool,
}

/// Says of each unit who speaks, and where what is said starts.
pub fn mark_speakers(chunks: &mut [NoteChunk]) {
    let labels: Vec<Option<SpeakerLabel>> =
        chunks.iter().map(|chunk| label_of(chunk.body())).collect();
    let mut said: HashMap<&str, usize> = HashMap::new();
    for label in labels.iter().flatten() {
        *said.entry(label.name.as_str()).or_default() += 1;
    }
    let roles_of = |wanted: MessageSpeaker| -> usize {
        let times = said.iter().filter(|(name, _)| role_of(name) == wanted);
        times.map(|(_, times)| times).sum()
    };
    let headed = chunks
        .iter()
        .any(|chunk| heading_role(&chunk.heading) == Some(MessageSpeaker::User))
        && chunks
            .iter()
            .any(|chunk| heading_role(&chunk.heading) == Some(MessageSpeaker::Assistant));
    let has_roles =
        headed || roles_of(MessageSpeaker::User) > 0 && roles_of(MessageSpeaker::Assistant) > 0;
    let speaks = |label: &SpeakerLabel| {
        let times = said.get(label.name.as_str()).copied().unwrap_or(0);
        let is_role = role_of(&label.name) != MessageSpeaker::Other;
        times >= SPEAKS_AT_LEAST || has_roles && is_role || label.is_marked && times > 1
    };
    let mut last: Option<LastSpeaker> = None;
    for (chunk, label) in chunks.iter_mut().zip(&labels) {
        let from_heading = headed.then(|| heading_role(&chunk.heading)).flatten();
        if let Some(role) = from_heading {
            let name = chunk.heading.rsplit(" > ").next().unwrap_or_default();
            (chunk.speaker, chunk.said_by) = (Some(role), name.to_owned());
            continue;
        }
        match label.as_ref().filter(|label| speaks(label)) {
            Some(label) => {
                let role = role_of(&label.name);
                (chunk.speaker, chunk.said_by) = (Some(role), label.name.clone());
                last = Some(LastSpeaker {
                    role,
                    name: label.name.clone(),
                    section: chunk.section,
                    in_list: chunk.body_at > 0,
                });
                chunk.body_at += label.said_at as u32;
            }
            None => {
                let is_item = chunk.body_at > 0;
                if let Some(last) = &last
                    && last.goes_on(has_roles, chunk.section, is_item)
                {
                    (chunk.speaker, chunk.said_by) = (Some(last.role), last.name.clone());
                }
            }
        }
    }
}

struct LastSpeaker {
    role: MessageSpeaker,
    name: String,
    section: u32,
    in_list: bool,
}

impl LastSpeaker {
    /// Whether a unit without a name belongs to what was said before it.
    fn goes_on(&self, has_roles: bool, section: u32, is_item: bool) -> bool {
        match self.role {
            MessageSpeaker::User | MessageSpeaker::Assistant => has_roles,
            MessageSpeaker::Other => section == self.section && !self.in_list && !is_item,
        }
    }
}

/// The side of a conversation a name stands for.
fn role_of(name: &str) -> MessageSpeaker {
    ROLES
        .get(folded(name.trim()).as_str())
        .copied()
        .unwrap_or(MessageSpeaker::Other)
}

/// `### User` of a trail of headings.
fn heading_role(heading: &str) -> Option<MessageSpeaker> {
    let last = heading.rsplit(" > ").next()?;
    let words: Vec<&str> = last
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .collect();
    match *words.as_slice() {
        [word] | ["Turn" | "turn" | "Message" | "message", word] | [word, "message" | "turn"] => {
            Some(role_of(word)).filter(|role| *role != MessageSpeaker::Other)
        }
        _ => None,
    }
}

fn label_of(body: &str) -> Option<SpeakerLabel> {
    let line = body.lines().next()?;
    let skipped = time_before(line);
    let rest = line.get(skipped..)?;
    let found = in_angles(rest)
        .or_else(|| in_bold(rest))
        .or_else(|| plain(rest))?;
    let (name, length, is_marked) = found;
    let name = name.trim();
    let is_named = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.starts_with(char::is_alphabetic)
        && name.split_whitespace().count() <= 3
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || " .'-_".contains(c));
    if !is_named {
        return None;
    }
    let label = skipped + length;
    let after = body.get(label..).unwrap_or_default();
    Some(SpeakerLabel {
        name: name.to_owned(),
        said_at: label + after.len() - after.trim_start().len(),
        is_marked: is_marked || skipped > 0,
    })
}

/// `[10:32] `, `10:32 - `, `08.05.23, 10:32 - `: how many bytes of it.
fn time_before(line: &str) -> usize {
    let is_part = |c: char| c.is_ascii_digit() || "[](),.:/- \u{202f}".contains(c);
    let mut end = line.find(|c: char| !is_part(c)).unwrap_or(line.len());
    for half in ["AM", "PM", "am", "pm"] {
        let rest = line.get(end..).unwrap_or_default();
        if let Some(rest) = rest.strip_prefix(half) {
            end = line.len() - rest.trim_start_matches(is_part).len();
        }
    }
    let before = line.get(..end).unwrap_or_default();
    let is_time = before
        .split(|c: char| !c.is_ascii_digit() && c != ':')
        .any(|part| {
            part.split_once(':')
                .is_some_and(|(hour, rest)| (1..=2).contains(&hour.len()) && rest.len() >= 2)
        });
    match is_time {
        true => end,
        false => 0,
    }
}

/// `<Ann> hi`.
fn in_angles(line: &str) -> Option<(&str, usize, bool)> {
    let (name, _) = line.strip_prefix('<')?.split_once('>')?;
    Some((name, name.len() + 2, true))
}

/// `**Ann:** hi`, `**Ann**: hi`, `__Ann__: hi`; a role may stand alone on its line.
fn in_bold(line: &str) -> Option<(&str, usize, bool)> {
    let mark = ["**", "__", "*"]
        .into_iter()
        .find(|mark| line.starts_with(mark))?;
    let (inside, after) = line.get(mark.len()..)?.split_once(mark)?;
    let name = without_time(inside.trim_end().trim_end_matches(':'));
    let has_colon = inside.trim_end().ends_with(':') || after.trim_start().starts_with(':');
    let is_alone = after.trim().is_empty() && role_of(name) != MessageSpeaker::Other;
    if !has_colon && !is_alone {
        return None;
    }
    let colon = match after.trim_start().strip_prefix(':') {
        Some(rest) => after.len() - rest.len(),
        None => 0,
    };
    Some((name, 2 * mark.len() + inside.len() + colon, true))
}

/// `Ann: hi`, `Ann (10:32): hi`.
fn plain(line: &str) -> Option<(&str, usize, bool)> {
    let end = match line.find('(') {
        Some(open) if line.find(':').is_none_or(|colon| open < colon) => {
            open + line.get(open..)?.find(')')? + 1
        }
        _ => 0,
    };
    let colon = end + line.get(end..)?.find(':')?;
    let rest = line.get(colon + 1..).unwrap_or_default();
    if !(rest.starts_with(' ') || rest.is_empty()) {
        return None;
    }
    let name = without_time(line.get(..colon)?);
    Some((name, colon + 1, false))
}

/// `Ann` of `Ann (10:32)`.
fn without_time(name: &str) -> &str {
    match name.split_once('(') {
        Some((before, time))
            if time.contains(|c: char| c.is_ascii_digit())
                && time
                    .chars()
                    .all(|c| c.is_ascii_digit() || ":.,/- apmAPM)".contains(c)) =>
        {
            before.trim_end()
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests;
