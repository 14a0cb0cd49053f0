//! `chela context list` and `detail`, in the form people know.

use std::io;

use chela_inspect::report::{
    ContextReport, FileRow, FileWord, ReportEntry, ReportListing, ReportSource, TextSize,
};

use crate::screen::{Screen, grouped};

/// How many skills and tools `detail` names one by one.
const MOST_ENTRIES: usize = 12;

pub fn list(screen: &mut Screen, report: &ContextReport) -> io::Result<()> {
    head(screen, report, "Context breakdown")?;
    tail(screen, report)
}

pub fn detail(screen: &mut Screen, report: &ContextReport) -> io::Result<()> {
    head(screen, report, "Context breakdown (detailed)")?;
    screen.blank()?;
    screen.line("Sections (in prompt order):")?;
    for section in &report.sections {
        let heading = section
            .heading
            .as_deref()
            .map(|heading| format!(" {heading}"))
            .unwrap_or_default();
        screen.line(format!(
            "- {}{heading}: {} | {} | {} | {}",
            section.id,
            size(section.size),
            section.zone.as_str(),
            section.trust.as_str(),
            section.origin
        ))?;
    }
    screen.blank()?;
    top(
        screen,
        "Top skills (prompt entry size):",
        &report.skills,
        "skills",
    )?;
    top(screen, "Top tools (schema size):", &report.tools, "tools")?;
    tail(screen, report)
}

fn head(screen: &mut Screen, report: &ContextReport, title: &str) -> io::Result<()> {
    let paint = screen.paint;
    screen.line(paint.bold(format!("🧠 {title}")))?;
    screen.line(format!("Workspace: {}", report.workspace.display()))?;
    screen.line(format!(
        "Session: {} (agent {}, {} prompt)",
        report.session, report.agent, report.mode
    ))?;
    let most = report.limits.per_file.replace("characters", "chars");
    screen.line(format!("Bootstrap max/file: {most}"))?;
    screen.line(format!(
        "Sandbox: mode={} sandboxed={} exec={}",
        report.sandbox.mode, report.sandbox.sandboxed, report.sandbox.exec
    ))?;
    let source = match report.source {
        ReportSource::Run => "run",
        ReportSource::Estimate => "estimate",
    };
    screen.line(format!(
        "System prompt ({source}): {} (Project Context {})",
        size(report.prompt),
        size(report.project_context)
    ))?;
    let wire = match report.wire.as_str() {
        "" => String::new(),
        wire => format!(" ({wire})"),
    };
    screen.line(format!(
        "Request before your first word{wire}: {}",
        size(report.total)
    ))?;
    screen.line(format!(
        "Cache: {} stable, {} volatile",
        size(report.stable),
        size(report.volatile)
    ))?;
    screen.blank()?;
    screen.line("Injected workspace files:")?;
    for file in report.files.iter().filter(|file| worth_a_row(file)) {
        file_line(screen, file)?;
    }
    Ok(())
}

/// A file that is neither there nor wanted needs no row.
fn worth_a_row(file: &FileRow) -> bool {
    file.status != FileWord::Missing || !file.remarks.is_empty()
}

fn file_line(screen: &mut Screen, file: &FileRow) -> io::Result<()> {
    let paint = screen.paint;
    let status = match file.status {
        FileWord::Ok => paint.good(file.status.as_str()),
        FileWord::Truncated | FileWord::Missing => paint.warn(file.status.as_str()),
        FileWord::LeftOut => paint.dim(file.status.as_str()),
    };
    let sizes = match file.status {
        FileWord::Missing => "raw 0 | injected 0".to_owned(),
        _ => format!("raw {} | injected {}", size(file.raw), size(file.injected)),
    };
    screen.line(format!("- {}: {status} | {sizes}", file.name))?;
    for remark in &file.remarks {
        let told = format!("{} {remark}", file.name);
        let indent = "    ";
        for line in crate::screen::wrap(&told, screen.width.saturating_sub(indent.len())) {
            screen.line(format!("{indent}{}", paint.dim(line)))?;
        }
    }
    Ok(())
}

fn tail(screen: &mut Screen, report: &ContextReport) -> io::Result<()> {
    screen.blank()?;
    screen.line(format!(
        "Skills list (system prompt text): {} ({} skills)",
        size(report.skills.size),
        report.skills.named
    ))?;
    let names: Vec<&str> = report
        .tools
        .entries
        .iter()
        .map(|entry| entry.name.as_str())
        .collect();
    let tools = if names.is_empty() {
        "(none)".to_owned()
    } else {
        names.join(", ")
    };
    screen.paragraph("", &format!("Tools: {tools}"))?;
    screen.line(format!(
        "Tool list (system prompt text): {}",
        size(report.tool_list)
    ))?;
    screen.line(format!(
        "Tool schemas (JSON): {} (counts toward context; not shown as text)",
        size(report.tool_schemas)
    ))?;
    if let Some(form) = &report.answer_form {
        let told = format!(
            "Answer form (JSON schema): {} ({})",
            size(form.size),
            form.in_words()
        );
        screen.paragraph("", &told)?;
    }
    screen.line("Tools: (same as above)")?;
    let deferred: Vec<&str> = report
        .deferred
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    if !deferred.is_empty() {
        let names = deferred.join(", ");
        screen.paragraph("", &format!("Found by tools_find when needed: {names}"))?;
    }
    screen.blank()?;
    let total = report
        .session_tokens
        .map_or_else(|| "unknown".to_owned(), grouped);
    let window = report
        .context_window
        .map_or_else(|| "unknown".to_owned(), grouped);
    screen.line(format!(
        "Session tokens (cached): {total} total / ctx={window}"
    ))?;
    match report.last_request {
        Some(last) => screen.line(last.in_words()),
        None => Ok(()),
    }
}

fn top(screen: &mut Screen, title: &str, listing: &ReportListing, noun: &str) -> io::Result<()> {
    if listing.entries.is_empty() {
        return Ok(());
    }
    let mut entries: Vec<&ReportEntry> = listing.entries.iter().collect();
    entries.sort_by(|a, b| {
        b.size
            .chars
            .cmp(&a.size.chars)
            .then_with(|| a.name.cmp(&b.name))
    });
    screen.line(title)?;
    for entry in entries.iter().take(MOST_ENTRIES) {
        screen.line(format!("- {}: {}", entry.name, size(entry.size)))?;
    }
    if entries.len() > MOST_ENTRIES {
        screen.line(format!(
            "... (+{} more {noun})",
            entries.len() - MOST_ENTRIES
        ))?;
    }
    screen.blank()
}

fn size(size: TextSize) -> String {
    format!(
        "{} chars (~{} tok)",
        grouped(size.chars),
        grouped(size.tokens)
    )
}
