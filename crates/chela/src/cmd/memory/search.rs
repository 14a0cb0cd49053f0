//! `chela memory search` and `chela memory get`.

use chela_core::Audience;
use chela_memory::search::{AnswerDays, DaysUse, FileExcerpt, HitConfidence, VectorState};
use chela_memory::tool::{self, GetRequest, MemoryToolError};
use chela_memory::{
    AgentMemory, DayLimits, FreshLook, MemoryAnswer, MemoryQuestion, SearchScope, SearchSources,
};
use serde_json::{Value, json};

use super::cards::{self, CardKind};
use super::{explained, open};
use crate::cli::{AgentArg, MemoryPlace};
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped};

/// What was typed.
pub struct SearchRequest {
    pub question: String,
    pub since: Option<String>,
    pub until: Option<String>,
    pub on: Option<String>,
    pub place: Option<MemoryPlace>,
    pub max_results: Option<usize>,
    pub max_chars: Option<usize>,
    pub min_score: Option<f32>,
    pub explain: bool,
    pub no_sync: bool,
    pub json: bool,
}

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    request: &SearchRequest,
) -> CommandOutcome {
    let has_days = request.since.is_some() || request.until.is_some() || request.on.is_some();
    if request.question.trim().is_empty() && !has_days {
        return Err(
            CommandError::usage("there is nothing to search for").hint("chela memory search WORDS")
        );
    }
    let sources = match request.place {
        Some(MemoryPlace::Skills) => {
            return cards::run(setup, screen, agent, request, CardKind::Skill);
        }
        Some(MemoryPlace::Tools) => {
            return cards::run(setup, screen, agent, request, CardKind::Tool);
        }
        None | Some(MemoryPlace::Files) => SearchSources::All,
        Some(MemoryPlace::Notes) => SearchSources::Notes,
        Some(MemoryPlace::Sessions) => SearchSources::Sessions,
    };
    let opened = open(setup, agent)?;
    let documents;
    let mut memory = match request.place {
        Some(MemoryPlace::Files) => {
            documents = AgentMemory::new(opened.shared.parts().documents());
            documents.open().map_err(explained)?
        }
        _ => opened.memory()?,
    };
    let limits = DayLimits {
        since: request.since.as_deref(),
        until: request.until.as_deref(),
        on: request.on.as_deref(),
    };
    let days = limits.read(memory.today()).map_err(|error| {
        CommandError::usage(format!("--{error}"))
            .hint("a date such as 2026-03-04, a month, or words such as `last tuesday`")
    })?;
    let ask = MemoryQuestion {
        max_results: request.max_results,
        min_score: request.min_score,
        max_chars: request.max_chars,
        scope: SearchScope { days, sources },
        ..MemoryQuestion::new(&request.question, Audience::Private)
    };
    let looks = match request.no_sync {
        true => FreshLook::Skipped,
        false => FreshLook::AsConfigured,
    };
    let answer = memory.search_fresh(&ask, looks).map_err(explained)?;
    let found = answer.found;
    let stale = answer.stale.map(|error| explained(error).message);
    let notes: Vec<String> = opened
        .provider_problem()
        .into_iter()
        .chain(stale)
        .chain(answer.notes)
        .collect();
    if request.json {
        screen.json(&as_json(request, &found, &notes))?;
    } else {
        as_text(screen, request, &found, &notes)?;
    }
    Ok(CommandExit::Fine)
}

