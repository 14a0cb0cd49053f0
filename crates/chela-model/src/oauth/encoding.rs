//! Forms and parts of addresses, percent-encoded.

/// Percent-encoded, but for what never needs it.
pub fn encode_part(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// Fields as a form has them.
pub fn encode_form(fields: &[(&str, &str)]) -> String {
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encode_part(name), encode_part(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// One value of a form, decoded.
pub fn decode_form(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{decode_form, encode_form, encode_part};

    #[test]
    fn what_is_encoded_comes_back() {
        assert_eq!(encode_part("a b&ü"), "a%20b%26%C3%BC");
        assert_eq!(decode_form(&encode_part("a b&ü")), "a b&ü");
        assert_eq!(decode_form("a+b%zz%"), "a b%zz%");
        assert_eq!(encode_form(&[("a", "1 2"), ("b", "x")]), "a=1%202&b=x");
    }
}
