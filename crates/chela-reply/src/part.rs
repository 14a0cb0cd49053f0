//! Parts of a text, by where they begin and end. A place that lies in no text, or inside of a
//! character, is a mistake of ours: it must not end a turn.

pub fn head(text: &str, end: usize) -> &str {
    text.get(..end).unwrap_or(text)
}

pub fn tail(text: &str, from: usize) -> &str {
    text.get(from..).unwrap_or_default()
}

pub fn chars_from(chars: &[char], from: usize) -> &[char] {
    chars.get(from..).unwrap_or_default()
}