fn as_text(
    screen: &mut Screen,
    request: &SearchRequest,
    found: &MemoryAnswer,
    notes: &[String],
) -> std::io::Result<()> {
    let paint = screen.paint;
    if found.excerpts.is_empty() {
        screen.line(match found.answer.searched {
            0 => "Nothing is indexed yet: MEMORY.md, USER.md and memory/ have no text.".to_owned(),
            1 => "Nothing found in the 1 entry there is.".to_owned(),
            searched => format!("Nothing found among {} entries.", grouped(searched)),
        })?;
    }
    if let Some(days) = found.answer.days {
        screen.line(paint.dim(about_days(days, found.excerpts.is_empty())))?;
    }
    match found.answer.confidence {
        _ if found.excerpts.is_empty() => {}
        HitConfidence::Unlikely => screen
            .line(paint.dim("Nothing seems to answer this. These are the nearest entries."))?,
        HitConfidence::Low => screen.line(
            paint.dim("Low confidence: the results have little in common with the question."),
        )?,
        HitConfidence::High | HitConfidence::None => {}
    }
    for excerpt in &found.excerpts {
        let heading = match excerpt.heading.is_empty() {
            true => String::new(),
            false => paint.dim(format!("  {}", excerpt.heading)),
        };
        screen.line(format!(
            "{}  {:.2}{heading}",
            paint.accent(excerpt.citation()),
            excerpt.score
        ))?;
        if let Some(newer) = &excerpt.replaced_by {
            screen.line(paint.dim(format!("  earlier: {newer} is newer")))?;
        }
        for line in excerpt.text.lines() {
            screen.line(format!("  {line}"))?;
        }
        if request.explain {
            for line in reasons(excerpt) {
                screen.line(paint.dim(format!("    {line}")))?;
            }
        }
        screen.blank()?;
    }
    if request.explain {
        screen.line(paint.dim(format!(
            "{} entries searched; the question reads as {}; vectors: {}.",
            grouped(found.answer.searched),
            found.answer.kind.as_str(),
            vectors(&found.answer.vectors),
        )))?;
    }
    for note in notes {
        screen.line(format!("{} {note}", paint.warn("note:")))?;
    }
    Ok(())
}

/// Of which days the results are.
fn about_days(days: AnswerDays, is_all: bool) -> String {
    match days.use_of {
        DaysUse::Listed { entries } => {
            format!(
                "{} of {}, in order:",
                count_noun(entries, "entry"),
                days.span
            )
        }
        DaysUse::Preferred => format!("Results of {} come first.", days.span),
        DaysUse::Empty if is_all => format!("Nothing is dated {}.", days.span),
        DaysUse::Empty => format!("Nothing is dated {}; results of other days:", days.span),
    }
}

/// What made the score, point by point, with what each was made of.
fn reasons(excerpt: &FileExcerpt) -> Vec<String> {
    let e = &excerpt.explain;
    let mut lines: Vec<String> = e
        .points
        .all()
        .iter()
        .filter(|(_, points)| points.abs() >= 0.005)
        .map(|(reason, points)| {
            let of = match *reason {
                "words" => format!("  BM25 {:.2}", unsigned_zero(e.bm25)),
                "meaning" => format!("  cosine {:.3}", unsigned_zero(e.cosine)),
                "coverage" => format!(
                    "  {:.0} % of the question's words",
                    unsigned_zero(e.coverage) * 100.0
                ),
                _ => String::new(),
            };
            format!("{points:+.2}  {:11}{of}", reason_in_words(reason))
        })
        .collect();
    lines.push(format!(
        "{:+.2}  in all: {:.2} of the best; rank {} before the closer look",
        unsigned_zero(e.points.total()),
        excerpt.score,
        e.first_rank
    ));
    lines
}

fn reason_in_words(reason: &str) -> &str {
    match reason {
        "section" => "the section",
        "recency" => "recent",
        "role" => "said by you",
        "speaker" => "said by whom you name",
        "wish" => "a standing wish",
        "core" => "a core file",
        "answers" => "tells what is asked",
        "importance" => "marked important",
        "date" => "of the days asked for",
        "coverage" => "words, looked at closely",
        "pairs" => "words in a row",
        "soft" => "like words",
        "phrase" => "quoted words",
        "close" => "words close together",
        "title" => "in the title",
        "agreed" => "agrees with the other good ones",
        "newer" => "newer than a better one",
        "behind" => "behind better ones",
        other => other,
    }
}

/// No `-0.00`: what is that small is nothing.
fn unsigned_zero(value: f32) -> f32 {
    match value.abs() < 0.000_5 {
        true => 0.0,
        false => value,
    }
}

