//! `/v1/embeddings`: vectors of the table inside the program. Nothing leaves the machine.

use axum::Json;
use axum::body::Body;
use chela_memory::embed::{EmbedRole, EmbedText, Embedder, LocalTable};
use serde::Deserialize;
use serde_json::{Value, json};

use super::read_body::read_json;
use crate::error_reply::ErrorReply;

const MOST_TEXTS: usize = 2_048;
const BODY: usize = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct EmbeddingAsk {
    input: EmbeddingInput,
    #[serde(default)]
    encoding_format: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum EmbeddingInput {
    One(String),
    Many(Vec<String>),
}

pub(super) async fn create(body: Body) -> Result<Json<Value>, ErrorReply> {
    let ask: EmbeddingAsk = read_json(body, BODY).await?;
    let texts = match ask.input {
        EmbeddingInput::One(text) => vec![text],
        EmbeddingInput::Many(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MOST_TEXTS {
        return Err(ErrorReply::bad_request(format!(
            "`input` holds between 1 and {MOST_TEXTS} texts"
        )));
    }
    let tokens: usize = texts
        .iter()
        .map(|text| chela_core::tokens::count(text))
        .sum();
    let as_base64 = ask.encoding_format.as_deref() == Some("base64");
    let embedded = tokio::task::spawn_blocking(move || {
        let texts: Vec<EmbedText<'_>> = texts.iter().map(EmbedText::plain).collect();
        LocalTable.embed(&texts, EmbedRole::Document)
    });
    let vectors = match embedded.await {
        Ok(Ok(vectors)) => vectors,
        Ok(Err(error)) => return Err(ErrorReply::bad_request(error.to_string())),
        Err(error) => return Err(ErrorReply::bad_request(error.to_string())),
    };
    let rows: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = match as_base64 {
                true => Value::String(packed(vector)),
                false => json!(vector),
            };
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    Ok(Json(json!({
        "object": "list", "data": rows, "model": format!("local/{}", LocalTable::MODEL),
        "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
    })))
}

/// Numbers of four bytes, the lowest first, in base64: what the official clients ask for.
fn packed(vector: &[f32]) -> String {
    use base64::Engine as _;
    let bytes: Vec<u8> = vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
