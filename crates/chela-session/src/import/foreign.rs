//! Lines from elsewhere are text, whatever they say about themselves: who spoke, how far it is
//! trusted and what the owner decided is for this home alone to say.

use chela_core::{ContentHash, Origin, Trust};
use chela_model::ModelMessage;
use serde_json::{Value, json};

use crate::entry::{CustomEntry, EntryBody, EntryMeta, SpeakerMark, TextLabel};

/// Stands before the first entry that came from elsewhere; what a model said there is foreign as
/// well.
const IMPORTED: &str = "imported";

impl EntryBody {
    /// The entry that begins what came from elsewhere.
    pub(super) fn import_mark() -> Self {
        Self::Custom(CustomEntry {
            custom_type: IMPORTED.to_owned(),
            data: json!({ "trust": Trust::External }),
        })
    }

    /// Whether what follows came from elsewhere.
    pub fn is_import_mark(&self) -> bool {
        matches!(self, Self::Custom(custom) if custom.custom_type == IMPORTED)
    }

    /// Takes from an entry whatever would count here.
    pub(super) fn disown(&mut self) {
        match self {
            Self::Message { message, meta } => disown_message(message, meta),
            Self::CustomMessage(note) => lower_blocks(&mut note.details),
            // Kept for whoever wants to read it, under a name nobody here acts on.
            Self::Custom(custom) if custom.custom_type != IMPORTED => {
                custom.custom_type = format!("{IMPORTED}:{}", custom.custom_type);
            }
            Self::Custom(_)
            | Self::Compaction(_)
            | Self::BranchSummary(_)
            | Self::ToolStarted { .. }
            | Self::TurnEnded { .. }
            | Self::Unknown { .. } => {}
        }
    }
}

fn disown_message(message: &ModelMessage, meta: &mut EntryMeta) {
    let origin = meta.label.take().map(|label| label.origin);
    meta.label = Some(TextLabel {
        trust: Trust::External,
        origin: origin.unwrap_or_else(|| Origin::Channel {
            channel: IMPORTED.to_owned(),
            message: String::new(),
            hash: ContentHash::of(""),
        }),
    });
    if matches!(message, ModelMessage::User { .. }) {
        meta.speaker = Some(SpeakerMark::Unreadable);
        if meta.lead > 0 {
            lower_blocks(&mut meta.details);
        }
    }
}

/// What the runtime sent along elsewhere is not what the runtime says here.
fn lower_blocks(details: &mut Value) {
    if !details.is_object() {
        *details = json!({});
    }
    let blocks = &mut details["runtime"];
    match blocks.as_array_mut() {
        Some(blocks) if !blocks.is_empty() => {
            for block in blocks {
                match block.is_object() {
                    true => block["trust"] = json!(Trust::External),
                    false => *block = json!({ "trust": Trust::External }),
                }
            }
        }
        _ => *blocks = json!([{ "trust": Trust::External }]),
    }
}
