//! What a command prints may be text from outside that lies in a file.
//!
//! Reading such a file with a file tool labels it; `cat` would wash it clean. So the output of a
//! command that may have read one is foreign too. Which files a program reads cannot be known from
//! its words: whatever can reach many files, or runs a script, counts as having read them.

use std::path::{Path, PathBuf};

use chela_core::Trust;
use chela_guard::{ExternalSource, Labelled};
use chela_model::ToolCall;
use chela_tools::{Output, Piece, SinkKind, Spec};
use serde_json::{Map, Value};

use super::Turn;
use crate::conversation::Conversation;

/// Programs that read what their words do not name.
const READ_MORE: &[&str] = &[
    "ag", "awk", "bash", "bun", "cargo", "dash", "deno", "fd", "find", "git", "go", "grep", "just",
    "make", "node", "npm", "perl", "php", "python", "python3", "rg", "rsync", "ruby", "sh", "tar",
    "tree", "uv", "xargs", "zip", "zsh",
];

impl Turn<'_> {
    /// The output of a call, foreign where the command may have printed foreign text.
    pub(super) fn relabelled(
        &self,
        call: &ToolCall,
        spec: &Spec,
        arguments: &Map<String, Value>,
        mut output: Output,
    ) -> Output {
        let commands: Vec<&str> = spec
            .sinks
            .iter()
            .filter(|sink| sink.kind == SinkKind::Command)
            .map(|sink| sink.argument.as_ref())
            .collect();
        if commands.is_empty() {
            return output;
        }
        let command = commands
            .iter()
            .filter_map(|name| arguments.get(*name))
            .map(words_of)
            .collect::<Vec<_>>()
            .join(" ");
        let mut known = None;
        for piece in &mut output.content {
            let Piece::Text(text) = piece else { continue };
            if text.trust() == Trust::Agent {
                let foreign = *known.get_or_insert_with(|| match command.is_empty() {
                    // What goes on in the background: its command was another call's.
                    true => self.talk.has_foreign_files(),
                    false => self.talk.may_print_foreign(&command),
                });
                if foreign {
                    *text = self.talk.as_printed(text, &call.name);
                }
            }
        }
        output
    }
}

impl Conversation {
    /// Text of a command as what it is: from outside.
    pub(crate) fn as_printed(&self, text: &Labelled, command: &str) -> Labelled {
        let source = ExternalSource::Process {
            command: command.to_owned(),
        };
        let entropy = self.agents.host.entropy.as_ref();
        Labelled::external(text.text(), &source, text.origin().clone(), entropy)
    }

    pub(crate) fn has_foreign_files(&self) -> bool {
        !self.foreign_files().is_empty()
    }

    /// Whether a command may print text of a file that holds text from outside.
    pub(crate) fn may_print_foreign(&self, command: &str) -> bool {
        let foreign = self.foreign_files();
        !foreign.is_empty() && may_read(command, &self.view.workspace.value, &foreign)
            || self.names_a_doubtful_skill(command)
    }

    /// Whether a command names the folder of a skill nobody answers for.
    fn names_a_doubtful_skill(&self, command: &str) -> bool {
        let Ok(skills) = self.agents.assembler.skills(&self.view.id) else {
            return false;
        };
        let words = || words_in(command).flat_map(|word| word.split('/'));
        skills
            .listed_with_trust()
            .filter(|(_, trust)| *trust < Trust::Agent)
            .filter_map(|(skill, _)| skill.folder.file_name()?.to_str())
            .any(|folder| words().any(|word| word == folder))
    }

    fn foreign_files(&self) -> Vec<PathBuf> {
        let journal = self.agents.journal(&self.view.id);
        // What cannot be read is no proof that there is nothing.
        journal
            .foreign_files()
            .unwrap_or_else(|_| vec![self.view.workspace.value.clone()])
    }
}

fn may_read(command: &str, folder: &Path, foreign: &[PathBuf]) -> bool {
    words_in(command).any(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        if READ_MORE.contains(&name) || word.contains(['*', '?', '[', '$']) {
            return true;
        }
        let path = folder.join(word.trim_end_matches('/'));
        foreign.iter().any(|file| {
            let same_name = file.file_name().and_then(|own| own.to_str()) == Some(name);
            // A folder stands for what is in it.
            same_name || word.starts_with('.') || file.starts_with(&path)
        })
    })
}

fn words_in(command: &str) -> impl Iterator<Item = &str> {
    let cuts = |c: char| c.is_whitespace() || "\"'`|;&()<>=,:{}".contains(c);
    command.split(cuts).filter(|word| !word.is_empty())
}

fn words_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().map(words_of).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_read_a_foreign_file_is_told_from_what_has_not() {
        let folder = Path::new("/w");
        let foreign = [PathBuf::from("/w/notes/page.md")];
        for command in [
            "cat notes/page.md",
            "cat < 'notes/page.md'",
            "cd notes && cat page.md",
            "cat notes/*.md",
            "grep -r order .",
            "ls notes",
            "head /w/notes/page.md",
            "python3 tool.py",
            "sh -c 'tail x'",
            "cat $FILE",
        ] {
            assert!(may_read(command, folder, &foreign), "{command}");
        }
        for command in [
            "date",
            "echo hello",
            "cat other.md",
            "ls pictures",
            "uname -a",
        ] {
            assert!(!may_read(command, folder, &foreign), "{command}");
        }
    }
}
