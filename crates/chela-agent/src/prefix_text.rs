//! The bytes every request of a session begins with, shared by the sessions that begin alike.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use chela_core::secret::Redactor;
use chela_core::{ContentHash, lock, tokens};
use chela_ledger::{SectionList, ToolList, ToolMark};
use chela_model::{
    FormReader, ModelTarget, ToolMode, ToolSchema, answer_form, stable_text, tool_texts,
};

/// What is sent of a prefix, and what is recorded about it.
#[derive(Debug)]
pub(crate) struct PrefixText {
    pub stable: String,
    pub tools: Vec<ToolSchema>,
    /// What the stable zone is made of, for the record.
    pub sections: SectionList,
    pub tool_marks: ToolList,
    /// What it costs, and for whom that was counted: formats differ.
    tokens: Mutex<Option<(CountedFor, u64)>>,
    /// How many values the redactor knew when it found none of them in here; 0: it was not asked.
    clean: AtomicUsize,
}

/// Whose format a count is of.
type CountedFor = (String, ToolMode);

impl PrefixText {
    pub fn new(stable: String, tools: Vec<ToolSchema>, sections: SectionList) -> Self {
        Self {
            tool_marks: tools.iter().map(tool_mark).collect(),
            stable,
            tools,
            sections,
            tokens: Mutex::default(),
            clean: AtomicUsize::new(0),
        }
    }

    /// Whether it is known to hold nothing of what a redactor knows now.
    pub fn is_clean(&self, redactor: &Redactor) -> bool {
        self.clean.load(Ordering::Acquire) == redactor.known_values() + 1
    }

    /// It was looked through.
    pub fn note_clean(&self, redactor: &Redactor) {
        self.clean
            .store(redactor.known_values() + 1, Ordering::Release);
    }

    /// What it costs by our own count, as this model is sent it.
    pub fn tokens(&self, target: &ModelTarget, mode: ToolMode) -> u64 {
        let wanted = (target.reference().to_owned(), mode);
        if let Some((counted_for, tokens)) = &*lock(&self.tokens)
            && *counted_for == wanted
        {
            return *tokens;
        }
        let tokens = head_tokens(target, mode, &self.stable, &self.tools);
        *lock(&self.tokens) = Some((wanted, tokens));
        tokens
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.stable == other.stable
            && self.tool_marks == other.tool_marks
            && self.tools == other.tools
            && self.sections == other.sections
    }
}

/// What the stable zone of a prompt and the tools cost by our own count: each as it is sent.
pub(crate) fn head_tokens(
    target: &ModelTarget,
    mode: ToolMode,
    stable: &str,
    tools: &[ToolSchema],
) -> u64 {
    let system = tokens::count(&stable_text(stable, tools, mode));
    let beside: usize = match mode {
        ToolMode::Native => {
            let texts = tool_texts(target, tools, mode);
            texts.iter().map(|text| tokens::count(text)).sum()
        }
        ToolMode::Constrained => answer_form(target, tools, mode)
            .filter(|form| form.reader == FormReader::Model)
            .map_or(0, |form| tokens::count(&form.text)),
    };
    (system + beside) as u64
}

/// The prefixes in use: sessions that begin alike have the same one in memory.
#[derive(Default)]
pub(crate) struct SharedPrefixes(Mutex<Vec<Weak<PrefixText>>>);

impl SharedPrefixes {
    pub fn share(&self, text: PrefixText) -> Arc<PrefixText> {
        let mut known = lock(&self.0);
        known.retain(|known| known.strong_count() > 0);
        let mut kept = known.iter().filter_map(Weak::upgrade);
        if let Some(same) = kept.find(|kept| kept.is_same_as(&text)) {
            return same;
        }
        drop(kept);
        let text = Arc::new(text);
        known.push(Arc::downgrade(&text));
        text
    }
}

pub(crate) fn tool_mark(tool: &ToolSchema) -> ToolMark {
    let text = format!("{}\0{}\0{}", tool.name, tool.description, tool.parameters);
    ToolMark {
        name: tool.name.clone(),
        hash: ContentHash::of(&text),
        bytes: text.len() as u64,
    }
}
