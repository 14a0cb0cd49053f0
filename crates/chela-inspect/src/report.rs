//! What the context is made of and what each part costs, read from the spans of a real prompt.

use std::path::PathBuf;

use chela_core::{Audience, Trust, Zone, tokens};
use chela_ledger::{Ledger, RecordFilter};
use chela_model::ToolSchema;
use chela_prompt::{PartKind, Prompt, SectionId};
use chela_workspace::{FileReport, FileStatus, Need};
use serde::Serialize;

use crate::assembled::Assembled;
pub use crate::assembled::{Limits, SandboxState};
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
    pub limits: Limits,
    pub sandbox: SandboxState,
    pub prompt: Size,
    pub stable: Size,
    pub volatile: Size,
    pub project_context: Size,
    pub files: Vec<FileRow>,
    pub sections: Vec<SectionRow>,
    pub skills: Listing,
    pub tools: Listing,
    pub tool_schemas: Size,
    /// What the provider reported for the last run; absent as long as there was none.
    pub session_tokens: Option<usize>,
    pub context_window: Option<usize>,
    /// Our count of the last request against its provider's; absent as long as none is on record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_request: Option<Reconciled>,
}

/// A request that was counted twice: by us, and by whoever read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reconciled {
    pub counted: u64,
    /// Absent where the provider says nothing: then our own count decides everything.
    pub reported: Option<u64>,
}

impl Reconciled {
    /// The last request of a session that was answered.
    pub fn last(ledger: &Ledger, session: &str) -> Option<Self> {
        let filter = RecordFilter {
            session: Some(session.to_owned()),
            limit: Some(RECENT),
            ..RecordFilter::default()
        };
        let records = chela_store::block_on(ledger.list(&filter)).ok()?;
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
            return format!(
                "Last request: {counted} tok by our count; the provider reported none, so ours counts"
            );
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
pub struct Size {
    pub chars: usize,
    pub tokens: usize,
}

impl Size {
    pub fn of(text: &str) -> Self {
        Self {
            chars: text.chars().count(),
            tokens: tokens::count(text),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileRow {
    pub name: String,
    pub path: PathBuf,
    pub status: FileWord,
    pub raw: Size,
    pub injected: Size,
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
    pub size: Size,
    /// Its own sentences, without the files, skills and tools listed in it.
    pub own: Size,
}

/// Skills or tools as the prompt lists them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Listing {
    pub size: Size,
    /// How many it names; more than it has entries when there is no room to describe all.
    pub named: usize,
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Entry {
    pub name: String,
    pub size: Size,
    pub origin: String,
}

impl ContextReport {
    /// `raw` gives the text of a file that is not in the prompt as it is on the disk.
    pub fn of(assembled: &Assembled, raw: RawFiles<'_>) -> Self {
        let prompt = &assembled.prompt;
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
            prompt: Size::of(&prompt.text),
            stable: Size::of(prompt.stable()),
            volatile: Size::of(prompt.volatile()),
            project_context: Size::of(&project_context),
            files: assembled
                .files
                .iter()
                .map(|file| file_row(prompt, file, raw))
                .collect(),
            sections: section_rows(prompt),
            skills: skills(assembled),
            tools: listing(prompt, |kind| matches!(kind, PartKind::Tool { .. })),
            tool_schemas: schemas(&assembled.tools),
            session_tokens: None,
            context_window: assembled.context_window,
            last_request: None,
        }
    }
}

/// What the tools cost besides their lines in the prompt.
fn schemas(tools: &[ToolSchema]) -> Size {
    let text: Vec<String> = tools
        .iter()
        .map(|tool| {
            let schema = serde_json::json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            });
            schema.to_string()
        })
        .collect();
    Size::of(&text.join(","))
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
                .filter(|part| part.kind.name().is_some());
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
                size: Size::of(prompt.slice(&section.range)),
                own: Size::of(&own),
            }
        })
        .collect()
}

fn file_row(prompt: &Prompt, file: &FileReport, raw: RawFiles<'_>) -> FileRow {
    let part = prompt.parts.iter().find(|part| match &part.kind {
        PartKind::File { path, .. } => *path == file.shown_path,
        _ => false,
    });
    let injected = part.map_or_else(Size::default, |part| Size::of(prompt.slice(&part.range)));
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
                need: Need::Optional
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
fn raw_size(file: &FileReport, injected: Size, raw: RawFiles<'_>) -> Size {
    let tokens = match &file.status {
        FileStatus::Injected => injected.tokens,
        _ => raw(file).map_or(0, |text| tokens::count(&text)),
    };
    Size {
        chars: file.raw_chars,
        tokens,
    }
}

/// The whole list counts, the names without a description included.
fn skills(assembled: &Assembled) -> Listing {
    let listed = listing(&assembled.prompt, |kind| {
        matches!(kind, PartKind::Skill { .. })
    });
    match (
        &assembled.input.skills,
        assembled.prompt.section(SectionId::Skills),
    ) {
        (Some(skills), Some(_)) => Listing {
            size: Size::of(skills.text()),
            named: assembled.skills.listed().len(),
            ..listed
        },
        _ => listed,
    }
}

fn listing(prompt: &Prompt, wanted: impl Fn(&PartKind) -> bool) -> Listing {
    let parts: Vec<_> = prompt
        .parts
        .iter()
        .filter(|part| wanted(&part.kind))
        .collect();
    let text: String = parts.iter().map(|part| prompt.slice(&part.range)).collect();
    let entries = parts.iter().map(|part| Entry {
        name: part.kind.name().unwrap_or_default().to_owned(),
        size: Size::of(prompt.slice(&part.range)),
        origin: part.origin.to_string(),
    });
    Listing {
        size: Size::of(&text),
        named: parts.len(),
        entries: entries.collect(),
    }
}
