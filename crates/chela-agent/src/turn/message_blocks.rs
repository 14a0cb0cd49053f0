//! What the runtime adds to a message: notes, what it calls up from memory, commands that ended,
//! skills that fit.

use std::ops::ControlFlow;
use std::sync::Arc;

use chela_core::{Audience, ContentHash, Origin, Trust, Zone, ok_or_warn};
use chela_files::ReadVersion;
use chela_guard::{ExternalSource, LabelledText, NOTICE};
use chela_memory::index::SyncDepth;
use chela_memory::prelude::{daily_notes, triggered};
use chela_memory::search::{HitConfidence, SearchHit};
use chela_memory::store::StoreError;
use chela_memory::{MemoryAnswer, MemoryQuestion, MemorySettings, SearchScope, SearchSources};
use chela_prompt::{PartKind, Prompt};
use chela_skills::{AgentSkill, describe, is_partial};

use super::TurnParts;
use super::changed_skills::told_listing;
use super::output_taint::{as_printed, may_print_foreign};
use crate::assemble::PromptSize;
use crate::blocking_work::on_blocking_thread;
use crate::context_builder::RequestPrefix;
use crate::local;
use crate::prefix_text::PrefixText;
use crate::runtime_blocks::{BlockKind, RuntimeBlock};
use crate::scope::ConversationScope;
use crate::skill_ranker::DESCRIBED_PER_MESSAGE;
use crate::skills::trust_of_entry;
use crate::subagents::joined;
use crate::work_folders;

/// The message that something is added to.
pub(super) struct BlocksAsk<'a> {
    pub message: &'a str,
    /// The first of its session.
    pub is_first: bool,
    /// What its reader has before it.
    pub prefix: &'a RequestPrefix,
}

/// What was looked up for a message.
pub(super) struct LookedUp {
    folders: Option<RuntimeBlock>,
    notes: Option<RuntimeBlock>,
    recalled: Option<RuntimeBlock>,
    skills: Option<RuntimeBlock>,
}

/// Looks up what belongs to a message, on whichever thread this is run.
pub(super) fn look_for(
    parts: TurnParts<'_>,
    asked: &BlocksAsk<'_>,
) -> impl FnOnce() -> LookedUp + Send + use<> {
    let (known, message) = (Arc::clone(parts.scope), asked.message.to_owned());
    let told = Arc::clone(&asked.prefix.text);
    let (first, size) = (asked.is_first, asked.prefix.size);
    move || {
        let is_private = known.key.audience() == Audience::Private;
        let folders = work_folders::folders_block(&known);
        let notes = (is_private && first).then(|| recent_notes(&known));
        let recalled = is_private.then(|| recalled(&known, &message, size));
        LookedUp {
            folders,
            notes: notes.flatten(),
            recalled,
            skills: fitting_skills(&known, &message, &told),
        }
    }
}

/// What the runtime adds to this message, besides the facts.
pub(super) async fn blocks_for(
    parts: TurnParts<'_>,
    looked_up: LookedUp,
    news: Option<RuntimeBlock>,
) -> Vec<RuntimeBlock> {
    let LookedUp {
        folders,
        notes,
        recalled,
        skills,
    } = looked_up;
    let mut blocks: Vec<RuntimeBlock> = folders.into_iter().chain(notes).chain(recalled).collect();
    blocks.extend(joined(ended_commands(parts).await, news));
    blocks.extend(skills);
    blocks
}

/// What is said before the skills that fit a message.
const FITTING: &str = include_str!("../../text/skills-fitting.md");
/// The longest description of one of them, in characters.
const LONGEST_DESCRIPTION: usize = 500;

