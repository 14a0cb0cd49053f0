//! `chela memory search` and `chela memory get`.

use chela_core::Audience;
use chela_memory::search::{FileExcerpt, HitConfidence, VectorState};
use chela_memory::tool::{self, GetRequest, MemoryToolError};
use chela_memory::{FreshLook, MemoryAnswer, MemoryQuestion};
use serde_json::{Value, json};

use super::{explained, open};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped};

/// What was typed.
pub struct SearchRequest {
    pub question: String,
    pub max_results: Option<usize>,
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
    if request.question.trim().is_empty() {
        return Err(
            CommandError::usage("there is nothing to search for").hint("chela memory search WORDS")
        );
    }
    let opened = open(setup, agent)?;
    let mut memory = opened.memory()?;
    let ask = MemoryQuestion {
        question: &request.question,
        max_results: request.max_results,
        min_score: request.min_score,
        audience: Audience::Private,
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
    } else if found.answer.confidence == HitConfidence::Low {
        screen.line(paint.dim(
            "Low confidence: the results have little in common with the \
            question.",
        ))?;
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

fn reasons(excerpt: &FileExcerpt) -> Vec<String> {
    let e = &excerpt.explain;
    let mut lines = vec![
        format!(
            "words   {:.2} (BM25 {:.2}), {:.0} % of the question covered",
            unsigned_zero(e.keyword),
            unsigned_zero(e.bm25),
            unsigned_zero(e.coverage) * 100.0
        ),
        format!(
            "meaning {:.2} (cosine {:.3}), word by word {:.2}",
            unsigned_zero(e.vector),
            unsigned_zero(e.cosine),
            unsigned_zero(e.soft)
        ),
        format!(
            "section {:.2}, was rank {} before the closer look",
            unsigned_zero(e.section),
            e.first_rank
        ),
    ];
    for (value, what) in [
        (e.pairs, "words in a row"),
        (e.phrase, "quoted words"),
        (e.recency, "recent"),
        (e.importance, "marked as important"),
        (e.agreed, "agrees with the other good ones"),
        (e.date, "of the day asked for"),
        (e.role, "said by the user"),
    ] {
        if value > 0.0 {
            lines.push(format!("{what} +{value:.2}"));
        }
    }
    lines
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
            json!({
                "path": excerpt.label, "startLine": excerpt.start_line, "endLine": excerpt.end_line,
                "score": excerpt.score, "heading": excerpt.heading,
                "date": excerpt.date.map(|day| day.to_string()), "text": excerpt.text,
                "citation": excerpt.citation(), "trust": excerpt.trust.as_str(),
                "audience": excerpt.audience.as_str(),
                "explain": {
                    "bm25": unsigned_zero(e.bm25), "keyword": unsigned_zero(e.keyword), "cosine": unsigned_zero(e.cosine), "vector": unsigned_zero(e.vector),
                    "section": unsigned_zero(e.section), "recency": unsigned_zero(e.recency), "importance": unsigned_zero(e.importance),
                    "role": unsigned_zero(e.role), "date": unsigned_zero(e.date),
                    "coverage": unsigned_zero(e.coverage), "pairs": unsigned_zero(e.pairs), "soft": unsigned_zero(e.soft), "phrase": unsigned_zero(e.phrase),
                    "close": unsigned_zero(e.close), "title": unsigned_zero(e.title), "agreed": unsigned_zero(e.agreed),
                    "firstRank": e.first_rank,
                },
            })
        })
        .collect();
    json!({
        "query": request.question, "kind": found.answer.kind.as_str(), "searched": found.answer.searched,
        "confidence": match found.answer.confidence {
            HitConfidence::High => "high", HitConfidence::Low => "low", HitConfidence::None => "none",
        },
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
        MemoryToolError::EmptyQuery | MemoryToolError::Unreadable { .. } => {
            CommandError::new(error)
        }
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
