//! Pictures that came with a message to a model that cannot see: the configured image model looks
//! at them first, and what it says is put beside the message.

use chela_core::{Origin, Trust};
use chela_guard::{ExternalSource, LabelledText, NOTICE};
use chela_model::{MessagePart, ModelInput};
use chela_session::{CustomMessage, EntryBody};
use chela_tools::OutputPiece;
use serde_json::json;
use tokio::time::sleep;

use super::picture_reader::QUESTION;
use super::{RunningTurn, TurnError};
use crate::inbound_message::InboundMessage;
use crate::runtime_blocks::{BlockKind, RuntimeBlock, SentBlock, unforged};

const SEEN: &str = include_str!("../../text/attached-picture.md");
const UNSEEN: &str = include_str!("../../text/picture-unseen.md");
/// Where what is said of them comes from.
const ATTACHED: &str = "an attached picture";

/// Pictures of the newest message that nobody has looked at yet.
#[derive(Default)]
pub(super) struct AttachedPictures {
    pictures: Vec<OutputPiece>,
    /// What was said with them.
    question: String,
}

impl AttachedPictures {
    pub(super) fn of(message: &InboundMessage) -> Self {
        let pictures = message.images.iter().map(|image| OutputPiece::Image {
            mime: image.mime.clone(),
            data: image.data.clone(),
        });
        Self {
            pictures: pictures.collect(),
            question: message.text.clone(),
        }
    }

    /// Those of one more message.
    pub(super) fn add(&mut self, message: &InboundMessage) {
        let more = Self::of(message);
        if !more.pictures.is_empty() {
            self.pictures.extend(more.pictures);
            self.question = more.question;
        }
    }
}

impl RunningTurn<'_> {
    /// Has the image model look, once, where the model itself cannot and one is configured.
    pub(super) async fn look_at_attached(&mut self) -> Result<(), TurnError> {
        let AttachedPictures { pictures, question } = std::mem::take(&mut self.attached);
        let agents = &self.parts.scope.agents;
        let configured = agents.loaded.config.agents.defaults.image_model.is_some();
        let sees = self.chain.current().info().reads(ModelInput::Image);
        if pictures.is_empty() || sees || !configured {
            return Ok(());
        }
        let question = match question.trim() {
            "" => QUESTION,
            asked => asked,
        };
        let time_left = self.spent.time_left(self.now());
        let looked = tokio::select! {
            biased;
            // Whoever asks the model next finds out that the turn is over.
            () = self.parts.until_stopped() => return Ok(()),
            () = sleep(time_left) => return Ok(()),
            looked = self.look_at(&pictures, question) => looked,
        };
        let (text, trust) = match looked {
            Ok((said, model)) => {
                let source = ExternalSource::Api {
                    name: format!("{model}, about {ATTACHED}"),
                };
                let origin = Origin::file(ATTACHED, &said);
                let entropy = agents.host.entropy.as_ref();
                let said = LabelledText::external(&said, &source, origin, entropy);
                let lead = SEEN.trim().replace("{model}", &model);
                (
                    format!("{lead}\n{NOTICE}\n{}", said.text()),
                    Trust::External,
                )
            }
            Err(why) => (UNSEEN.trim().replace("{why}", &why), Trust::Operator),
        };
        self.put_beside(text, trust).await
    }

    async fn put_beside(&self, text: String, trust: Trust) -> Result<(), TurnError> {
        let text = self
            .parts
            .scope
            .agents
            .redactor()
            .redact(&text)
            .into_owned();
        let block = RuntimeBlock {
            kind: BlockKind::Pictures,
            origin: Origin::file(ATTACHED, &text),
            text: unforged(&text),
            trust,
        };
        let note = CustomMessage {
            custom_type: "pictures".to_owned(),
            details: json!({ "runtime": [SentBlock::of(&block)] }),
            content: vec![MessagePart::text(block.text)],
            display: false,
        };
        let sessions = &self.parts.transcript.sessions;
        let kept = sessions.append(&self.session, EntryBody::CustomMessage(note));
        kept.await?;
        Ok(())
    }
}