/// The skills that fit the words of a message, where the prompt does not describe them all.
fn fitting_skills(
    scope: &ConversationScope,
    message: &str,
    told: &PrefixText,
) -> Option<RuntimeBlock> {
    // A list that describes every skill, or none at all, says what there is to say.
    if !told_listing(told).is_some_and(is_partial) {
        return None;
    }
    let fitting = scope
        .agents
        .assembler
        .fitting_skills(&scope.view.id, message);
    let (skills, names) = ok_or_warn!(fitting, "no skills are named with the message")?;
    let has_tool = |name: &str| told.tools.iter().any(|tool| tool.name == name);
    let usable = names
        .iter()
        .filter(|name| skills.has_its_tools(name, &has_tool));
    let found: Vec<&AgentSkill> = usable
        .filter_map(|name| skills.get(name))
        .take(DESCRIBED_PER_MESSAGE)
        .collect();
    let trust = found.iter().map(|skill| trust_of_entry(skill)).min()?;
    let text = describe(found.iter().map(|skill| skill.skill()), LONGEST_DESCRIPTION);
    let text = format!("{}\n{text}", FITTING.trim());
    Some(RuntimeBlock {
        kind: BlockKind::Skills,
        text: scope.agents.redactor().redact(&text).into_owned(),
        origin: Origin::Runtime,
        trust,
    })
}

/// Commands that ended in the background since the model last heard.
pub(super) async fn ended_commands(parts: TurnParts<'_>) -> Option<RuntimeBlock> {
    let scope = parts.scope;
    let mut ended = parts.background.commands.processes.finished();
    for command in &mut ended {
        if command.output.trust() == Trust::Agent {
            let (known, words) = (Arc::clone(scope), command.command.clone());
            if on_blocking_thread(move || may_print_foreign(&known, &words)).await {
                command.output = as_printed(scope, &command.output, &command.command);
            }
        }
    }
    let trust = ended.iter().map(|command| command.output.trust()).min()?;
    let text = ended
        .iter()
        .map(|command| {
            format!(
                "{} {}: {}\n{}",
                command.id,
                command.status,
                command.command,
                command.output.text()
            )
        })
        .collect::<Vec<_>>()
        .join("\n\n");
    Some(RuntimeBlock {
        kind: BlockKind::Events,
        text,
        origin: Origin::Runtime,
        trust,
    })
}

/// The daily notes a fresh session starts with.
fn recent_notes(scope: &ConversationScope) -> Option<RuntimeBlock> {
    let settings = MemorySettings::of(&scope.view).prelude;
    let today = local::day(
        &scope.agents.host,
        scope.view.user_timezone.value.as_deref(),
    );
    let notes = daily_notes(&scope.view.workspace.value, today, &settings);
    let known = scope.agents.file_trust();
    let workspace = &scope.view.workspace.value;
    let (foreign, own): (Vec<_>, Vec<_>) = notes.iter().partition(|note| {
        let path = workspace.join(&note.label);
        known.trust_at_version(&path, Some(&note.version)) < Trust::Agent
    });
    let mut texts: Vec<String> = own
        .iter()
        .map(|note| format!("{}\n{}", note.label, note.text))
        .collect();
    if !foreign.is_empty() {
        // Shown unasked, they would taint every new session. Their names are foreign, too.
        texts.push(format!(
            "Recent notes that are not shown here, because nobody answers for what they say: {}. memory_search finds them.",
            foreign.len()
        ));
    }
    let text = texts.join("\n\n");
    (!text.is_empty()).then(|| block(BlockKind::RecentNotes, text, "memory", Trust::Agent))
}

/// What memory holds about the words of a message.
fn recalled(scope: &ConversationScope, message: &str, size: PromptSize) -> RuntimeBlock {
    let recalled = triggered(&scope.view.workspace.value, message);
    let texts = recalled.iter().map(|entry| {
        let text = format!("{}#L{}: {}", entry.label, entry.line, entry.text);
        (entry.label.as_str(), &entry.version, text)
    });
    let (mut text, mut trust) = remembered(scope, texts, Trust::Owner);
    if size == PromptSize::Short {
        for entry in looked_up(scope, message) {
            if !text.contains(entry.text.trim()) {
                trust = trust.join(entry.trust);
                let cited = format!(
                    "{}#L{}: {}",
                    entry.label,
                    entry.start_line,
                    entry.text.trim()
                );
                text = [text, cited].join("\n").trim().to_owned();
            }
        }
    }
    block(BlockKind::Recall, text, "MEMORY.md", trust)
}

