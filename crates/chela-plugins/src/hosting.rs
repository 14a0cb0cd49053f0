//! Asking the hooks of plugins: in programs that are kept warm in the sandbox, and in commands that are
//! started for one question.

mod one_shot;
mod spec;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::{Host, lock, ok_or_warn};
use chela_mcp::{McpServerSpec, ProgramAsk, ProgramFault, SecretDesk, WarmProgram};
use serde_json::{Map, Value};

use crate::hook_name::HookName;
use crate::installed::InstalledPlugin;
use crate::lock::PluginLock;

/// What the log of a plugin is called.
pub fn log_prefix(id: &str) -> String {
    spec::prefix_of(id)
}

/// What a hook is waited for unless the config says otherwise.
const USUAL_PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_PATIENCE: Duration = Duration::from_secs(55);
/// The first answer of a program waits for its interpreter, too.
const FIRST_PATIENCE: Duration = Duration::from_secs(30);

/// A question for a plugin.
#[derive(Debug, Clone)]
pub struct HookQuestion<'a> {
    pub hook: HookName,
    /// What it is told, of the conversation only where it may see that.
    pub told: Map<String, Value>,
    /// The tool it is about.
    pub tool: Option<&'a str>,
    pub arguments: Option<&'a Map<String, Value>>,
}

/// Why a plugin gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct HookFault {
    pub why: String,
    /// It is not asked any more.
    pub is_quarantined: bool,
}

/// Asks the plugins of one process.
pub struct PluginHost {
    host: Host,
    loaded: Arc<LoadedConfig>,
    desk: Arc<SecretDesk>,
    slots: Mutex<BTreeMap<String, Arc<ProgramSlot>>>,
}

impl std::fmt::Debug for PluginHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginHost")
    }
}

/// The place of one plugin's program.
#[derive(Default)]
struct ProgramSlot {
    /// Held while it is started, so that one start serves all who wait.
    program: tokio::sync::Mutex<Option<RunningProgram>>,
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// Faults in a row that this process saw.
    faults: u32,
    why: Option<String>,
    is_quarantined: bool,
}

struct RunningProgram {
    program: Arc<WarmProgram>,
    /// What it was started as: with other grants it is another one.
    spec: McpServerSpec,
    has_answered: bool,
}

impl PluginHost {
    pub fn new(host: &Host, loaded: &Arc<LoadedConfig>, desk: Arc<SecretDesk>) -> Self {
        Self {
            host: host.clone(),
            loaded: Arc::clone(loaded),
            desk,
            slots: Mutex::default(),
        }
    }

    /// Why a plugin does not work; `None` as far as is known.
    pub fn trouble(&self, plugin: &InstalledPlugin) -> Option<String> {
        let slots = lock(&self.slots);
        let slot = slots.get(&plugin.id)?;
        let state = lock(&slot.state);
        state.why.clone()
    }

    /// How long a hook of a plugin is waited for.
    pub fn patience(plugin: &InstalledPlugin, hook: HookName) -> Duration {
        let hooks = &plugin.entry.hooks;
        let set = hooks.timeouts.get(hook.as_str()).copied();
        let set = set.or(hooks.timeout_ms).map(Duration::from_millis);
        set.unwrap_or(USUAL_PATIENCE).min(LONGEST_PATIENCE)
    }

    /// Asks a plugin one question. There may be several answers: of its program, of its commands.
    pub async fn ask(
        &self,
        plugin: &InstalledPlugin,
        question: &HookQuestion<'_>,
    ) -> Result<Vec<Value>, HookFault> {
        let slot = Arc::clone(lock(&self.slots).entry(plugin.id.clone()).or_default());
        if lock(&slot.state).is_quarantined {
            return Err(HookFault {
                why: "it is quarantined".to_owned(),
                is_quarantined: true,
            });
        }
        match self.answers(plugin, &slot, question).await {
            Ok(answers) => {
                let had_faults = {
                    let mut state = lock(&slot.state);
                    state.why = None;
                    std::mem::take(&mut state.faults) > 0
                };
                if had_faults || plugin.locked.faults.in_a_row > 0 {
                    let forgotten = PluginLock::forget_faults(&self.host, &plugin.id);
                    ok_or_warn!(forgotten, "that a plugin works again is not on record");
                }
                Ok(answers)
            }
            Err(fault) => Err(self.note_fault(plugin, &slot, question.hook, &fault)),
        }
    }

