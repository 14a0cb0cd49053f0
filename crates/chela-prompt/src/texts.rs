//! Every sentence the model reads, from `text/*.md`.

use std::sync::LazyLock;

use crate::template::PromptTemplate;

macro_rules! texts {
    ($($name:ident)*) => {
        /// The text files, one field each.
        #[derive(Debug)]
        pub(crate) struct PromptTexts { $(pub(crate) $name: PromptTemplate),* }

        pub(crate) static TEXTS: LazyLock<PromptTexts> = LazyLock::new(|| PromptTexts {
            $($name: PromptTemplate::parse(include_str!(concat!("../text/", stringify!($name), ".md")))),*
        });

        #[cfg(test)]
        pub(crate) fn all() -> Vec<(&'static str, &'static PromptTemplate)> {
            vec![$((stringify!($name), &TEXTS.$name)),*]
        }
    };
}

texts! {
    identity
    tooling
    tool_call_style
    execution_bias
    delegation
    safety
    control
    skills
    memory_recall
    self_update
    model_aliases
    time_hint
    workspace
    documentation
    sandbox
    authorized_senders
    time
    workspace_files
    output_directives
    reasoning_format
    project_context
    dynamic_context
    silent_replies
    web_embed
    messaging
    voice
    reactions
    heartbeats
    runtime
}

#[cfg(test)]
mod tests {
    /// A misspelt name would silently drop its line or leave a hole in it.
    #[test]
    fn every_name_in_a_text_file_is_known() {
        for (file, template) in super::all() {
            assert!(
                template.unknown.is_empty(),
                "text/{file}.md: {:?}",
                template.unknown
            );
        }
    }
}
