//! A command as a person may see it: nothing in it moves the cursor, hides or turns around.

use chela_core::sanitize;

/// What is longer cannot be judged at a glance, and cutting it would hide the part that counts.
pub const LONGEST_SHOWN: usize = 8_000;

/// Makes text safe to print: what is not plainly visible is spelled out.
pub fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_plain(c) => safe.push(c),
            c if u32::from(c) < 0x100 => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    safe
}

/// Arguments as they would be typed.
pub fn typed(arguments: &[String]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Letters of other alphabets stay: a name in Cyrillic is a name. What takes no space or looks
/// like a blank does not.
fn is_plain(c: char) -> bool {
    let mut buffer = [0; 4];
    let alone: &str = c.encode_utf8(&mut buffer);
    let blank = c != ' ' && c.is_whitespace();
    !blank && !c.is_control() && !sanitize::literal(alone).is_empty()
}

#[cfg(test)]
mod tests {
    use super::{shown, typed};

    #[test]
    fn nothing_hides_in_what_a_person_is_shown() {
        assert_eq!(
            shown("rm\u{1b}[2K\rls \u{202e}x\u{200b}\u{a0}y\nz é"),
            "rm\\x1b[2K\\rls \\u{202e}x\\u{200b}\\xa0y\\nz é"
        );
        let typed = typed(&[
            "git".into(),
            "log".into(),
            "a b".into(),
            "it's".into(),
            String::new(),
        ]);
        assert_eq!(typed, "git log 'a b' 'it'\\''s' ''");
    }
}
