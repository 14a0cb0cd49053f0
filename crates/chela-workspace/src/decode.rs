//! From the bytes of a file to text fit for a prompt, with a remark for whatever was changed.

use std::borrow::Cow;

use chela_core::sanitize;

use crate::markdown::strip_front_matter;
use crate::read::FileBytes;
use crate::report::FileRemark;

/// The text of a file and how it came about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedFile {
    /// LF only, without front matter, invisible characters and outer blank lines.
    pub(crate) text: String,
    /// The line of the file at which the text begins.
    pub(crate) first_line: u32,
    /// Length of the file in characters, as it was.
    pub(crate) raw_chars: usize,
    pub(crate) remarks: Vec<FileRemark>,
}

pub(crate) fn decode(bytes: &FileBytes) -> DecodedFile {
    let mut remarks = Vec::new();
    if bytes.left_out > 0 {
        remarks.push(FileRemark::PartlyRead {
            left_out: bytes.left_out,
        });
    }
    let raw = to_text(&bytes.bytes, &mut remarks);
    let lines = with_line_feeds(&raw);
    let (clean, removed) = sanitize::content(&lines);
    if removed.total() > 0 {
        remarks.push(FileRemark::Invisible {
            removed: removed.total(),
            lines: removed.first_lines,
        });
    }
    let text = trim_blank_lines(strip_front_matter(&clean));
    // What is left is the end of the text, but for blanks behind it.
    let before = clean.trim_end().len() - text.len();
    let before = clean.get(..before).unwrap_or_default();
    let lines_before = before.matches('\n').count();
    DecodedFile {
        first_line: u32::try_from(lines_before + 1).unwrap_or(u32::MAX),
        text: text.to_owned(),
        raw_chars: raw.chars().count(),
        remarks,
    }
}

fn to_text<'a>(bytes: &'a [u8], remarks: &mut Vec<FileRemark>) -> Cow<'a, str> {
    if let Some(units) = utf16_units(bytes) {
        remarks.push(FileRemark::Utf16);
        return Cow::Owned(String::from_utf16_lossy(&units));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) => {
            let offset = error.valid_up_to();
            let valid = bytes.iter().take(offset);
            let line = 1 + valid.filter(|byte| **byte == b'\n').count();
            remarks.push(FileRemark::InvalidUtf8 { offset, line });
            String::from_utf8_lossy(bytes)
        }
    }
}

/// The UTF-16 units of a file that announces them with a byte order mark.
fn utf16_units(bytes: &[u8]) -> Option<Vec<u16>> {
    let units = |bytes: &[u8], from_pair: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        pairs.iter().map(|pair| from_pair(*pair)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Some(units(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Some(units(rest, u16::from_be_bytes)),
        _ => None,
    }
}

pub(crate) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Without blank lines before the first and white space after the last line; the first line
/// keeps its indentation.
pub(crate) fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let body = text.trim_start();
    let blank = text.strip_suffix(body).unwrap_or_default();
    let start = blank.rfind('\n').map_or(0, |at| at + 1);
    text.get(start..).unwrap_or(body)
}

#[cfg(test)]
mod tests {
    use super::{decode, trim_blank_lines};
    use crate::read::FileBytes;
    use crate::report::FileRemark;

    fn decoded(bytes: &[u8]) -> (String, Vec<FileRemark>) {
        let decoded = decode(&FileBytes {
            bytes: bytes.to_vec(),
            left_out: 0,
        });
        (decoded.text, decoded.remarks)
    }

    #[test]
    fn line_ends_marks_and_front_matter_are_normalised() {
        assert_eq!(
            decoded(b"\xEF\xBB\xBF---\r\na: b\r\n---\r\n\r\n  x\r\ny\r\n\r\n").0,
            "  x\ny"
        );
        assert_eq!(decoded(b"a\rb").0, "a\nb");
    }

    #[test]
    fn the_first_bad_byte_is_named() {
        let (text, remarks) = decoded(b"one\ntwo \xC3( three");
        assert_eq!(text, "one\ntwo \u{FFFD}( three");
        assert_eq!(remarks, [FileRemark::InvalidUtf8 { offset: 8, line: 2 }]);
    }

    #[test]
    fn utf16_is_read() {
        let bytes: Vec<u8> = [0xFF, 0xFE]
            .into_iter()
            .chain("hé".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(decoded(&bytes), ("hé".to_owned(), vec![FileRemark::Utf16]));
    }

    #[test]
    fn hidden_characters_go_and_are_reported() {
        let (text, remarks) = decoded("be nice\u{E0041}\u{E0042}\n".as_bytes());
        assert_eq!(text, "be nice");
        assert_eq!(
            remarks,
            [FileRemark::Invisible {
                removed: 2,
                lines: vec![1]
            }]
        );
    }

    #[test]
    fn outer_blank_lines_go() {
        assert_eq!(trim_blank_lines("\n \n\t code\nx \n\n"), "\t code\nx");
        assert_eq!(trim_blank_lines(" \n "), "");
    }

    #[test]
    fn lines_are_counted_in_the_file() {
        let first_line = |text: &str| {
            let bytes = text.as_bytes().to_vec();
            decode(&FileBytes { bytes, left_out: 0 }).first_line
        };
        assert_eq!(first_line("# T\n"), 1);
        assert_eq!(first_line("\n\n# T\n"), 3);
        assert_eq!(first_line("---\na: b\n---\n\n# T\n\n\n"), 5);
    }
}