    async fn answers(
        &self,
        plugin: &InstalledPlugin,
        slot: &ProgramSlot,
        question: &HookQuestion<'_>,
    ) -> Result<Vec<Value>, ProgramFault> {
        let Some(package) = &plugin.package else {
            return Err(ProgramFault::NotStarted("it cannot be read".to_owned()));
        };
        let parts = &package.manifest.parts;
        let mut answers = Vec::new();
        let answers_it = |program: &&crate::manifest::PluginProgram| {
            program.hooks.iter().any(|(hook, _)| *hook == question.hook)
        };
        if let Some(program) = parts.program.as_ref().filter(answers_it) {
            let spec =
                spec::of_program(&self.host, plugin, program).map_err(ProgramFault::NotStarted)?;
            answers.extend(self.ask_program(plugin, slot, spec, question).await?);
        }
        let commands = parts.commands.iter();
        for command in commands
            .filter(|command| command.hook == question.hook && command.is_about(question.tool))
        {
            let spec = spec::of_command(&self.host, plugin, &command.command);
            let ask = ProgramAsk {
                host: &self.host,
                loaded: &self.loaded,
                spec: &spec,
                desk: &self.desk,
            };
            answers.extend(one_shot::ask_command(ask, command, question).await?);
        }
        Ok(answers)
    }

    async fn ask_program(
        &self,
        plugin: &InstalledPlugin,
        slot: &ProgramSlot,
        spec: McpServerSpec,
        question: &HookQuestion<'_>,
    ) -> Result<Option<Value>, ProgramFault> {
        let mut patience = Self::patience(plugin, question.hook);
        let program = {
            let mut running = slot.program.lock().await;
            let is_current = |running: &RunningProgram| {
                running.program.ended().is_none() && spec::is_same(&running.spec, &spec)
            };
            if !running.as_ref().is_some_and(is_current) {
                if let Some(old) = running.take() {
                    old.program.close();
                }
                let ask = ProgramAsk {
                    host: &self.host,
                    loaded: &self.loaded,
                    spec: &spec,
                    desk: &self.desk,
                };
                *running = Some(RunningProgram {
                    program: Arc::new(WarmProgram::start(ask).await?),
                    spec,
                    has_answered: false,
                });
            }
            let Some(running) = running.as_mut() else {
                return Ok(None);
            };
            if !running.has_answered {
                patience = patience.max(FIRST_PATIENCE.min(patience.saturating_mul(4)));
            }
            Arc::clone(&running.program)
        };
        let told = Value::Object(question.told.clone());
        let answer = program.ask(question.hook.as_str(), told, patience).await;
        match answer {
            Ok(value) => {
                if let Some(running) = slot.program.lock().await.as_mut() {
                    running.has_answered = true;
                }
                Ok((!value.is_null()).then_some(value))
            }
            // It said that it has nothing to say.
            Err(ProgramFault::Unknown) => Ok(None),
            Err(fault) => {
                // What hangs or misbehaves is not asked again: it is started anew.
                if !matches!(fault, ProgramFault::Refused(_)) {
                    program.close();
                    slot.program.lock().await.take();
                }
                Err(fault)
            }
        }
    }

    fn note_fault(
        &self,
        plugin: &InstalledPlugin,
        slot: &ProgramSlot,
        hook: HookName,
        fault: &ProgramFault,
    ) -> HookFault {
        let why = format!("{hook}: {fault}");
        tracing::warn!(plugin = plugin.id, why, "a plugin failed");
        let noted = PluginLock::note_fault(&self.host, &plugin.id, &why);
        let noted = ok_or_warn!(noted, "that a plugin failed is not on record");
        let mut state = lock(&slot.state);
        state.faults += 1;
        state.is_quarantined = noted.is_some_and(|faults| faults.is_quarantined());
        state.why = Some(why.clone());
        HookFault {
            why,
            is_quarantined: state.is_quarantined,
        }
    }
}
