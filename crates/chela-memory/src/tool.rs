//! `memory_search` and `memory_get`: what the model calls, and the words it reads.

use std::path::Path;

use chela_core::{Audience, Trust};
use chela_files::read_version_at;

use crate::memory::{Memory, MemoryAnswer, MemoryQuestion};
use crate::search::{AnswerDays, DaysUse, HitConfidence, LimitError, SearchSources, VectorState};
use crate::settings::{CitationSetting, ReadLimits, SourceKind};
use crate::source::{self, FileSource, FoundFile};
use crate::store::StoreError;
use crate::transcript::{self, SessionFacts, SessionPage, TranscriptError, TranscriptSource};

/// Text for the model, and how far it may be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolText {
    pub text: String,
    /// The lowest trust of what is quoted.
    pub trust: Trust,
    /// The narrowest audience of what is quoted.
    pub audience: Audience,
}

#[derive(Debug, thiserror::Error)]
pub enum MemoryToolError {
    #[error(
        "query is empty. Call memory_search again with the words you look for, such as a name or a subject."
    )]
    EmptyQuery,
    #[error(
        "{path} is not part of memory. Use a path exactly as memory_search returned it, such as MEMORY.md or memory/2026-03-04.md."
    )]
    NotMemory { path: String },
    #[error("{path} does not exist. Call memory_search to find the right path.")]
    Missing { path: String },
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        path: String,
        source: std::io::Error,
    },
    #[error(
        "{path} has {lines} lines; there is no line {from}. Call memory_get again with from between 1 and {lines}."
    )]
    PastEnd { path: String, lines: u32, from: u32 },
    #[error("{0}. Give a date such as 2026-03-04, a month, or words such as last tuesday.")]
    Limit(#[from] LimitError),
    #[error(
        "memory could not be searched: {0}. Say that memory is unavailable; do not answer from it."
    )]
    Store(#[from] StoreError),
}

