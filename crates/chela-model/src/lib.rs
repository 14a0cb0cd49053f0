//! Who answers? Model endpoints, streaming, failover, usage.
//!
//! A [`ModelRequest`] is what every endpoint understands in its own way; a [`ModelResponse`] is what any of
//! them said. [`Models`] says which [`ModelTarget`] a name means, [`call_model`] calls one, a [`FallbackChain`]
//! calls one after the other until one answers. What is sent is an [`EncodedRequest`], written down
//! before by whoever wants it on record. Dropping the future of a call ends it: there is no other
//! way to cancel.

// This crate reads what endpoints say: none of it may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod answer_form;
mod api;
mod builtin;
mod call;
mod chain;
mod compat;
mod complaint;
mod discover;
mod download;
mod encoded;
mod error;
mod exchange;
mod fault;
mod http;
mod info;
mod key;
mod message;
mod models;
pub mod oauth;
mod own_certificates;
mod profile;
mod provider;
mod request;
mod response;
mod server;
mod target;
#[cfg(test)]
mod testing;
mod timer;
mod tls_fault;
mod wire;

pub use chela_core::{Prices, Usage};

pub use answer_form::{AnswerForm, FormReader};
pub use api::{EndpointFamily, ModelApi};
pub use builtin::{KNOWN_SINCE, KnownProvider, known_providers};
pub use call::call_model;
pub use chain::{FallbackChain, TurnStage};
pub use compat::{
    EndpointCompat, MaxTokensField, PromptProfile, ReplyFormat, SchemaProfile, ThinkingFormat,
};
pub use complaint::EndpointComplaint;
pub use discover::{FoundModel, FoundModels, HOW_TO_GET_ONE, discover, served_models};
pub use download::{DownloadError, DownloadLimit, resolve_address};
pub use encoded::EncodedRequest;
pub use error::{CallFailure, ModelError, ResolveError};
pub use exchange::{HttpAnswer, HttpExchange, HttpFault, HttpMethod};
pub use http::{HttpReply, ModelHttp};
pub use info::{InfoSource, ModelInfo, ModelInput};
pub use key::{KeySource, KeyWitness, ModelKey};
pub use message::{MessagePart, ModelMessage, ToolCall};
pub use models::{ModelSelection, Models};
pub use request::{
    CacheRequest, CacheRetention, ModelRequest, SystemText, ThinkingEffort, ToolMode, ToolSchema,
};
pub use response::{ModelResponse, ResponseEvent, StopReason};
pub use server::{learn_from_server, list_models};
pub use target::ModelTarget;
pub use wire::{
    AnswerDecoder, DecodedAnswer, StreamFault, StreamFraming, answer_form, stable_text, tool_texts,
};
