//! Text made fit to stand inside the listing's tags.

use std::borrow::Cow;

/// Text between tags. Quotes are left alone: they need no escape there, descriptions are full of
/// them, and each escape costs tokens in every prompt.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    escaped(text, &['&', '<', '>'])
}

/// Text inside the double quotes of an attribute.
pub(crate) fn escape_attribute(text: &str) -> Cow<'_, str> {
    escaped(text, &['&', '<', '>', '"'])
}

fn escaped<'a>(text: &'a str, special: &[char]) -> Cow<'a, str> {
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' if special.contains(&'"') => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}
