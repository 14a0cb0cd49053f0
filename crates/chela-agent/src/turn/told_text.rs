//! What a person says, as it is kept: their own words, and beside them what somebody else wrote.

use chela_core::{ContentHash, Origin, Trust};
use chela_guard::{ExternalSource, LabelledText, NOTICE};
use chela_session::{ExternalKind, ExternalSpan, ExternalSpans, MessageSource, find_external};

use crate::inbound_message::InboundMessage;
use crate::runtime_blocks::unforged;
use crate::scope::ConversationScope;

/// The text of a message, and which stretches of it are not the person's.
pub(super) struct ToldText {
    pub text: String,
    pub external: ExternalSpans,
}

impl ToldText {
    /// `said` is what is left of the message's text for the model.
    pub(super) fn of(
        scope: &ConversationScope,
        message: &InboundMessage,
        said: &str,
        source: MessageSource,
    ) -> Self {
        let plain = unforged(said);
        // What the runtime or another session says has a label of its own.
        if source != MessageSource::Person {
            let told = Self {
                text: plain,
                external: ExternalSpans::default(),
            };
            return told.with_outside(scope, message);
        }
        let pasted: Vec<String> = message.pasted.iter().map(|block| unforged(block)).collect();
        let mut spans = find_external(&plain, &pasted);
        if spans.is_empty() && message.piped.is_none() {
            let told = Self {
                text: plain,
                external: ExternalSpans::default(),
            };
            return told.with_outside(scope, message);
        }
        // Spans are places in the text: it is cleaned before they are looked for, so that it is
        // the same when it is read again.
        let redactor = scope.agents.redactor();
        let mut text = redactor.redact(&plain).into_owned();
        let pasted: Vec<String> = pasted
            .iter()
            .map(|block| redactor.redact(block).into_owned())
            .collect();
        spans = find_external(&text, &pasted);
        let own_output: Vec<String> = message
            .own_output
            .iter()
            .map(|block| redactor.redact(&unforged(block)).trim().to_owned())
            .collect();
        for span in &mut spans {
            let block = text.get(span.start..span.end).unwrap_or_default().trim();
            if span.kind == ExternalKind::Fence && own_output.iter().any(|own| own == block) {
                span.trust = Trust::Agent;
            }
        }
        if let Some(piped) = &message.piped {
            let piped = redactor.redact(piped).into_owned();
            let start = match text.trim().is_empty() {
                // Nobody said anything beside it: it is the message, and it names nothing.
                true => {
                    text = unforged(&piped);
                    0
                }
                false => {
                    let source = ExternalSource::File {
                        path: "standard input".to_owned(),
                    };
                    let origin = Origin::file("standard input", &piped);
                    let entropy = scope.agents.host.entropy.as_ref();
                    let wrapped = LabelledText::external(&piped, &source, origin, entropy);
                    let start = text.len();
                    text = format!("{text}\n\n{NOTICE}\n{}", wrapped.text());
                    start
                }
            };
            spans.push(ExternalSpan {
                start,
                end: text.len(),
                kind: ExternalKind::Stdin,
                trust: Trust::External,
            });
        }
        let told = Self {
            text,
            external: ExternalSpans::Known(spans),
        };
        told.with_outside(scope, message)
    }

    /// Adds what came along from outside, wrapped.
    fn with_outside(mut self, scope: &ConversationScope, message: &InboundMessage) -> Self {
        let ExternalSpans::Known(spans) = &mut self.external else {
            return self;
        };
        if message.external.is_empty() {
            return self;
        }
        let redactor = scope.agents.redactor();
        // Spans are places in the text as it is kept.
        if spans.is_empty() {
            self.text = redactor.redact(&self.text).into_owned();
        }
        let start = self.text.len();
        self.text.push_str(&format!("\n\n{NOTICE}"));
        for outside in &message.external {
            let text = redactor.redact(&outside.text).into_owned();
            let origin = Origin::Channel {
                channel: ExternalKind::Outside.as_str().to_owned(),
                message: String::new(),
                hash: ContentHash::of(&text),
            };
            let entropy = scope.agents.host.entropy.as_ref();
            let wrapped = LabelledText::external(&text, &outside.source, origin, entropy);
            self.text.push('\n');
            self.text.push_str(wrapped.text());
        }
        spans.push(ExternalSpan {
            start,
            end: self.text.len(),
            kind: ExternalKind::Outside,
            trust: Trust::External,
        });
        self
    }
}
