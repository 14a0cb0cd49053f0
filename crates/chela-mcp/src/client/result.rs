//! What a server answers to a call, as it may be read: text, pictures, and notes on the rest.

use serde_json::Value;

use crate::link::shown;

/// A picture for a model, as base64.
const MOST_IMAGE: usize = 6 << 20;
const IMAGE_KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Pieces of one answer.
const MOST_PIECES: usize = 200;
/// All text of one answer, in bytes.
const MOST_TEXT: usize = 4 << 20;

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallAnswer {
    pub pieces: Vec<ResultPiece>,
    /// The tool says that it did not work.
    pub is_error: bool,
}

/// A piece of an answer. All of it is text of a stranger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultPiece {
    Text(String),
    Image {
        mime: String,
        /// Base64.
        data: String,
    },
}

impl CallAnswer {
    /// Of a tool.
    pub(crate) fn of_call(told: &Value) -> Self {
        let mut pieces = PieceList::default();
        for block in told["content"].as_array().into_iter().flatten() {
            pieces.add_block(block);
        }
        // What is said in a form for programs stands in the text as well, unless there is none.
        let structured = &told["structuredContent"];
        if pieces.is_empty() && !structured.is_null() {
            pieces.add_text(structured.to_string());
        }
        Self {
            pieces: pieces.done(),
            is_error: told["isError"].as_bool() == Some(true),
        }
    }

    pub(crate) fn of_resource(told: &Value) -> Self {
        let mut pieces = PieceList::default();
        for content in told["contents"].as_array().into_iter().flatten() {
            pieces.add_resource(content);
        }
        Self {
            pieces: pieces.done(),
            is_error: false,
        }
    }

    pub(crate) fn of_prompt(told: &Value) -> Self {
        let mut pieces = PieceList::default();
        for message in told["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or("user");
            pieces.add_text(format!("[{}]", shown(role)));
            pieces.add_block(&message["content"]);
        }
        Self {
            pieces: pieces.done(),
            is_error: false,
        }
    }

    /// All text of it.
    pub fn text(&self) -> String {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            ResultPiece::Text(text) => Some(text.as_str()),
            ResultPiece::Image { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

#[derive(Default)]
struct PieceList {
    pieces: Vec<ResultPiece>,
    bytes: usize,
    left_out: usize,
}

impl PieceList {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.left_out == 0
    }

    fn add_block(&mut self, block: &Value) {
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        match text("type") {
            "text" => self.add_text(text("text").to_owned()),
            "image" => self.add_image(text("mimeType"), text("data")),
            "resource" => self.add_resource(&block["resource"]),
            "resource_link" => {
                let line = format!("[resource {} {}]", shown(text("uri")), shown(text("name")));
                self.add_text(line);
            }
            "audio" => {
                let kind = shown(text("mimeType"));
                self.add_text(format!(
                    "[audio, {kind}, {} bytes as base64]",
                    text("data").len()
                ));
            }
            other => self.add_text(format!("[content of the kind `{}`]", shown(other))),
        }
    }

    fn add_resource(&mut self, resource: &Value) {
        let text = |name: &str| resource[name].as_str();
        let uri = shown(text("uri").unwrap_or_default());
        let kind = text("mimeType").unwrap_or_default();
        match (text("text"), text("blob")) {
            (Some(words), _) => self.add_text(format!("[resource {uri}]\n{words}")),
            (None, Some(data)) if IMAGE_KINDS.contains(&kind) => self.add_image(kind, data),
            (None, data) => {
                let length = data.map_or(0, str::len);
                let kind = shown(kind);
                self.add_text(format!(
                    "[resource {uri}, {kind}, {length} bytes as base64]"
                ));
            }
        }
    }

    fn add_image(&mut self, mime: &str, data: &str) {
        let is_base64 = data
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if IMAGE_KINDS.contains(&mime) && is_base64 && data.len() <= MOST_IMAGE {
            return self.add(ResultPiece::Image {
                mime: mime.to_owned(),
                data: data.to_owned(),
            });
        }
        let line = format!("[image, {}, {} bytes as base64]", shown(mime), data.len());
        self.add_text(line);
    }

    fn add_text(&mut self, text: String) {
        if self.bytes + text.len() > MOST_TEXT {
            self.left_out += 1;
            return;
        }
        self.bytes += text.len();
        self.add(ResultPiece::Text(text));
    }

    fn add(&mut self, piece: ResultPiece) {
        match self.pieces.len() < MOST_PIECES {
            true => self.pieces.push(piece),
            false => self.left_out += 1,
        }
    }

    fn done(mut self) -> Vec<ResultPiece> {
        if self.left_out > 0 {
            let note = format!("[{} more pieces were too much]", self.left_out);
            self.pieces.push(ResultPiece::Text(note));
        }
        self.pieces
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CallAnswer, ResultPiece};

    #[test]
    fn every_kind_of_content_is_told_or_noted() {
        let answer = CallAnswer::of_call(&json!({ "content": [
            { "type": "text", "text": "hello" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" },
            { "type": "image", "mimeType": "image/svg+xml", "data": "AAAA" },
            { "type": "image", "mimeType": "image/png", "data": "\"><script>" },
            { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" },
            { "type": "resource_link", "uri": "file:///a", "name": "a" },
            { "type": "resource", "resource": { "uri": "test://b", "text": "inside" } },
            { "type": "resource", "resource": { "uri": "test://c", "blob": "AA", "mimeType": "x/y" } },
            { "type": "surprise" },
        ], "isError": true }));
        assert!(answer.is_error);
        let images = answer.pieces.iter();
        let images = images.filter(|piece| matches!(piece, ResultPiece::Image { .. }));
        assert_eq!(images.count(), 1);
        let text = answer.text();
        for told in [
            "hello",
            "[audio, audio/wav",
            "[resource file:///a a]",
            "inside",
            "surprise",
        ] {
            assert!(text.contains(told), "{text}");
        }
        assert!(!text.contains("<script>"), "{text}");
    }

    #[test]
    fn what_is_for_programs_is_told_where_there_is_nothing_else() {
        let both =
            json!({ "content": [{ "type": "text", "text": "5" }], "structuredContent": [5] });
        assert_eq!(CallAnswer::of_call(&both).text(), "5");
        let one = json!({ "content": [], "structuredContent": { "sum": 5 } });
        assert_eq!(CallAnswer::of_call(&one).text(), r#"{"sum":5}"#);
    }

    #[test]
    fn an_answer_without_end_ends() {
        let many: Vec<_> = (0..5_000)
            .map(|_| json!({ "type": "text", "text": "x".repeat(2_000) }))
            .collect();
        let answer = CallAnswer::of_call(&json!({ "content": many }));
        assert!(answer.pieces.len() <= 201);
        assert!(answer.text().ends_with("more pieces were too much]"));
    }
}
