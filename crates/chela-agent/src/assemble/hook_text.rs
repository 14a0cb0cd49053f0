//! Text of hooks in what a session begins with.

use std::path::PathBuf;

use chela_core::{Audience, ContentHash, Origin, Trust, Zone};
use chela_prompt::{CleanText, FamilyContribution, PromptReplacement, SourcedValue};
use chela_workspace::{BootstrapContext, BootstrapExtension, ContextFile, FileStatus};

/// What hooks want of the prompt of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookPrompt {
    pub files: Vec<HookText>,
    /// In place of the whole.
    pub replacement: Option<HookText>,
    pub interaction_style: Option<HookText>,
    pub tool_call_style: Option<HookText>,
    pub execution_bias: Option<HookText>,
    pub stable_prefix: Option<HookText>,
    pub dynamic_suffix: Option<HookText>,
}

/// A text of a hook. It stands there under the hook's name, as a plugin's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    pub hook: String,
    /// The file it is, where it is one.
    pub name: String,
    pub text: String,
    /// It stands in place of the owner's file of that name.
    pub replaces: bool,
}

impl HookText {
    /// A text that is no file.
    pub fn of(hook: String, text: String) -> Self {
        Self {
            hook,
            name: String::new(),
            text,
            replaces: false,
        }
    }

    fn sourced(&self) -> Option<SourcedValue<CleanText>> {
        SourcedValue::plugin(&self.hook, &self.text)
    }
}

impl HookPrompt {
    pub(super) fn replacement(&self) -> Option<PromptReplacement> {
        let text = self.replacement.as_ref()?.sourced()?;
        Some(PromptReplacement { text })
    }

    /// What the model's family contributes, but where a hook does.
    pub(super) fn contribution(
        &self,
        family: Option<FamilyContribution>,
    ) -> Option<FamilyContribution> {
        let own = |text: &Option<HookText>| text.as_ref().and_then(HookText::sourced);
        let hooks = FamilyContribution {
            interaction_style: own(&self.interaction_style),
            tool_call_style: own(&self.tool_call_style),
            execution_bias: own(&self.execution_bias),
            stable_prefix: own(&self.stable_prefix),
            dynamic_suffix: own(&self.dynamic_suffix),
        };
        if hooks == FamilyContribution::default() {
            return family;
        }
        let family = family.unwrap_or_default();
        Some(FamilyContribution {
            interaction_style: hooks.interaction_style.or(family.interaction_style),
            tool_call_style: hooks.tool_call_style.or(family.tool_call_style),
            execution_bias: hooks.execution_bias.or(family.execution_bias),
            stable_prefix: hooks.stable_prefix.or(family.stable_prefix),
            dynamic_suffix: hooks.dynamic_suffix.or(family.dynamic_suffix),
        })
    }
}

impl BootstrapExtension for HookText {
    fn id(&self) -> &str {
        &self.hook
    }

    fn adjust(&self, files: &mut Vec<ContextFile>, _: &BootstrapContext<'_>) {
        let own = files
            .iter_mut()
            .find(|file| self.replaces && file.name.eq_ignore_ascii_case(&self.name));
        if let Some(file) = own {
            file.content = self.text.as_str().into();
            return;
        }
        let name = plain_name(&self.name);
        let path = PathBuf::from("hooks")
            .join(plain_name(&self.hook))
            .join(&name);
        files.push(ContextFile {
            shown_path: path.to_string_lossy().into_owned(),
            name,
            path,
            content: self.text.as_str().into(),
            origin: Origin::Plugin {
                id: self.hook.clone(),
                hash: ContentHash::of(&self.text),
            },
            trust: Trust::Plugin,
            audience: Audience::Shared,
            zone: Zone::Stable,
            raw_chars: self.text.chars().count(),
            injected_chars: 0,
            status: FileStatus::Injected,
        });
    }
}

/// A name that leads nowhere else.
fn plain_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '.') {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().map(plain).collect();
    name.trim_start_matches('.').to_owned()
}