/// Runs `memory_search`.
pub fn memory_search(
    memory: &mut Memory<'_>,
    ask: &MemoryQuestion<'_>,
) -> Result<ToolText, MemoryToolError> {
    if ask.question.trim().is_empty() && ask.scope.days.is_none() {
        return Err(MemoryToolError::EmptyQuery);
    }
    let found = memory.search(ask)?;
    let cite = cites(memory.settings().citations, ask.audience);
    Ok(ToolText {
        text: results(&found, cite),
        trust: found
            .excerpts
            .iter()
            .map(|e| e.trust)
            .min()
            .unwrap_or(Trust::Agent),
        audience: found
            .excerpts
            .iter()
            .map(|e| e.audience)
            .min()
            .unwrap_or(Audience::Shared),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cite {
    Yes,
    No,
}

fn cites(citations: CitationSetting, audience: Audience) -> Cite {
    match (citations, audience) {
        (CitationSetting::On, _) | (CitationSetting::Auto, Audience::Private) => Cite::Yes,
        (CitationSetting::Off, _) | (CitationSetting::Auto, Audience::Shared) => Cite::No,
    }
}

fn results(found: &MemoryAnswer, cite: Cite) -> String {
    let mut text = String::new();
    let count = found.excerpts.len();
    match (count, found.answer.searched) {
        (0, 0) => text.push_str(
            "Memory is empty: nothing is indexed yet. Say that you checked and found no notes.",
        ),
        (0, searched) => text.push_str(&format!(
            "Nothing found among {searched} entries. Try other words, or say that you checked and found nothing."
        )),
        _ => {
            if let Some(days) = found.answer.days {
                text.push_str(&about_days(days, count));
            }
            match found.answer.confidence {
                HitConfidence::Unlikely => text.push_str(
                    "Nothing in memory seems to answer this. The nearest entries follow; unless one fits, say that you checked and found nothing.\n\n",
                ),
                HitConfidence::Low => text.push_str(
                    "Low confidence: these entries share little with the question. If none fits, say that you checked.\n\n",
                ),
                HitConfidence::High | HitConfidence::None => {}
            }
            for (number, excerpt) in (1..).zip(&found.excerpts) {
                let heading = match excerpt.heading.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", excerpt.heading),
                };
                // With so many of them, the place is said once: as the source where it is cited.
                let place = match cite {
                    Cite::Yes => format!("Source: {}", excerpt.citation()),
                    Cite::No => format!(
                        "{} lines {}-{}",
                        excerpt.label, excerpt.start_line, excerpt.end_line
                    ),
                };
                let earlier = match &excerpt.replaced_by {
                    Some(newer) => format!("; earlier, {newer} is newer"),
                    None => String::new(),
                };
                text.push_str(&format!(
                    "[{number}] {place}{heading}, score {:.2}{earlier}\n{}\n",
                    excerpt.score, excerpt.text
                ));
                if number < count {
                    text.push('\n');
                }
            }
        }
    }
    match &found.answer.vectors {
        VectorState::Failed { problem } => text.push_str(&format!(
            "\nNote: searched by words only, because the {problem}.\n"
        )),
        VectorState::StandIn {
            problem: Some(problem),
            ..
        } => text.push_str(&format!(
            "\nNote: searched with simpler vectors, because the {problem}.\n"
        )),
        _ => {}
    }
    text
}

/// Of which days the entries are.
fn about_days(days: AnswerDays, shown: usize) -> String {
    match days.use_of {
        DaysUse::Listed { entries } if entries > shown => format!(
            "Entries of {}, in order: a part of {entries}. Ask for a single day to see all of it.\n\n",
            days.span
        ),
        DaysUse::Listed { .. } => format!("Entries of {}, in order:\n\n", days.span),
        DaysUse::Preferred => format!("Entries of {} come first.\n\n", days.span),
        DaysUse::Empty => format!(
            "Nothing in memory is dated {}; these entries are of other days.\n\n",
            days.span
        ),
    }
}

/// What `memory_get` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GetRequest<'a> {
    pub path: &'a str,
    /// First line, from 1.
    pub from: Option<u32>,
    pub lines: Option<u32>,
    pub audience: Audience,
    /// What is open to whoever asks.
    pub sources: SearchSources,
}

/// Lines of a file that belongs to memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLines {
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub total_lines: u32,
    pub text: String,
    pub trust: Trust,
    pub audience: Audience,
    /// The next line to ask for, when there is more.
    pub next: Option<u32>,
}

/// Runs `memory_get`.
pub fn memory_get(memory: &Memory<'_>, get: &GetRequest<'_>) -> Result<ToolText, MemoryToolError> {
    let lines = read(memory, get)?;
    let mut text = format!(
        "{} lines {}-{} of {}\n{}",
        lines.label, lines.start_line, lines.end_line, lines.total_lines, lines.text
    );
    if let Some(next) = lines.next {
        text.push_str(&format!("\n[more: call memory_get with from={next}]"));
    }
    Ok(ToolText {
        text,
        trust: lines.trust,
        audience: lines.audience,
    })
}

/// The lines themselves. Only files that memory is made of can be read.
pub fn read(memory: &Memory<'_>, get: &GetRequest<'_>) -> Result<FileLines, MemoryToolError> {
    let path = get.path.trim();
    let label = path
        .split('#')
        .next()
        .unwrap_or(path)
        .trim_start_matches("./")
        .replace('\\', "/");
    let is_open = get.sources != SearchSources::Notes;
    if let Some(source) = memory.transcripts().filter(|_| is_open)
        && let Some(page) = SessionPage::of_label(&label)
        && memory.settings().sources.contains(&SourceKind::Sessions)
    {
        return conversation(memory, get, source, &page);
    }
    let file = locate(memory, &label)?;
    if !is_open && file.source == FileSource::Sessions {
        return Err(MemoryToolError::NotMemory { path: label });
    }
    let read = read_version_at(&file.path, source::LARGEST_FILE + 1);
    let (content, version) = read.map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => MemoryToolError::Missing {
            path: label.clone(),
        },
        _ => MemoryToolError::Unreadable {
            path: label.clone(),
            source,
        },
    })?;
    let content = String::from_utf8_lossy(&content);
    let audience = source::audience_of(&file, &content);
    if !audience.may_reach(get.audience) {
        return Err(MemoryToolError::NotMemory { path: label });
    }
    let trust = file
        .trust
        .join(memory.places().ceiling.of_read(&file.path, &version));
    let mut lines = cut(&label, &content, trust, get, memory.settings().limits)?;
    lines.audience = audience;
    Ok(lines)
}

