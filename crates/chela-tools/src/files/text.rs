//! Text files as they are on disk: encoding, byte order mark, line endings. What is read one way
//! is written back the same way.

/// How a text is written on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) encoding: Encoding,
    pub(super) mark: Mark,
    pub(super) ending: Ending,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Latin1,
}

/// A byte order mark in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Present,
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    /// Every line ends so; in memory lines end with `\n` alone.
    CrLf,
    /// Both; in memory as on disk.
    Mixed,
}

/// A text file in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) body: String,
    pub(super) shape: Shape,
}

impl Encoding {
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
pub(super) fn sniff(sample: &[u8]) -> Option<(Encoding, Mark)> {
    match sample {
        [0xEF, 0xBB, 0xBF, ..] => return Some((Encoding::Utf8, Mark::Present)),
        [0xFF, 0xFE, ..] => return Some((Encoding::Utf16Le, Mark::Present)),
        [0xFE, 0xFF, ..] => return Some((Encoding::Utf16Be, Mark::Present)),
        _ => {}
    }
    if sample.contains(&0) {
        return utf16(sample).map(|encoding| (encoding, Mark::Absent));
    }
    let complete = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    if complete {
        return Some((Encoding::Utf8, Mark::Absent));
    }
    // Text in an old one-byte encoding has hardly any control characters.
    let odd = sample
        .iter()
        .filter(|byte| matches!(byte, 0..=7 | 0x0B | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F))
        .count();
    (odd * 200 <= sample.len()).then_some((Encoding::Latin1, Mark::Absent))
}

/// UTF-16 without a mark: in Western text nearly every other byte is zero.
fn utf16(sample: &[u8]) -> Option<Encoding> {
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
        () if pairs > 0 && odd * 10 >= pairs * 7 && even == 0 => Some(Encoding::Utf16Le),
        () if pairs > 0 && even * 10 >= pairs * 7 && odd == 0 => Some(Encoding::Utf16Be),
        () => None,
    }
}

/// Reads a whole file; `None` when it is no text.
pub(super) fn decode(bytes: &[u8]) -> Option<Text> {
    const SAMPLE: usize = 64 * 1024;
    let (mut encoding, mark) = sniff(&bytes[..bytes.len().min(SAMPLE)])?;
    let mut body = body(bytes, encoding, mark);
    if encoding == Encoding::Utf8 && body.is_none() {
        // It began like UTF-8 and is not.
        encoding = Encoding::Latin1;
        body = self::body(bytes, encoding, mark);
    }
    let body = body?;
    let ending = ending(&body);
    let body = match ending {
        Ending::CrLf => body.replace("\r\n", "\n"),
        Ending::Lf | Ending::Mixed => body,
    };
    let shape = Shape {
        encoding,
        mark,
        ending,
    };
    Some(Text { body, shape })
}

fn body(bytes: &[u8], encoding: Encoding, mark: Mark) -> Option<String> {
    let skip = match (mark, encoding) {
        (Mark::Absent, _) => 0,
        (Mark::Present, Encoding::Utf8) => 3,
        (Mark::Present, _) => 2,
    };
    let bytes = bytes.get(skip..)?;
    match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Encoding::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Encoding::Utf16Le | Encoding::Utf16Be => {
            if bytes.len() % 2 != 0 {
                return None;
            }
            let units = bytes.chunks_exact(2).map(|pair| match encoding {
                Encoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
                _ => u16::from_le_bytes([pair[0], pair[1]]),
            });
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
    }
}

fn ending(body: &str) -> Ending {
    let crlf = body.matches("\r\n").count();
    let lf = body.matches('\n').count();
    match (crlf, lf) {
        (0, _) => Ending::Lf,
        (crlf, lf) if crlf == lf => Ending::CrLf,
        _ => Ending::Mixed,
    }
}

impl Shape {
    pub(super) const PLAIN: Self = Self {
        encoding: Encoding::Utf8,
        mark: Mark::Absent,
        ending: Ending::Lf,
    };

    /// The bytes of a text in this shape; `Err` with a character the encoding does not have.
    pub(super) fn encode(self, body: &str) -> Result<Vec<u8>, char> {
        let ended;
        let body = match self.ending {
            Ending::CrLf => {
                ended = body.replace("\r\n", "\n").replace('\n', "\r\n");
                &ended
            }
            Ending::Lf | Ending::Mixed => body,
        };
        let marked = self.mark == Mark::Present;
        let wide = |to: fn(u16) -> [u8; 2]| {
            let mark = marked.then_some(0xFEFF);
            mark.into_iter()
                .chain(body.encode_utf16())
                .flat_map(to)
                .collect()
        };
        match self.encoding {
            Encoding::Utf8 if marked => Ok([b"\xEF\xBB\xBF", body.as_bytes()].concat()),
            Encoding::Utf8 => Ok(body.as_bytes().to_vec()),
            Encoding::Utf16Le => Ok(wide(u16::to_le_bytes)),
            Encoding::Utf16Be => Ok(wide(u16::to_be_bytes)),
            Encoding::Latin1 => body
                .chars()
                .map(|c| u8::try_from(u32::from(c)).map_err(|_| c))
                .collect(),
        }
    }

    /// What is unusual about it, in words.
    pub(super) fn unusual(self) -> Option<String> {
        let mut parts = Vec::new();
        if self.encoding != Encoding::Utf8 {
            parts.push(self.encoding.as_str());
        }
        if self.mark == Mark::Present {
            parts.push("byte order mark");
        }
        match self.ending {
            Ending::Lf => {}
            Ending::CrLf => parts.push("CRLF line endings"),
            Ending::Mixed => parts.push("mixed line endings"),
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

#[cfg(test)]
mod tests;
