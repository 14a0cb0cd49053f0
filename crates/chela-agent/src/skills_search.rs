//! `skills_search`: the skills that are not described in the prompt, found by what they do.

use std::sync::{Arc, LazyLock};

use chela_core::secret::Redactor;
use chela_core::{Origin, Trust};
use chela_guard::LabelledText;
use chela_skills::{AgentSkills, describe};
use chela_tools::schema::{self, ArgumentKind, ArgumentSchema};
use chela_tools::{CallFuture, Effect, RunCall, Tool, ToolOutput, ToolSpec};
use serde::Deserialize;

use crate::blocking_work::on_blocking_thread;
use crate::skill_ranker::SkillRanker;
use crate::skills::trust_of_entry;

/// Most skills one question brings.
const MOST_FOUND: usize = 8;
/// The longest description of one, in characters.
const LONGEST: usize = 400;
const ABOUT: &str = include_str!("../text/skills-search.md");

/// Finds skills by words.
pub(crate) struct SkillsSearch {
    /// `None` where the tool is only named.
    pub over: Option<SearchedSkills>,
}

/// What is searched.
#[derive(Clone)]
pub(crate) struct SearchedSkills {
    pub skills: Arc<AgentSkills>,
    pub ranker: Arc<SkillRanker>,
    pub redactor: Arc<Redactor>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    name: "skills_search".into(),
    description: ABOUT.trim().into(),
    parameters: ArgumentSchema::object()
        .required(
            "query",
            ArgumentKind::text().not_empty().such_as("resize images"),
            "",
        )
        .build()
        .into(),
    effect: Effect::Read,
    sinks: [].into(),
});

impl SearchedSkills {
    fn find(&self, query: &str) -> ToolOutput {
        let named = self.skills.get(query.trim()).filter(|skill| {
            let listed = self.skills.listed();
            listed.iter().any(|known| known.name == skill.skill().name)
        });
        let found = match named {
            Some(skill) => vec![skill.skill()],
            None => self.ranker.rank(&self.skills, query, MOST_FOUND),
        };
        if found.is_empty() {
            return ToolOutput::said("No skill fits that. Try other words, or do it without one.");
        }
        let entries = found
            .iter()
            .filter_map(|skill| self.skills.get(&skill.name));
        let trust = entries.map(trust_of_entry).fold(Trust::Owner, Trust::join);
        let text = self.redactor.redact(&describe(found, LONGEST)).into_owned();
        ToolOutput::of(LabelledText::local(text, trust, Origin::Runtime))
    }
}

impl Tool for SkillsSearch {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let asked: SearchArguments = match schema::read(call.arguments) {
                Ok(asked) => asked,
                Err(refused) => return refused,
            };
            match self.over.clone() {
                Some(over) => on_blocking_thread(move || over.find(&asked.query)).await,
                None => ToolOutput::failed("The skills cannot be searched here."),
            }
        })
    }
}