/// Messages of a conversation that is kept elsewhere than in a file.
fn conversation(
    memory: &Memory<'_>,
    get: &GetRequest<'_>,
    source: &dyn TranscriptSource,
    page: &SessionPage,
) -> Result<FileLines, MemoryToolError> {
    let label = page.label();
    let unreadable = |error: TranscriptError| MemoryToolError::Unreadable {
        path: page.label(),
        source: std::io::Error::other(error),
    };
    let sessions = source.sessions().map_err(unreadable)?;
    let known = sessions.iter().find(|session| session.id == page.session);
    let is_open = get.audience == Audience::Private || memory.settings().shared_sessions;
    let reaches = |known: &&SessionFacts| is_open && known.audience.may_reach(get.audience);
    let Some(session) = known.filter(reaches) else {
        return Err(MemoryToolError::NotMemory { path: label });
    };
    let text = transcript::page_text(source, page).map_err(unreadable)?;
    let first = u32::try_from(page.from).unwrap_or(u32::MAX - 1) + 1;
    let get = GetRequest {
        from: get.from.or(Some(first)),
        ..*get
    };
    let trust = session.trust.min(Trust::Agent);
    let mut lines = cut(&label, &text, trust, &get, memory.settings().limits)?;
    lines.audience = session.audience;
    Ok(lines)
}

/// A path memory may read: one it is made of today, wherever links lead.
fn locate(memory: &Memory<'_>, label: &str) -> Result<FoundFile, MemoryToolError> {
    let places = memory.places();
    let refused = || MemoryToolError::NotMemory {
        path: label.to_owned(),
    };
    if label.is_empty()
        || Path::new(label)
            .components()
            .any(|part| part.as_os_str() == "..")
    {
        return Err(refused());
    }
    let mut found = source::find(memory.host(), places, memory.settings());
    if let Some(file) = found.files.remove(label) {
        return Ok(file);
    }
    if is_memory_name(label) && !places.workspace.join(label).exists() {
        return Err(MemoryToolError::Missing {
            path: label.to_owned(),
        });
    }
    Err(refused())
}

fn is_memory_name(label: &str) -> bool {
    source::is_core(label) || (label.starts_with("memory/") && source::is_note(Path::new(label)))
}

fn cut(
    label: &str,
    content: &str,
    trust: Trust,
    get: &GetRequest<'_>,
    limits: ReadLimits,
) -> Result<FileLines, MemoryToolError> {
    let all: Vec<&str> = content.lines().collect();
    let total = all.len() as u32;
    let from = get.from.unwrap_or(1).max(1);
    if from > total && total > 0 {
        return Err(MemoryToolError::PastEnd {
            path: label.to_owned(),
            lines: total,
            from,
        });
    }
    let wanted = get.lines.unwrap_or(limits.default_lines).max(1);
    let mut text = String::new();
    let mut used = 0;
    let mut end = from.saturating_sub(1);
    for line in all.iter().skip(from as usize - 1).take(wanted as usize) {
        let length = line.chars().count() + 1;
        if used + length > limits.max_chars && used > 0 {
            break;
        }
        if used > 0 {
            text.push('\n');
        }
        text.extend(line.chars().take(limits.max_chars));
        used += length;
        end += 1;
    }
    Ok(FileLines {
        label: label.to_owned(),
        start_line: from,
        end_line: end,
        total_lines: total,
        text,
        trust,
        audience: Audience::Private,
        next: (end < total).then_some(end + 1),
    })
}

#[cfg(test)]
mod tests;