fn vectors(state: &VectorState) -> String {
    match state {
        VectorState::Used { model } => model.clone(),
        VectorState::Partial { model } => format!("{model}, not complete yet"),
        VectorState::Off => "off".into(),
        VectorState::Failed { .. } => "failed".into(),
        VectorState::StandIn { model, .. } => format!("{model}, standing in"),
    }
}

fn as_json(request: &SearchRequest, found: &MemoryAnswer, notes: &[String]) -> Value {
    let results: Vec<Value> = found
        .excerpts
        .iter()
        .map(|excerpt| {
            let e = &excerpt.explain;
            let points: serde_json::Map<String, Value> = e
                .points
                .all()
                .iter()
                .filter(|(_, points)| *points != 0.0)
                .map(|(reason, points)| ((*reason).to_owned(), json!(unsigned_zero(*points))))
                .collect();
            json!({
                "path": excerpt.label, "startLine": excerpt.start_line, "endLine": excerpt.end_line,
                "score": excerpt.score, "heading": excerpt.heading,
                "date": excerpt.date.map(|day| day.to_string()), "text": excerpt.text,
                "citation": excerpt.citation(), "trust": excerpt.trust.as_str(),
                "audience": excerpt.audience.as_str(), "replacedBy": excerpt.replaced_by,
                "explain": {
                    "bm25": unsigned_zero(e.bm25), "keyword": unsigned_zero(e.keyword),
                    "cosine": unsigned_zero(e.cosine), "vector": unsigned_zero(e.vector),
                    "coverage": unsigned_zero(e.coverage), "firstRank": e.first_rank,
                    "points": points, "total": unsigned_zero(e.points.total()),
                },
            })
        })
        .collect();
    json!({
        "query": request.question, "kind": found.answer.kind.as_str(), "searched": found.answer.searched,
        "confidence": found.answer.confidence.as_str(),
        "likelihood": found.answer.evidence.likelihood(),
        "days": found.answer.days.map(|days| json!({
            "first": days.span.first.to_string(), "last": days.span.last.to_string(),
            "use": match days.use_of {
                DaysUse::Listed { .. } => "listed",
                DaysUse::Preferred => "preferred",
                DaysUse::Empty => "empty",
            },
        })),
        "vectors": vectors(&found.answer.vectors), "results": results, "notes": notes,
    })
}

/// The errors of the tool are words for a model.
fn unreadable(error: MemoryToolError) -> CommandError {
    let search = "`chela memory search` shows the paths, such as MEMORY.md or memory/2026-03-04.md";
    match error {
        MemoryToolError::NotMemory { path } => {
            CommandError::new(format!("{path} is not part of memory")).hint(search)
        }
        MemoryToolError::Missing { path } => {
            CommandError::new(format!("{path} does not exist")).hint(search)
        }
        MemoryToolError::PastEnd { path, lines, from } => {
            let lines = count_noun(lines as usize, "line");
            CommandError::new(format!("{path} has {lines}; there is no line {from}"))
                .hint("lines start at 1: --from 1")
        }
        MemoryToolError::Store(error) => explained(error),
        MemoryToolError::EmptyQuery
        | MemoryToolError::Limit(_)
        | MemoryToolError::Unreadable { .. } => CommandError::new(error),
    }
}

pub fn get(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    path: &str,
    (from, lines): (Option<u32>, Option<u32>),
    as_json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let memory = opened.memory()?;
    let get = GetRequest {
        path,
        from,
        lines,
        audience: Audience::Private,
        sources: SearchSources::All,
    };
    let lines = tool::read(&memory, &get).map_err(unreadable)?;
    if as_json {
        screen.json(&json!({
            "path": lines.label, "startLine": lines.start_line, "endLine": lines.end_line,
            "totalLines": lines.total_lines, "text": lines.text, "next": lines.next,
        }))?;
    } else {
        screen.line(&lines.text)?;
        if let Some(next) = lines.next {
            let paint = screen.paint;
            screen.line(paint.dim(format!(
                "… {} more lines: --from {next}",
                grouped((lines.total_lines - lines.end_line) as usize)
            )))?;
        }
    }
    Ok(CommandExit::Fine)
}
