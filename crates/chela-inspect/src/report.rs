//! What the context is made of and what each part costs, read from the spans of a real prompt.

use std::path::PathBuf;

use chela_core::{Audience, Trust, Zone, ok_or_warn, tokens};
use chela_ledger::{Ledger, RecordFilter};
use chela_model::{AnswerForm, FormReader, ToolSchema};
use chela_prompt::{PartKind, Prompt, SectionId};
use chela_workspace::{FileNeed, FileReport, FileStatus};
use serde::Serialize;

use crate::assembled::{AssembledPrompt, ToolPlace, tool_origin};
pub use crate::assembled::{FileLimits, SandboxState};
use crate::why::RawFiles;

/// The answer to `context list`, `detail`, `map` and `json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    pub agent: String,
    pub session: String,
    pub mode: &'static str,
    pub workspace: PathBuf,
    /// Where the figures come from.
    pub source: ReportSource,
    pub limits: FileLimits,
    pub sandbox: SandboxState,
    /// All the endpoint is sent before a person has said a word: system text, tools, and what the
    /// first message begins with. The one total.
    pub total: TextSize,
    /// The wire format it is counted in; empty where no model is configured.
    pub wire: String,
    /// The system prompt, both zones.
    pub prompt: TextSize,
    /// Of the total, what stays the same from turn to turn, and what does not.
    pub stable: TextSize,
    pub volatile: TextSize,
    /// What the first message begins with.
    pub message_head: TextSize,
    pub project_context: TextSize,
    pub files: Vec<FileRow>,
    pub sections: Vec<SectionRow>,
    pub skills: ReportListing,
    /// The tools that go with the request, each as it is sent.
    pub tools: ReportListing,
    /// The lines about tools in the system prompt.
    pub tool_list: TextSize,
    /// All of [`Self::tools`].
    pub tool_schemas: TextSize,
    /// The schema that answers are held to, where the endpoint knows no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_form: Option<AnswerFormRow>,
    /// The tools that can be called and are not in the request until they are looked for.
    pub deferred: Vec<ReportEntry>,
    /// What the provider reported for the last run; absent as long as there was none.
    pub session_tokens: Option<usize>,
    pub context_window: Option<usize>,
    /// Our count of the last request against its provider's; absent as long as none is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_request: Option<RequestCount>,
}

/// A request that was counted twice: by us, and by whoever read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RequestCount {
    pub counted: u64,
    /// Absent where the provider says nothing: then our own count decides everything.
    pub reported: Option<u64>,
}

impl RequestCount {
    /// The last request of a session that was answered.
    pub fn last(ledger: &Ledger, session: &str) -> Option<Self> {
        let filter = RecordFilter {
            session: Some(session.to_owned()),
            limit: Some(RECENT),
            ..RecordFilter::default()
        };
        let records = chela_store::block_on(ledger.list(&filter));
        let records = ok_or_warn!(records, "the last request cannot be read")?;
        let last = records
            .into_iter()
            .filter(|record| record.usage.is_some())
            .max_by_key(|record| record.id)?;
        let usage = last.usage.filter(|usage| !usage.estimated);
        Some(Self {
            counted: last.tokens,
            reported: usage.map(|usage| usage.input),
        })
    }

    /// What the provider counted and we cannot explain; negative where we counted more.
    pub fn unexplained(&self) -> Option<i64> {
        let (reported, counted) = (i64::try_from(self.reported?).ok()?, self.counted);
        Some(reported - i64::try_from(counted).ok()?)
    }

    pub fn in_words(&self) -> String {
        let shown = |number: u64| chela_core::grouped(usize::try_from(number).unwrap_or(0));
        let counted = shown(self.counted);
        let Some((reported, rest)) = self.reported.zip(self.unexplained()) else {
            return format!("Last request: {counted} tok by our count; the provider reported none");
        };
        let sign = if rest < 0 { "-" } else { "+" };
        let share = rest.unsigned_abs() as f64 * 100.0 / reported.max(1) as f64;
        format!(
            "Last request: {counted} tok by our count, {} by the provider's; unexplained: {sign}{} ({share:.1} %)",
            shown(reported),
            shown(rest.unsigned_abs()),
        )
    }
}

/// Records looked at for the last one that was answered.
const RECENT: usize = 5;

/// The schema that answers are held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerFormRow {
    #[serde(flatten)]
    pub size: TextSize,
    /// Whether the model reads it. A server that makes a grammar of it shows the model nothing.
    pub in_total: bool,
}

impl AnswerFormRow {
    fn of(form: &AnswerForm) -> Self {
        Self {
            size: TextSize::of(&form.text),
            in_total: form.reader == FormReader::Model,
        }
    }

    /// Where its tokens go, for people.
    pub fn in_words(&self) -> &'static str {
        match self.in_total {
            true => "counts toward context",
            false => "the server makes a grammar of it; the model reads none of it",
        }
    }
}

