//! `/context`: what the model reads, as an answer in a chat.

use chela_core::grouped;

use super::command_context::{CommandContext, CommandTrouble};
use super::run::CommandAnswer;
use chela_inspect::report::{
    ContextReport, FileWord, ReportEntry, ReportListing, ReportSource, TextSize,
};
use chela_inspect::why::{TOOLS, TextPresence};

/// How many skills and tools `detail` names one by one.
const MOST_ENTRIES: usize = 12;
/// Rows of the map.
const MOST_BARS: usize = 16;
const BAR: usize = 24;

pub async fn answer(
    talk: &impl CommandContext,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let text = match word.to_ascii_lowercase().as_str() {
        "" => overview(&talk.report().await?),
        "list" => list(&talk.report().await?),
        "detail" => detail(&talk.report().await?),
        "map" => map(&talk.report().await?),
        "json" => json(&talk.report().await?)?,
        "why" if !rest.trim().is_empty() => why(talk, rest.trim()).await?,
        "why" => {
            "Why what? A file, a section, a tool or words from the text: `/context why SOUL.md`."
                .to_owned()
        }
        _ => why(talk, args).await?,
    };
    Ok(CommandAnswer::text(text))
}

fn overview(report: &ContextReport) -> String {
    let total = report.total.tokens.max(1);
    format!(
        "Before your first word the model reads {} ({} % of it cached from turn to turn), \
            including {} of files, {} of skills and {} of tools.\n\n`/context list` lists the \
            parts, `detail` every section, `map` draws them, `why WHAT` says why something is in \
            the prompt or is not, `json` is for scripts.",
        size(report.total),
        report.stable.tokens * 100 / total,
        size(report.project_context),
        size(report.skills.size),
        size(report.tool_schemas),
    )
}

fn list(report: &ContextReport) -> String {
    let mut text = head(report, "Context breakdown");
    text.push_str(&tail(report));
    text
}

fn detail(report: &ContextReport) -> String {
    let mut text = head(report, "Context breakdown (detailed)");
    text.push_str("\nSections, in prompt order:\n\n");
    for section in &report.sections {
        text.push_str(&format!(
            "- {}: {}, {}, {}\n",
            section.id,
            size(section.size),
            section.zone.as_str(),
            section.trust.as_str()
        ));
    }
    text.push_str(&top(
        "Top skills (prompt entry size):",
        &report.skills,
        "skills",
    ));
    text.push_str(&top("Top tools (schema size):", &report.tools, "tools"));
    text.push_str(&tail(report));
    text
}

fn head(report: &ContextReport, title: &str) -> String {
    let source = match report.source {
        ReportSource::Run => "run",
        ReportSource::Estimate => "estimate",
    };
    let mut text = format!(
        "🧠 **{title}**\n\n\
         - Workspace: `{}`\n\
         - Bootstrap max/file: {}\n\
         - Sandbox: mode={} sandboxed={} exec={}\n\
         - Request before your first word: {}\n\
         - System prompt ({source}): {} (Project Context {})\n\
         - Cache: {} stable, {} volatile\n\n\
         Injected workspace files:\n\n",
        report.workspace.display(),
        report.limits.per_file.replace("characters", "chars"),
        report.sandbox.mode,
        report.sandbox.sandboxed,
        report.sandbox.exec,
        size(report.total),
        size(report.prompt),
        size(report.project_context),
        size(report.stable),
        size(report.volatile),
    );
    for file in &report.files {
        if file.status == FileWord::Missing && file.remarks.is_empty() {
            continue;
        }
        let sizes = match file.status {
            FileWord::Missing => "raw 0, injected 0".to_owned(),
            _ => format!("raw {}, injected {}", size(file.raw), size(file.injected)),
        };
        text.push_str(&format!(
            "- {}: **{}**, {sizes}\n",
            file.name,
            file.status.as_str()
        ));
    }
    text
}

