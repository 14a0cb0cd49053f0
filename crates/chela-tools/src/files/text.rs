//! Text files as they are on disk: encoding, byte order mark, line endings. What is read one way
//! is written back the same way.

/// How a text is written on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextShape {
    pub(super) encoding: TextEncoding,
    pub(super) mark: ByteOrderMark,
    pub(super) ending: TextEnding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEncoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Latin1,
}

/// A byte order mark in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrderMark {
    Present,
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnding {
    Lf,
    /// Every line ends so; in memory lines end with `\n` alone.
    CrLf,
    /// Both; in memory as on disk.
    Mixed,
}

/// A text file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextFile {
    pub(super) body: String,
    pub(super) shape: TextShape,
}

impl TextEncoding {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16 LE",
            Self::Utf16Be => "UTF-16 BE",
            Self::Latin1 => "Latin-1",
        }
    }
}

/// The encoding of a file by its first bytes; `None` for what is no text. The sample may end
/// inside a character.
pub(super) fn sniff(sample: &[u8]) -> Option<(TextEncoding, ByteOrderMark)> {
    match sample {
        [0xEF, 0xBB, 0xBF, ..] => return Some((TextEncoding::Utf8, ByteOrderMark::Present)),
        [0xFF, 0xFE, ..] => return Some((TextEncoding::Utf16Le, ByteOrderMark::Present)),
        [0xFE, 0xFF, ..] => return Some((TextEncoding::Utf16Be, ByteOrderMark::Present)),
        _ => {}
    }
    if sample.contains(&0) {
        return utf16(sample).map(|encoding| (encoding, ByteOrderMark::Absent));
    }
    let complete = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    if complete {
        return Some((TextEncoding::Utf8, ByteOrderMark::Absent));
    }
    // Text in an old one-byte encoding has hardly any control characters.
    let odd = sample
        .iter()
        .filter(|byte| matches!(byte, 0..=7 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F))
        .count();
    (odd * 200 <= sample.len()).then_some((TextEncoding::Latin1, ByteOrderMark::Absent))
}

/// UTF-16 without a mark: in Western text nearly every other byte is zero.
fn utf16(sample: &[u8]) -> Option<TextEncoding> {
    let pairs = sample.len() / 2;
    let zeros = |offset: usize| {
        sample
            .iter()
            .skip(offset)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    match () {
        () if pairs > 0 && odd * 10 >= pairs * 7 && even == 0 => Some(TextEncoding::Utf16Le),
        () if pairs > 0 && even * 10 >= pairs * 7 && odd == 0 => Some(TextEncoding::Utf16Be),
        () => None,
    }
}

/// Reads a whole file; `None` when it is no text.
pub(super) fn decode(bytes: &[u8]) -> Option<TextFile> {
    const SAMPLE: usize = 64 * 1024;
    let (mut encoding, mark) = sniff(bytes.get(..SAMPLE).unwrap_or(bytes))?;
    let mut body = body(bytes, encoding, mark);
    if encoding == TextEncoding::Utf8 && body.is_none() {
        // It began like UTF-8 and is not.
        encoding = TextEncoding::Latin1;
        body = self::body(bytes, encoding, mark);
    }
    let body = body?;
    let ending = ending(&body);
    let body = match ending {
        TextEnding::CrLf => body.replace("\r\n", "\n"),
        TextEnding::Lf | TextEnding::Mixed => body,
    };
    let shape = TextShape {
        encoding,
        mark,
        ending,
    };
    Some(TextFile { body, shape })
}

fn body(bytes: &[u8], encoding: TextEncoding, mark: ByteOrderMark) -> Option<String> {
    let skip = match (mark, encoding) {
        (ByteOrderMark::Absent, _) => 0,
        (ByteOrderMark::Present, TextEncoding::Utf8) => 3,
        (ByteOrderMark::Present, _) => 2,
    };
    let bytes = bytes.get(skip..)?;
    match encoding {
        TextEncoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        TextEncoding::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        TextEncoding::Utf16Le | TextEncoding::Utf16Be => {
            let (pairs, []) = bytes.as_chunks::<2>() else {
                return None;
            };
            let units = pairs.iter().map(|pair| match encoding {
                TextEncoding::Utf16Be => u16::from_be_bytes(*pair),
                _ => u16::from_le_bytes(*pair),
            });
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
    }
}

fn ending(body: &str) -> TextEnding {
    let crlf = body.matches("\r\n").count();
    let lf = body.matches('\n').count();
    match (crlf, lf) {
        (0, _) => TextEnding::Lf,
        (crlf, lf) if crlf == lf => TextEnding::CrLf,
        _ => TextEnding::Mixed,
    }
}

impl TextShape {
    pub(super) const PLAIN: Self = Self {
        encoding: TextEncoding::Utf8,
        mark: ByteOrderMark::Absent,
        ending: TextEnding::Lf,
    };

    /// The bytes of a text in this shape; `Err` with a character the encoding does not have.
    pub(super) fn encode(self, body: &str) -> Result<Vec<u8>, char> {
        let ended;
        let body = match self.ending {
            TextEnding::CrLf => {
                ended = body.replace("\r\n", "\n").replace('\n', "\r\n");
                &ended
            }
            TextEnding::Lf | TextEnding::Mixed => body,
        };
        let marked = self.mark == ByteOrderMark::Present;
        let wide = |to: fn(u16) -> [u8; 2]| {
            let mark = marked.then_some(0xFEFF);
            mark.into_iter()
                .chain(body.encode_utf16())
                .flat_map(to)
                .collect()
        };
        match self.encoding {
            TextEncoding::Utf8 if marked => Ok([b"\xEF\xBB\xBF", body.as_bytes()].concat()),
            TextEncoding::Utf8 => Ok(body.as_bytes().to_vec()),
            TextEncoding::Utf16Le => Ok(wide(u16::to_le_bytes)),
            TextEncoding::Utf16Be => Ok(wide(u16::to_be_bytes)),
            TextEncoding::Latin1 => body
                .chars()
                .map(|c| u8::try_from(u32::from(c)).map_err(|_| c))
                .collect(),
        }
    }

    /// What is unusual about it, in words.
    pub(super) fn unusual(self) -> Option<String> {
        let mut parts = Vec::new();
        if self.encoding != TextEncoding::Utf8 {
            parts.push(self.encoding.as_str());
        }
        if self.mark == ByteOrderMark::Present {
            parts.push("byte order mark");
        }
        match self.ending {
            TextEnding::Lf => {}
            TextEnding::CrLf => parts.push("CRLF line endings"),
            TextEnding::Mixed => parts.push("mixed line endings"),
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests;