/// How the figures were come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportSource {
    /// Recorded by the last run of the session.
    Run,
    /// Rendered just now, as the next run would be.
    Estimate,
}

/// Length in characters and in tokens (o200k).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TextSize {
    pub chars: usize,
    pub tokens: usize,
}

impl TextSize {
    pub fn of(text: &str) -> Self {
        Self {
            chars: text.chars().count(),
            tokens: tokens::count(text),
        }
    }
}

impl std::ops::Add for TextSize {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            chars: self.chars + other.chars,
            tokens: self.tokens + other.tokens,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRow {
    pub name: String,
    pub path: PathBuf,
    pub status: FileWord,
    pub raw: TextSize,
    pub injected: TextSize,
    pub trust: Trust,
    pub audience: Audience,
    pub zone: Zone,
    /// What a person should know about it, as sentences.
    pub remarks: Vec<String>,
}

/// The status of a file in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FileWord {
    #[serde(rename = "OK")]
    Ok,
    #[serde(rename = "TRUNCATED")]
    Truncated,
    #[serde(rename = "MISSING")]
    Missing,
    #[serde(rename = "LEFT OUT")]
    LeftOut,
}

impl FileWord {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Truncated => "TRUNCATED",
            Self::Missing => "MISSING",
            Self::LeftOut => "LEFT OUT",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SectionRow {
    pub id: &'static str,
    pub heading: Option<String>,
    pub zone: Zone,
    pub origin: String,
    pub trust: Trust,
    pub audience: Audience,
    pub size: TextSize,
    /// Its own sentences, without the files and skills listed in it.
    pub own: TextSize,
}

/// Skills as the prompt lists them, or tools as they are sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ReportListing {
    pub size: TextSize,
    /// How many it names; more than it has entries when there is no room to describe all.
    pub named: usize,
    pub entries: Vec<ReportEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportEntry {
    pub name: String,
    pub size: TextSize,
    pub origin: String,
}

impl ContextReport {
    /// What is in the total and in none of the parts: what holds them together.
    pub fn frame_tokens(&self) -> usize {
        let files = self.files.iter().map(|file| file.injected.tokens);
        let sections = self.sections.iter().map(|section| section.own.tokens);
        let listed = self.skills.entries.iter().chain(&self.tools.entries);
        let listed = listed.map(|entry| entry.size.tokens);
        let form = self.answer_form.filter(|form| form.in_total);
        let form = form.map(|form| form.size.tokens);
        let parts: usize = files.chain(sections).chain(listed).chain(form).sum();
        self.total.tokens.saturating_sub(parts)
    }

