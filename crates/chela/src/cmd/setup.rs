//! What most commands start with: the config as it counts, and the agents it names.

use std::path::PathBuf;
use std::sync::Arc;

use chela_agent::file_trust::FileTrust;
use chela_agent::prompt_knobs::PromptKnobs;
use chela_config::{AgentView, ConfigSource, KeyPath, LoadedConfig};
use chela_core::{AgentId, Host, suggest};
use chela_inspect::status::config_problems;
use chela_session::journal::{FileJournal, JournalRetention};

use super::owner;
use crate::fail::CommandError;
use crate::process_log;
use crate::screen::{ColourMode, count_noun, print_beside};

/// The machine and the config that counts on it.
pub struct CommandSetup {
    pub host: Host,
    pub loaded: LoadedConfig,
}

impl CommandSetup {
    /// Never fails: a config that cannot be used is replaced by the last good one, or by the
    /// defaults, and [`CommandSetup::warn_on_stderr`] says so. A good one is remembered, unless a command
    /// of an agent asks: it may have named another file.
    pub fn load(host: &Host) -> Self {
        let setup = Self::look(host);
        // Who asks is the dear part of this.
        if chela_config::is_remembered(&setup.loaded) || owner::is_agent(host) {
            return setup;
        }
        // Best effort: a read-only home still works.
        if let Some(found) = chela_config::remember(&setup.loaded) {
            tracing::debug!(problem = %found, "the config is not kept as the last good one");
        }
        setup
    }

    /// The same without writing anything.
    pub fn look(host: &Host) -> Self {
        let loaded = chela_config::load(host);
        process_log::configure(&loaded);
        Self {
            host: host.clone(),
            loaded,
        }
    }

    /// Tells, apart from the output, what is wrong with the config.
    pub fn warn_on_stderr(&self, paint: ColourMode) {
        let problems = config_problems(&self.host, &self.loaded);
        let own = match self.loaded.problems_of_last_good() {
            0 => String::new(),
            many => format!(" and has {} itself", count_noun(many, "problem")),
        };
        let instead = match &self.loaded.source {
            ConfigSource::File | ConfigSource::Defaults(_) if problems.is_empty() => return,
            ConfigSource::LastGood { .. } => "; the last good one is used instead",
            ConfigSource::Defaults(_) => "; the defaults apply instead",
            ConfigSource::File => "",
        };
        // What is wrong may all be in another file, such as a .env.
        let config = self.host.config_file();
        let mut files = problems.iter().filter_map(|found| found.place.as_ref());
        let file = match files.next().map(|place| place.file.clone()) {
            Some(first) if files.all(|place| place.file == first) => first,
            _ => config,
        };
        let file = self.host.compact(&file);
        // The one with a place says most.
        let first = problems
            .iter()
            .find(|found| found.place.is_some())
            .or_else(|| problems.first())
            .map(|found| format!("\n  {}", shown(&self.host, found)))
            .unwrap_or_default();
        let them = match problems.len() {
            1 => "it",
            _ => "them",
        };
        print_beside(format_args!(
            "{} {file} has {}{instead}{own}; `chela config validate` lists {them}{first}",
            paint.warn("warning:"),
            count_noun(problems.len(), "problem"),
        ));
        if let Some(closed) = chela_tools::tools_closed(&self.loaded) {
            print_beside(format_args!("{} {closed}", paint.warn("warning:")));
        }
    }

    /// The agent that was named, or the default one.
    pub fn agent(&self, named: Option<&str>) -> Result<AgentId, CommandError> {
        let Some(named) = named else {
            return Ok(self.loaded.default_agent());
        };
        let agents = self.loaded.agents();
        if let Some(id) = agents.iter().find(|id| id.as_str() == named) {
            return Ok(id.clone());
        }
        let known: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
        let hint = match suggest::nearest(named, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "there is {}; `chela agents add {}` adds it",
                known.join(", "),
                AgentId::normalize(named)
            ),
        };
        Err(CommandError::new(format!("there is no agent `{named}`")).hint(hint))
    }

    /// Where the config file lists an agent; `None` for one that is there without being written.
    pub fn agent_path(&self, agent: &AgentId) -> Option<KeyPath> {
        let agents = KeyPath::root().key("agents");
        let roster = self.loaded.written().root.get("agents")?;
        let in_list = roster
            .get("list")
            .into_iter()
            .flat_map(|list| list.items())
            .position(|entry| {
                entry
                    .get("id")
                    .and_then(|id| id.as_str())
                    .is_some_and(|id| AgentId::normalize(id) == *agent)
            });
        let in_entries = roster
            .get("entries")
            .into_iter()
            .flat_map(|entries| entries.members())
            .find(|entry| AgentId::normalize(&entry.key) == *agent);
        in_list
            .map(|index| agents.key("list").index(index))
            .or_else(|| in_entries.map(|entry| agents.key("entries").key(&entry.key)))
    }

    /// The agents in the order of the config.
    pub fn agents(&self) -> Vec<PromptKnobs> {
        let views = self
            .loaded
            .agents()
            .into_iter()
            .filter_map(|id| self.loaded.agent(&id));
        views
            .map(|view| PromptKnobs::of(&self.loaded, &view))
            .collect()
    }

    pub fn view(&self, agent: &AgentId) -> Result<AgentView, CommandError> {
        self.loaded
            .agent(agent)
            .ok_or_else(|| CommandError::new(format!("there is no agent `{agent}`")))
    }

    /// What the file tools of an agent changed, and which files it answers for.
    pub fn journal(&self, agent: &AgentId) -> FileJournal {
        FileJournal::of(&self.host, agent, JournalRetention::of(&self.loaded))
    }

    /// How far files are trusted.
    pub fn file_trust(&self) -> FileTrust {
        let retention = JournalRetention::of(&self.loaded);
        let agents = self.loaded.agents();
        let journal = |agent| Arc::new(FileJournal::of(&self.host, agent, retention));
        FileTrust {
            journals: agents.iter().map(journal).collect(),
            custodies: chela_agent::trust::custodies_of(&self.host, &self.loaded),
        }
    }

    pub fn workspace_dir(&self, agent: &AgentId) -> PathBuf {
        self.loaded.workspace_dir(agent).value
    }
}

/// A finding with the home folder shortened.
fn shown(host: &Host, found: &chela_config::ConfigDiagnostic) -> String {
    found
        .to_string()
        .replace(&*host.user_home.to_string_lossy(), "~")
}
