//! What a program printed, as text a model can read.
//!
//! Escape sequences and control characters are for terminals: they are taken out, a carriage
//! return or backspace does what it does on a screen, bytes that are no text are shown as such.
//! The bytes themselves stay in the spool.

/// Output with more than one odd byte in this many is no text.
const ODD_SHARE: usize = 10;
const LOOKED_AT: usize = 8 * 1024;

/// The output as text. What is binary is described instead.
pub fn plain(bytes: &[u8]) -> String {
    if is_binary(bytes) {
        return describe(bytes);
    }
    let text = String::from_utf8_lossy(bytes);
    let visible = without_escapes(&text);
    let mut lines = Vec::new();
    for line in visible.split('\n') {
        lines.push(as_on_screen(line.strip_suffix('\r').unwrap_or(line)));
    }
    let joined = lines.join("\n");
    chela_core::sanitize::content(&joined).0.into_owned()
}

/// Whether the bytes are a picture, a program, an archive rather than text.
pub fn is_binary(bytes: &[u8]) -> bool {
    let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let odd = start
        .iter()
        .filter(|byte| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127))
        .count();
    let broken = start
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count();
    start.contains(&0) && odd * ODD_SHARE > start.len() / 4
        || (odd + broken) * ODD_SHARE > start.len()
}

fn describe(bytes: &[u8]) -> String {
    let start: Vec<String> = bytes
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let kind = match bytes {
        [0x7f, b'E', b'L', b'F', ..] => "a program (ELF)",
        [0x89, b'P', b'N', b'G', ..] => "a PNG picture",
        [0xff, 0xd8, 0xff, ..] => "a JPEG picture",
        [0x1f, 0x8b, ..] => "gzip data",
        [b'P', b'K', 3, 4, ..] => "a ZIP archive",
        [b'%', b'P', b'D', b'F', ..] => "a PDF",
        _ => "not text",
    };
    format!(
        "[binary output: {kind}, starting with {}; send it to a file instead of printing it]",
        start.join(" ")
    )
}

/// Takes out escape sequences: CSI (`ESC [ … letter`), strings (`ESC ] … BEL` and the like), and
/// two-character ones. An unfinished one ends with its line, so that it cannot swallow the rest.
fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let opener = match c {
            '\u{1b}' => chars.next_if(|c| *c != '\n'),
            '\u{9b}' => Some('['),
            '\u{90}' | '\u{9d}' | '\u{9e}' | '\u{9f}' | '\u{98}' => Some(']'),
            _ => {
                kept.push(c);
                continue;
            }
        };
        match opener {
            Some('[') => {
                while chars
                    .next_if(|c| matches!(c, '\u{20}'..='\u{3f}'))
                    .is_some()
                {}
                chars.next_if(|c| matches!(c, '\u{40}'..='\u{7e}'));
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    if c == '\u{7}' || c == '\u{9c}' {
                        break;
                    }
                    if c == '\u{1b}' {
                        chars.next_if(|c| *c == '\\');
                        break;
                    }
                }
            }
            Some('\u{20}'..='\u{2f}') => {
                chars.next_if(|c| *c != '\n');
            }
            _ => {}
        }
    }
    kept
}

/// One line after its carriage returns and backspaces.
fn as_on_screen(line: &str) -> String {
    if !line.contains(['\r', '\u{8}']) {
        return line.to_owned();
    }
    let mut screen: Vec<char> = Vec::new();
    let mut column: usize = 0;
    for c in line.chars() {
        match c {
            '\r' => column = 0,
            '\u{8}' => column = column.saturating_sub(1),
            c => {
                match screen.get_mut(column) {
                    Some(cell) => *cell = c,
                    None => screen.push(c),
                }
                column += 1;
            }
        }
    }
    screen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_titles_and_cursor_moves_go() {
        let printed =
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}\u{1b}[2J\u{1b}[Hx\u{1b}(By\u{9b}31mz";
        assert_eq!(plain(printed.as_bytes()), "red xyz");
    }

    #[test]
    fn an_unfinished_sequence_ends_with_its_line() {
        assert_eq!(plain(b"a\x1b]0;never\nb\x1b[\nc\x1b"), "a\nb\nc");
    }

    #[test]
    fn progress_bars_show_their_last_state() {
        assert_eq!(
            plain(b" 10%\r 50%\r100%\r\ndone\x08\x08\x08\x08gone\n"),
            "100%\ngone\n"
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_or_described() {
        assert_eq!(
            plain(b"caf\xe9 au lait and some more text"),
            "caf\u{fffd} au lait and some more text"
        );
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01";
        assert!(plain(picture).starts_with("[binary output: a PNG picture, starting with 89 50"));
        assert!(plain(&[0; 4096]).starts_with("[binary output: not text"));
        assert_eq!(plain("safe\u{202e}exe".as_bytes()), "safeexe");
    }
}
