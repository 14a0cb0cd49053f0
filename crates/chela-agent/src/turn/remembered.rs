//! What is remembered, with the trust it was written with.

use chela_core::{Origin, Trust};
use chela_guard::{ExternalSource, Labelled, NOTICE};

use crate::conversation::Conversation;

impl Conversation {
    /// Entries of workspace files, by label, as one text with the trust of the least trusted.
    /// What was written in a turn that had read foreign text is wrapped like any other.
    pub(super) fn remembered<'t>(
        &self,
        texts: impl Iterator<Item = (&'t str, String)>,
        usual: Trust,
    ) -> (String, Trust) {
        let known = self.agents.file_trust();
        let workspace = &self.view.workspace.value;
        let mut lowest = usual;
        let mut parts = Vec::new();
        for (label, text) in texts {
            let trust = usual.join(known.ceiling(&workspace.join(label)));
            lowest = lowest.join(trust);
            parts.push(match trust {
                Trust::External => {
                    let source = ExternalSource::File {
                        path: label.to_owned(),
                    };
                    let origin = Origin::file(label, &text);
                    let entropy = self.agents.host.entropy.as_ref();
                    Labelled::external(&text, &source, origin, entropy)
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
}
