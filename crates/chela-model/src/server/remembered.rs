//! What servers on this machine said about their models, kept for whoever asks nobody: the preview
//! of a prompt is that of the next request only when it knows the same window.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chela_core::{Host, ok_or_debug, ok_or_warn};
use chela_files::{FileMode, create_private_folder, write_file};
use serde::{Deserialize, Serialize};

use crate::{InfoSource, ModelInfo, ModelInput, ToolMode};

/// Longer than this it is nothing that was written here.
const MOST_BYTES: u64 = 1 << 20;

/// What one server said about one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerAnswer {
    base_url: String,
    context_window: Option<u64>,
    sees: bool,
    reasoning: bool,
    tools: bool,
    constrained: bool,
}

/// All answers, by `provider/model`.
#[derive(Debug)]
pub struct RememberedAnswers {
    path: PathBuf,
    /// `None` until somebody asks: most commands have nothing to do with a local model.
    answers: Mutex<Option<BTreeMap<String, ServerAnswer>>>,
}

impl RememberedAnswers {
    pub fn of(host: &Host) -> Self {
        Self {
            path: host.state_dir().join("state").join("server-models.json"),
            answers: Mutex::default(),
        }
    }

    /// The model with what the server at this address said when it was asked last. What the config
    /// says stays.
    #[must_use]
    pub fn apply(&self, base_url: &str, mut info: ModelInfo) -> ModelInfo {
        if info.context_window.is_some() {
            return info;
        }
        let known = self.lock();
        let answer = known.as_ref().and_then(|all| all.get(&info.reference));
        if let Some(answer) = answer.filter(|answer| answer.base_url == base_url) {
            answer.fill(&mut info);
        }
        info
    }

    /// Keeps what the server at this address just said. A process that writes at the same time may
    /// take its place: it is asked again before the next turn.
    pub fn keep(&self, base_url: &str, info: &ModelInfo) {
        let answer = ServerAnswer::of(base_url, info);
        let mut known = self.lock();
        let all = known.get_or_insert_default();
        if all.get(&info.reference) == Some(&answer) {
            return;
        }
        all.insert(info.reference.clone(), answer);
        let text = ok_or_warn!(
            serde_json::to_vec_pretty(all),
            "what a server said cannot be written down"
        );
        let (Some(text), Some(folder)) = (text, self.path.parent()) else {
            return;
        };
        let made = create_private_folder(folder).map_err(|error| error.to_string());
        let written = made.and_then(|()| {
            write_file(&self.path, &text, FileMode::Private).map_err(|error| error.to_string())
        });
        // On a disk that cannot be written, the next preview knows less.
        ok_or_debug!(written, "what a server said is not kept");
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<String, ServerAnswer>>> {
        let mut known = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none() {
            *known = Some(self.read().unwrap_or_default());
        }
        known
    }

    /// What was kept; a file that is none is as good as no file.
    fn read(&self) -> Option<BTreeMap<String, ServerAnswer>> {
        let length = std::fs::metadata(&self.path).ok()?.len();
        if length > MOST_BYTES {
            return None;
        }
        let bytes = ok_or_debug!(
            std::fs::read(&self.path),
            "what servers said cannot be read"
        )?;
        ok_or_warn!(
            serde_json::from_slice(&bytes),
            "what servers said is damaged"
        )
    }
}

impl ServerAnswer {
    fn of(base_url: &str, info: &ModelInfo) -> Self {
        Self {
            base_url: base_url.to_owned(),
            context_window: info.context_window,
            sees: info.reads(ModelInput::Image),
            reasoning: info.reasoning,
            tools: info.compat.tools,
            constrained: info.compat.tool_mode == Some(ToolMode::Constrained),
        }
    }

    fn fill(&self, info: &mut ModelInfo) {
        info.context_window = self.context_window;
        info.input = match self.sees {
            true => vec![ModelInput::Text, ModelInput::Image],
            false => vec![ModelInput::Text],
        };
        info.reasoning = self.reasoning;
        info.compat.tools = self.tools;
        if self.constrained {
            info.compat.tool_mode.get_or_insert(ToolMode::Constrained);
        }
        info.source = InfoSource::Remembered;
    }
}
