//! How each service wants to be asked, and how it answers.

#![expect(
    clippy::indexing_slicing,
    reason = "a key set in an object that was just made"
)]

use serde_json::{Value, json};

use crate::embed::EmbedRole;

/// The wire formats that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedWire {
    /// `POST {base}/embeddings`, by OpenAI and by everyone compatible with it.
    OpenAi,
    /// `POST {base}/models/{model}:batchEmbedContents`.
    Gemini,
    /// As OpenAI, with the role of the text.
    Voyage,
    /// `POST {base}/api/embed`.
    Ollama,
}

/// One request of a batch.
#[derive(Debug, Clone, Copy)]
pub struct EmbedBatch<'a> {
    pub model: &'a str,
    pub texts: &'a [String],
    pub role: EmbedRole,
    /// What the service is told the text is, instead of its own word for the role.
    pub input_type: Option<&'a str>,
    /// A length of vectors other than the model's own.
    pub dimensions: Option<usize>,
}

impl EmbedWire {
    /// Where the service lives unless the config says otherwise.
    pub fn usual_base(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Voyage => "https://api.voyageai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The most texts a request may carry.
    pub fn most_texts(self) -> usize {
        match self {
            Self::OpenAi | Self::Voyage => 128,
            Self::Gemini => 100,
            Self::Ollama => 32,
        }
    }

    pub fn url(self, base: &str, model: &str) -> String {
        let base = base.trim_end_matches('/');
        match self {
            Self::OpenAi | Self::Voyage => format!("{base}/embeddings"),
            Self::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                format!("{base}/models/{model}:batchEmbedContents")
            }
            Self::Ollama => {
                let base = base.strip_suffix("/v1").unwrap_or(base);
                format!("{base}/api/embed")
            }
        }
    }

    /// The header that carries the key.
    pub fn key_header(self, key: &str) -> (String, String) {
        match self {
            Self::Gemini => ("x-goog-api-key".into(), key.into()),
            Self::OpenAi | Self::Voyage | Self::Ollama => {
                ("authorization".into(), format!("Bearer {key}"))
            }
        }
    }

    pub fn body(self, batch: &EmbedBatch<'_>) -> Value {
        let mut body = match self {
            Self::OpenAi => json!({
                "model": batch.model, "input": batch.texts, "encoding_format": "float",
            }),
            Self::Voyage => json!({
                "model": batch.model,
                "input": batch.texts,
                "input_type": batch.input_type.unwrap_or(match batch.role {
                    EmbedRole::Document => "document",
                    EmbedRole::Query => "query",
                }),
            }),
            Self::Ollama => json!({ "model": batch.model, "input": batch.texts, "truncate": true }),
            Self::Gemini => return gemini(batch),
        };
        if let (Self::OpenAi, Some(kind)) = (self, batch.input_type) {
            body["input_type"] = kind.into();
        }
        if let Some(length) = batch.dimensions {
            let key = match self {
                Self::Voyage => "output_dimension",
                _ => "dimensions",
            };
            body[key] = length.into();
        }
        body
    }

    /// One vector per text, in the order of the texts; `None` when the answer is of another form.
    pub fn vectors(self, answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
        let vectors: Vec<Vec<f32>> = match self {
            Self::OpenAi | Self::Voyage => {
                let mut rows: Vec<(u64, Vec<f32>)> = answer["data"]
                    .as_array()?
                    .iter()
                    .enumerate()
                    .map(|(at, row)| {
                        let index = row["index"].as_u64().unwrap_or(at as u64);
                        Some((index, numbers(&row["embedding"])?))
                    })
                    .collect::<Option<_>>()?;
                rows.sort_by_key(|(index, _)| *index);
                rows.into_iter().map(|(_, row)| row).collect()
            }
            Self::Gemini => answer["embeddings"]
                .as_array()?
                .iter()
                .map(|row| numbers(&row["values"]))
                .collect::<Option<_>>()?,
            Self::Ollama => answer["embeddings"]
                .as_array()?
                .iter()
                .map(numbers)
                .collect::<Option<_>>()?,
        };
        (vectors.len() == count).then_some(vectors)
    }
}

fn gemini(batch: &EmbedBatch<'_>) -> Value {
    let model = batch.model.strip_prefix("models/").unwrap_or(batch.model);
    let kind = batch.input_type.unwrap_or(match batch.role {
        EmbedRole::Document => "RETRIEVAL_DOCUMENT",
        EmbedRole::Query => "RETRIEVAL_QUERY",
    });
    let requests: Vec<Value> = batch
        .texts
        .iter()
        .map(|text| {
            let mut request = json!({
                "model": format!("models/{model}"),
                "content": { "parts": [{ "text": text }] },
                "taskType": kind,
            });
            if let Some(length) = batch.dimensions {
                request["outputDimensionality"] = length.into();
            }
            request
        })
        .collect();
    json!({ "requests": requests })
}

fn numbers(value: &Value) -> Option<Vec<f32>> {
    let row: Vec<f32> = value
        .as_array()?
        .iter()
        .map(|number| number.as_f64().map(|n| n as f32))
        .collect::<Option<_>>()?;
    (!row.is_empty() && row.iter().all(|n| n.is_finite())).then_some(row)
}

/// What the service says is wrong, in its own words; empty when it says nothing readable.
pub fn complaint(body: &[u8]) -> String {
    const LONGEST: usize = 200;
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return String::new();
    };
    let said = [
        answer.pointer("/error/message"),
        answer.get("detail"),
        answer.get("error"),
        answer.get("message"),
    ]
    .into_iter()
    .flatten()
    .find_map(Value::as_str)
    .unwrap_or_default();
    said.chars()
        .filter(|c| !c.is_control())
        .take(LONGEST)
        .collect()
}
