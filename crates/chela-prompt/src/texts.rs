//! Every sentence the model reads, from `text/*.md`.

use std::sync::LazyLock;

use crate::template::Template;

macro_rules! texts {
    ($($name:ident)*) => {
        /// The text files, one field each.
        #[derive(Debug)]
        pub(crate) struct Texts { $(pub(crate) $name: Template),* }

        pub(crate) static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts {
            $($name: Template::parse(include_str!(concat!("../text/", stringify!($name), ".md")))),*
        });

        #[cfg(test)]
        pub(crate) fn all() -> Vec<(&'static str, &'static Template)> {
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
    use chela_core::Zone;

    use super::all;
    use crate::files::FileList;
    use crate::out::Out;
    use crate::template::Values;
    use crate::view::View;
    use crate::{PromptInput, TruncationNotice};

    /// A misspelt name would silently drop its line or leave a hole in it.
    #[test]
    fn every_name_in_a_text_file_is_known() {
        let input = PromptInput::new("/w");
        let view = View::new(&input);
        let files = FileList::new(&[], Zone::Stable, TruncationNotice::Shown);
        for (file, template) in all() {
            let values: &dyn Values = if file == "project_context" {
                &files
            } else {
                &view
            };
            for flag in template.flags() {
                assert!(
                    values.flag(flag).is_some(),
                    "text/{file}.md: unknown {{{{if {flag}}}}}"
                );
            }
            for slot in template.slots() {
                let known = values.write(slot, &mut Out::with_capacity(0));
                assert!(known, "text/{file}.md: unknown {{{{{slot}}}}}");
            }
        }
    }

    /// Names of tools in conditions are lower case, as the list compares them.
    #[test]
    fn conditions_name_tools_as_the_list_does() {
        for (file, template) in all() {
            for flag in template.flags() {
                assert_eq!(flag, flag.to_lowercase(), "text/{file}.md");
            }
        }
    }
}