    /// `raw` gives the text of a file that is not in the prompt as it is on the disk.
    pub fn of(assembled: &AssembledPrompt, raw: RawFiles<'_>) -> Self {
        let prompt = &assembled.prompt;
        let shape = &assembled.shape;
        let tools = tool_rows(assembled);
        let message_head = TextSize::of(&shape.message_head);
        let beside = match shape.tool_place {
            ToolPlace::Beside => tools.size,
            ToolPlace::InSystem => TextSize::default(),
        };
        let answer_form = shape.answer_form.as_ref().map(AnswerFormRow::of);
        let form_size = answer_form.filter(|form| form.in_total);
        let form_size = form_size.map_or_else(TextSize::default, |form| form.size);
        let total = TextSize::of(&shape.system) + beside + form_size + message_head;
        let volatile = match shape.message_head.is_empty() {
            true => TextSize::of(prompt.volatile().trim()),
            false => message_head,
        };
        let context_sections = [SectionId::ProjectContext, SectionId::DynamicContext];
        let project_context: String = context_sections
            .iter()
            .filter_map(|id| prompt.section(*id))
            .map(|section| prompt.slice(&section.range))
            .collect();
        Self {
            agent: assembled.agent.to_string(),
            session: assembled.session.to_string(),
            mode: assembled.input.mode.as_str(),
            workspace: assembled.workspace.clone(),
            source: ReportSource::Estimate,
            limits: assembled.limits.clone(),
            sandbox: assembled.sandbox.clone(),
            total,
            wire: shape.wire.clone(),
            prompt: TextSize::of(&prompt.text),
            stable: TextSize {
                chars: total.chars.saturating_sub(volatile.chars),
                tokens: total.tokens.saturating_sub(volatile.tokens),
            },
            volatile,
            message_head,
            project_context: TextSize::of(&project_context),
            files: assembled
                .files
                .iter()
                .map(|file| file_row(prompt, file, raw))
                .collect(),
            sections: section_rows(prompt),
            skills: skills(assembled),
            tool_schemas: tools.size,
            answer_form,
            tools,
            tool_list: listing(prompt, |kind| matches!(kind, PartKind::Tool { .. })).size,
            deferred: assembled.deferred.iter().map(deferred_row).collect(),
            session_tokens: None,
            context_window: assembled.context_window,
            last_request: None,
        }
    }
}

/// The tools, each as it is sent.
fn tool_rows(assembled: &AssembledPrompt) -> ReportListing {
    let texts = assembled.shape.tool_texts.iter();
    let entries: Vec<ReportEntry> = assembled
        .tools
        .iter()
        .zip(texts)
        .map(|(tool, text)| ReportEntry {
            name: tool.name.clone(),
            size: TextSize::of(text),
            origin: tool_origin(&tool.name),
        })
        .collect();
    ReportListing {
        size: entries
            .iter()
            .fold(TextSize::default(), |sum, entry| sum + entry.size),
        named: entries.len(),
        entries,
    }
}

fn deferred_row(tool: &ToolSchema) -> ReportEntry {
    ReportEntry {
        name: tool.name.clone(),
        size: TextSize::of(&format!(
            "{} {} {}",
            tool.name, tool.description, tool.parameters
        )),
        origin: tool_origin(&tool.name),
    }
}

fn section_rows(prompt: &Prompt) -> Vec<SectionRow> {
    prompt
        .sections
        .iter()
        .map(|section| {
            let mut own = String::new();
            let mut at = section.range.start;
            let listed = prompt
                .parts_of(section.id)
                .filter(|part| matches!(part.kind, PartKind::File { .. } | PartKind::Skill { .. }));
            for part in listed {
                own.push_str(prompt.slice(&(at..part.range.start)));
                at = part.range.end;
            }
            own.push_str(prompt.slice(&(at..section.range.end)));
            SectionRow {
                id: section.id.as_str(),
                heading: section.heading.as_ref().map(ToString::to_string),
                zone: section.zone,
                origin: section.origin.to_string(),
                trust: section.trust,
                audience: section.audience,
                size: TextSize::of(prompt.slice(&section.range)),
                own: TextSize::of(&own),
            }
        })
        .collect()
}

fn file_row(prompt: &Prompt, file: &FileReport, raw: RawFiles<'_>) -> FileRow {
    let part = prompt.parts.iter().find(|part| match &part.kind {
        PartKind::File { path, .. } => *path == file.shown_path,
        _ => false,
    });
    let injected = part.map_or_else(TextSize::default, |part| {
        TextSize::of(prompt.slice(&part.range))
    });
    let status = match &file.status {
        FileStatus::Injected => FileWord::Ok,
        FileStatus::Truncated { .. } => FileWord::Truncated,
        FileStatus::Missing { .. } => FileWord::Missing,
        _ => FileWord::LeftOut,
    };
    let mut remarks: Vec<String> = file.remarks.iter().map(ToString::to_string).collect();
    if !matches!(
        file.status,
        FileStatus::Injected
            | FileStatus::Missing {
                need: FileNeed::Optional
            }
    ) {
        remarks.insert(0, file.status.to_string());
    }
    FileRow {
        name: file.name.clone(),
        path: file.path.clone(),
        status,
        raw: raw_size(file, injected, raw),
        injected,
        trust: file.trust,
        audience: file.audience,
        zone: file.zone,
        remarks,
    }
}

/// What the file costs before anything is done to it. A file that is in the prompt whole costs
/// what it costs there; others are counted by their own text.
fn raw_size(file: &FileReport, injected: TextSize, raw: RawFiles<'_>) -> TextSize {
    let tokens = match &file.status {
        FileStatus::Injected => injected.tokens,
        _ => raw(file).map_or(0, |text| tokens::count(&text)),
    };
    TextSize {
        chars: file.raw_chars,
        tokens,
    }
}

/// The whole list counts, the names without a description included.
fn skills(assembled: &AssembledPrompt) -> ReportListing {
    let listed = listing(&assembled.prompt, |kind| {
        matches!(kind, PartKind::Skill { .. })
    });
    // One that lacks a tool is not named.
    let tools = assembled.tools.iter().chain(&assembled.deferred);
    let has_tool = |name: &str| tools.clone().any(|tool| tool.name == name);
    match (
        &assembled.input.skills,
        assembled.prompt.section(SectionId::Skills),
    ) {
        (Some(skills), Some(_)) => ReportListing {
            size: TextSize::of(skills.text()),
            named: assembled.skills.listed_for(&has_tool).len(),
            ..listed
        },
        _ => listed,
    }
}

fn listing(prompt: &Prompt, wanted: impl Fn(&PartKind) -> bool) -> ReportListing {
    let parts: Vec<_> = prompt
        .parts
        .iter()
        .filter(|part| wanted(&part.kind))
        .collect();
    let text: String = parts.iter().map(|part| prompt.slice(&part.range)).collect();
    let entries = parts.iter().map(|part| ReportEntry {
        name: part.kind.name().unwrap_or_default().to_owned(),
        size: TextSize::of(prompt.slice(&part.range)),
        origin: part.origin.to_string(),
    });
    ReportListing {
        size: TextSize::of(&text),
        named: parts.len(),
        entries: entries.collect(),
    }
}