/// Most entries that are looked up for a small model.
const MOST_LOOKED_UP: usize = 2;
/// The share of the question's words that one must have, or how like it one must be.
const LEAST_SHARED: f32 = 0.34;
const LEAST_LIKE: f32 = 0.5;
/// Most characters of one.
const LONGEST_LOOKED_UP: usize = 300;

/// A small model does not think of searching its memory: what fits a message well is put before
/// it. What nobody answers for is not shown unasked.
fn looked_up(scope: &ConversationScope, message: &str) -> Vec<SearchHit> {
    let Some(memory) = scope.agents.memory(&scope.view.id) else {
        return Vec::new();
    };
    let found: Result<MemoryAnswer, StoreError> = memory.with(|memory| {
        if memory.syncs_on_search() || memory.is_empty()? {
            memory.sync(SyncDepth::Quick, &mut |_| ControlFlow::Continue(()))?;
        }
        memory.search(&MemoryQuestion {
            max_results: Some(MOST_LOOKED_UP),
            scope: SearchScope {
                sources: SearchSources::Notes,
                ..SearchScope::default()
            },
            ..MemoryQuestion::new(message, scope.key.audience())
        })
    });
    let found = ok_or_warn!(found, "nothing is looked up in memory for a small model");
    // How sure a search is of its answer is learned from large memories: in a small one, what is
    // like the question counts.
    let Some(found) = found.filter(|found| found.answer.confidence != HitConfidence::None) else {
        return Vec::new();
    };
    // The other files stand in the prompt as far as there is room for them.
    let is_note = |label: &str| label.starts_with("memory/") || label == "MEMORY.md";
    let is_ours = |hit: &SearchHit| {
        is_note(&hit.label)
            && (hit.explain.coverage >= LEAST_SHARED || hit.explain.cosine >= LEAST_LIKE)
            && hit.trust >= Trust::Agent
            && hit.text.chars().count() <= LONGEST_LOOKED_UP
    };
    let hits = found.answer.hits.into_iter();
    hits.filter(is_ours).take(MOST_LOOKED_UP).collect()
}

/// Entries of workspace files, by label, as one text with the trust of the least trusted.
/// What nobody answers for is wrapped like any other text from outside.
fn remembered<'t>(
    scope: &ConversationScope,
    texts: impl Iterator<Item = (&'t str, &'t ReadVersion, String)>,
    usual: Trust,
) -> (String, Trust) {
    let known = scope.agents.file_trust();
    let workspace = &scope.view.workspace.value;
    let mut lowest = usual;
    let mut parts = Vec::new();
    for (label, version, text) in texts {
        let trust = usual.join(known.trust_at_version(&workspace.join(label), Some(version)));
        lowest = lowest.join(trust);
        parts.push(match trust {
            Trust::External => {
                let source = ExternalSource::File {
                    path: label.to_owned(),
                };
                let origin = Origin::file(label, &text);
                let entropy = scope.agents.host.entropy.as_ref();
                LabelledText::external(&text, &source, origin, entropy)
                    .text()
                    .to_owned()
            }
            _ => text,
        });
    }
    if lowest == Trust::External {
        parts.insert(0, NOTICE.to_owned());
    }
    (parts.join("\n"), lowest)
}

/// Facts are the runtime's, but HEARTBEAT.md stands among them: what it may not be believed, they
/// may not.
pub(super) fn trust_of_facts(prompt: &Prompt) -> Trust {
    let volatile = prompt.parts.iter().filter(|part| {
        let section = prompt.section(part.section);
        section.is_some_and(|section| section.zone == Zone::Volatile)
    });
    let files = volatile.filter(|part| matches!(part.kind, PartKind::File { .. }));
    let lowest = files.map(|part| part.trust).min();
    match lowest {
        Some(trust) if trust < Trust::Agent => trust,
        _ => Trust::Operator,
    }
}

fn block(kind: BlockKind, text: String, path: &str, trust: Trust) -> RuntimeBlock {
    RuntimeBlock {
        kind,
        origin: Origin::File {
            path: path.to_owned(),
            hash: ContentHash::of(&text),
        },
        text,
        trust,
    }
}