fn tail(report: &ContextReport) -> String {
    let names: Vec<&str> = report
        .tools
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    let tools = match names.as_slice() {
        [] => "(none)".to_owned(),
        names => names.join(", "),
    };
    let known = |number: Option<usize>| number.map_or_else(|| "unknown".to_owned(), grouped);
    format!(
        "\n\
         - Skills list (system prompt text): {} ({} skills)\n\
         - Tools: {tools}\n\
         - Tool list (system prompt text): {}\n\
         - Tool schemas (JSON): {} (counts toward context; not shown as text)\n\
         {}- Session tokens (cached): {} total / ctx={}\n{}",
        size(report.skills.size),
        report.skills.named,
        size(report.tool_list),
        size(report.tool_schemas),
        report.answer_form.map_or_else(String::new, |form| format!(
            "- Answer form (JSON schema): {} ({})\n",
            size(form.size),
            form.in_words()
        )),
        known(report.session_tokens),
        known(report.context_window),
        report
            .last_request
            .map_or_else(String::new, |last| format!("- {}\n", last.in_words())),
    )
}

fn top(title: &str, listing: &ReportListing, noun: &str) -> String {
    if listing.entries.is_empty() {
        return String::new();
    }
    let mut entries: Vec<&ReportEntry> = listing.entries.iter().collect();
    entries.sort_by(|a, b| {
        b.size
            .chars
            .cmp(&a.size.chars)
            .then_with(|| a.name.cmp(&b.name))
    });
    let mut text = format!("\n{title}\n\n");
    for entry in entries.iter().take(MOST_ENTRIES) {
        text.push_str(&format!("- {}: {}\n", entry.name, size(entry.size)));
    }
    if entries.len() > MOST_ENTRIES {
        text.push_str(&format!(
            "\n… (+{} more {noun})\n",
            entries.len() - MOST_ENTRIES
        ));
    }
    text
}

/// Bars in a code block: every surface keeps its columns.
fn map(report: &ContextReport) -> String {
    let form = report.answer_form.filter(|form| form.in_total);
    let mut parts: Vec<(&str, usize)> = report
        .files
        .iter()
        .map(|file| (file.name.as_str(), file.injected.tokens))
        .chain(
            report
                .sections
                .iter()
                .map(|section| (section.id, section.own.tokens)),
        )
        .chain(
            report
                .skills
                .entries
                .iter()
                .chain(&report.tools.entries)
                .map(|entry| (entry.name.as_str(), entry.size.tokens)),
        )
        .chain(form.map(|form| ("answer form", form.size.tokens)))
        .chain([("frame", report.frame_tokens())])
        .filter(|(_, tokens)| *tokens > 0)
        .collect();
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let most = parts.first().map_or(1, |(_, tokens)| *tokens);
    let mut text = String::from("```\n");
    for (name, tokens) in parts.iter().take(MOST_BARS) {
        let bar = "█".repeat((tokens * BAR).div_ceil(most));
        let name: String = name.chars().take(18).collect();
        text.push_str(&format!("{name:<18} {bar} {}\n", grouped(*tokens)));
    }
    if let Some(rest) = parts.get(MOST_BARS..).filter(|rest| !rest.is_empty()) {
        let tokens: usize = rest.iter().map(|(_, tokens)| tokens).sum();
        text.push_str(&format!(
            "and {} smaller parts: {}\n",
            rest.len(),
            grouped(tokens)
        ));
    }
    text.push_str("```\n\n`chela context map -o map.png` draws it.");
    text
}

fn json(report: &ContextReport) -> Result<String, CommandTrouble> {
    let json = serde_json::to_string_pretty(report).map_err(|error| error.to_string())?;
    Ok(format!("```json\n{json}\n```"))
}

async fn why(talk: &impl CommandContext, what: &str) -> Result<String, CommandTrouble> {
    let answers = talk.why(what).await?;
    let told = answers.iter().map(|answer| {
        let verdict = match answer.presence {
            TextPresence::Present => "in the prompt",
            TextPresence::Partly => "partly in the prompt",
            TextPresence::Absent => "not in the prompt",
        };
        let mut text = format!("**{}** is {verdict}. {}", answer.what, answer.because);
        if let Some(spot) = &answer.spot {
            let place = match spot.section {
                TOOLS => "among the tools".to_owned(),
                section => format!("in section `{section}`"),
            };
            text.push_str(&format!(
                " It is {place} and costs {} tokens.",
                grouped(spot.tokens)
            ));
        }
        if let Some(source) = answer.source.as_ref().filter(|source| source.line > 0) {
            text.push_str(&format!(
                " Source: `{}:{}`.",
                source.path.display(),
                source.line
            ));
        }
        text
    });
    Ok(told.collect::<Vec<_>>().join("\n\n"))
}

fn size(size: TextSize) -> String {
    format!(
        "{} chars (~{} tok)",
        grouped(size.chars),
        grouped(size.tokens)
    )
}
