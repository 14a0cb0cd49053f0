//! A request cut where requests repeat themselves.
//!
//! From one turn to the next a request differs at its end: the prompt, the tools and the older
//! messages are the same bytes again. Cut at those seams and stored by content, each is kept
//! once. The cut knows JSON and nothing of any provider: the elements of arrays are pieces, and
//! so are long strings. Joined, the pieces are the request, byte for byte.

use std::ops::Range;

use crate::json::{JsonKind, JsonTree, JsonValue};

/// Strings longer than this are pieces of their own, whatever they are part of.
const LONG: usize = 256;
/// How deep an array may lie whose elements are pieces.
const SHALLOW: usize = 2;

/// Cuts a request. A body that is no JSON is one piece.
pub fn pieces(body: &[u8]) -> Vec<Range<usize>> {
    let mut marks = Vec::new();
    if let Some(tree) = JsonTree::of(body) {
        mark(tree.root(), 0, &mut marks);
    }
    tiled(body.len(), marks)
}

fn mark(value: JsonValue<'_, '_>, depth: usize, marks: &mut Vec<Range<usize>>) {
    let range = value.range();
    match value.kind() {
        JsonKind::Text if range.len() > LONG => marks.push(range),
        JsonKind::Text | JsonKind::Word => {}
        JsonKind::Object => value
            .children()
            .for_each(|child| mark(child, depth + 1, marks)),
        JsonKind::Array => {
            for element in value.children() {
                let before = marks.len();
                mark(element, depth + 1, marks);
                // An element is a piece, unless something inside it already is.
                if marks.len() == before && (1..=SHALLOW).contains(&depth) {
                    marks.push(element.range());
                }
            }
        }
    }
}

/// The marked ranges and what lies between them, in order and without gaps.
fn tiled(length: usize, marks: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(2 * marks.len() + 1);
    let mut end = 0;
    for mark in marks {
        if mark.start > end {
            pieces.push(end..mark.start);
        }
        end = mark.end;
        pieces.push(mark);
    }
    if end < length {
        pieces.push(end..length);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::pieces;
    use proptest::prelude::*;

    fn joined(body: &[u8]) -> Vec<u8> {
        pieces(body)
            .into_iter()
            .flat_map(|piece| body[piece].to_vec())
            .collect()
    }

    #[test]
    fn messages_tools_and_long_texts_are_pieces() {
        let prompt = "p".repeat(400);
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"system","content":"{prompt}"}},{{"role":"user","content":"hi \" ]"}}],"tools":[{{"name":"a"}},{{"name":"b"}}],"stream":true}}"#
        );
        let found: Vec<String> = pieces(body.as_bytes())
            .into_iter()
            .map(|piece| body[piece].replace(&prompt, "…"))
            .collect();
        assert_eq!(
            found,
            [
                r#"{"model":"m","messages":[{"role":"system","content":"#,
                r#""…""#,
                "},",
                r#"{"role":"user","content":"hi \" ]"}"#,
                r#"],"tools":["#,
                r#"{"name":"a"}"#,
                ",",
                r#"{"name":"b"}"#,
                r#"],"stream":true}"#,
            ]
        );
        assert_eq!(joined(body.as_bytes()), body.as_bytes());
    }

    #[test]
    fn what_is_no_json_is_one_piece() {
        for body in ["hello?", "{\"a\":", "[1,2", "{\"a\":\"\\", "{} {}"] {
            assert_eq!(pieces(body.as_bytes()).len(), 1, "{body}");
            assert_eq!(joined(body.as_bytes()), body.as_bytes());
        }
        assert!(pieces(b"").is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_said_twice(body in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(joined(&body), body);
        }

        #[test]
        fn nor_of_json(text in "[a\"\\\\\\[\\]{},: 0-9]{0,400}") {
            prop_assert_eq!(joined(text.as_bytes()), text.as_bytes());
        }
    }
}
