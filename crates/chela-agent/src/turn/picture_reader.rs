//! Pictures that the model of a session cannot see: the configured image model looks at them, in a
//! request of its own, and the model reads what it says.

use std::sync::Arc;

use chela_core::{Origin, lock};
use chela_guard::{ExternalSource, LabelledText};
use chela_ledger::ToolList;
use chela_model::{
    CacheRequest, FallbackChain, MessagePart, ModelInput, ModelMessage, ModelRequest, SystemText,
    ThinkingEffort,
};
use chela_tools::{CallSuccess, OutputPiece, ToolOutput};

use super::RunningTurn;
use super::recorder::RecordedCall;
use crate::assemble::hide_in_message;

const INSTRUCTIONS: &str = include_str!("../../text/look-at-picture.md");
/// Asked when the call says nothing about what is wanted.
pub(super) const QUESTION: &str = "What does it show?";

impl RunningTurn<'_> {
    /// A result the model can read: where it cannot see, pictures are described to it.
    pub(super) async fn described(&self, output: ToolOutput) -> ToolOutput {
        let is_picture = |piece: &OutputPiece| matches!(piece, OutputPiece::Image { .. });
        let sees = self.chain.current().info().reads(ModelInput::Image);
        if sees || !output.content.iter().any(is_picture) {
            return output;
        }
        let (pictures, mut content): (Vec<_>, Vec<_>) =
            output.content.into_iter().partition(is_picture);
        let detail = |name: &str| output.details.get(name).and_then(serde_json::Value::as_str);
        let question = detail("question").unwrap_or(QUESTION);
        let name = detail("path").unwrap_or("a picture");
        let (text, success) = match self.look_at(&pictures, question).await {
            Ok((said, model)) => {
                let source = ExternalSource::Api {
                    name: format!("{model}, about {name}"),
                };
                let origin = Origin::file(name, &said);
                let entropy = self.parts.scope.agents.host.entropy.as_ref();
                let said = LabelledText::external(&said, &source, origin, entropy);
                (said, output.success)
            }
            Err(why) => {
                let told =
                    format!("Nobody could look at it: {why} Say so; do not guess what it shows.");
                (LabelledText::runtime(told), CallSuccess::Failed)
            }
        };
        content.push(OutputPiece::Text(text));
        ToolOutput {
            content,
            success,
            details: output.details,
            written: output.written,
        }
    }

    /// What the first image model that answers says, and which one it is.
    pub(super) async fn look_at(
        &self,
        pictures: &[OutputPiece],
        question: &str,
    ) -> Result<(String, String), String> {
        let scope = self.parts.scope;
        let choice = &scope.agents.loaded.config.agents.defaults.image_model;
        let choice = choice.as_ref().ok_or("no image model is configured.")?;
        let fallbacks = choice.fallbacks().iter().map(String::as_str);
        let mut why = "`agents.defaults.imageModel` names none.".to_owned();
        for name in choice.primary().into_iter().chain(fallbacks) {
            let said = match scope.agents.chain(&scope.view, Some(name)) {
                Ok(chain) => self.ask_about(&chain, pictures, question).await,
                Err(error) => Err(error.to_string()),
            };
            match said {
                Ok(text) => return Ok((text, name.to_owned())),
                Err(error) => {
                    tracing::warn!(name, error, "an image model does not answer");
                    why = format!("{name}: {error}.");
                }
            }
        }
        Err(why)
    }

    async fn ask_about(
        &self,
        chain: &FallbackChain,
        pictures: &[OutputPiece],
        question: &str,
    ) -> Result<String, String> {
        let model = chain.primary().reference();
        chain.primary().fetch_key().await;
        let prefix = Arc::new(self.prefix.aside(model));
        let request = Arc::new(self.picture_request(chain, pictures, question));
        let aside = format!("{}/pictures", self.session.id.as_str());
        let call = RecordedCall {
            scope: self.parts.scope,
            session: &self.session,
            prefix: &prefix,
            chain,
            request: &request,
            tool_marks: &ToolList::default(),
            tokens: None,
            step: self.spent.steps.max(1),
            rewrite: None,
            aside: Some(&aside),
        };
        let beside = self
            .recorder
            .call_beside(&call, self.parts.transcript, None);
        let (answer, usage) = beside.await?;
        *lock(&self.usage_aside) += usage;
        let response = answer?;
        let said = ModelMessage::Assistant {
            content: response.content,
            model: None,
        };
        match said.text().trim() {
            "" => Err("it said nothing".to_owned()),
            text => Ok(text.to_owned()),
        }
    }

    fn picture_request(
        &self,
        chain: &FallbackChain,
        pictures: &[OutputPiece],
        question: &str,
    ) -> ModelRequest {
        let mut content = vec![MessagePart::text(question)];
        content.extend(pictures.iter().filter_map(|piece| match piece {
            OutputPiece::Image { mime, data } => Some(MessagePart::Image {
                mime: mime.clone(),
                data: data.clone(),
            }),
            OutputPiece::Text(_) => None,
        }));
        let message = Arc::new(ModelMessage::User { content });
        ModelRequest {
            system: SystemText {
                stable: INSTRUCTIONS.trim().to_owned(),
                tail: String::new(),
            },
            messages: vec![hide_in_message(
                &message,
                &self.parts.scope.agents.redactor(),
            )],
            tools: Vec::new(),
            tool_mode: chain.current().tool_mode(),
            must_call: Vec::new(),
            thinking: ThinkingEffort::Off,
            max_tokens: None,
            cache: CacheRequest::default(),
            params: serde_json::Map::new(),
        }
    }
}
