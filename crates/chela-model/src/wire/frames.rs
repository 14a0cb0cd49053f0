//! From bytes to the JSON documents of a stream, wherever the bytes are cut.

use std::convert::Infallible;

/// How documents are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFraming {
    /// `data:` lines, events end at a blank line.
    Sse,
    /// One document per line.
    Lines,
    /// The whole body is one document: the server did not stream.
    Whole,
}

/// Takes bytes as they come and gives whole documents.
#[derive(Debug)]
pub struct FrameReader {
    framing: StreamFraming,
    /// The unfinished line, or the whole body.
    line: Vec<u8>,
    /// The data lines of the unfinished event.
    data: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it ends nothing.
    after_cr: bool,
    started: bool,
}

/// A line or an event without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Longer than any honest event; images come as one.
const MOST_BYTES: usize = 32 << 20;

impl FrameReader {
    pub fn new(framing: StreamFraming) -> Self {
        Self {
            framing,
            line: Vec::new(),
            data: Vec::new(),
            after_cr: false,
            started: false,
        }
    }

    /// Calls `each` with every document that is complete now. Stops at the first error.
    pub fn feed<E: From<TooLong>>(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.framing == StreamFraming::Whole {
            self.line.extend_from_slice(bytes);
            return self.check_size().map_err(E::from);
        }
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(at);
            let Some((end, tail)) = tail.split_first() else {
                break;
            };
            rest = tail;
            if *end == b'\n' && head.is_empty() && std::mem::take(&mut self.after_cr) {
                continue;
            }
            self.after_cr = *end == b'\r';
            self.line.extend_from_slice(head);
            self.check_size().map_err(E::from)?;
            self.end_line(each)?;
        }
        if !rest.is_empty() {
            self.after_cr = false;
            self.line.extend_from_slice(rest);
        }
        self.check_size().map_err(E::from)
    }

    /// What is left when the stream ends: an event without its last blank line, or the whole
    /// body. `None` when nothing is.
    pub fn rest(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            StreamFraming::Sse => {
                let mut rest = None;
                if !self.line.is_empty() {
                    let Ok(()) = self.end_line::<Infallible>(&mut |data| {
                        rest = Some(data.to_vec());
                        Ok(())
                    });
                }
                rest.or_else(|| (!self.data.is_empty()).then(|| std::mem::take(&mut self.data)))
            }
            StreamFraming::Lines | StreamFraming::Whole => {
                let line = std::mem::take(&mut self.line);
                (!line.trim_ascii().is_empty()).then_some(line)
            }
        }
    }

    fn end_line<E>(&mut self, each: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if !std::mem::replace(&mut self.started, true) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        let result = match self.framing {
            StreamFraming::Sse => self.sse_line(text, each),
            _ if text.trim_ascii().is_empty() => Ok(()),
            _ => each(text),
        };
        // Keep the allocation for the next line.
        line.clear();
        self.line = line;
        result
    }

    fn sse_line<E>(
        &mut self,
        line: &[u8],
        each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if line.is_empty() {
            if self.data.is_empty() {
                return Ok(());
            }
            let mut data = std::mem::take(&mut self.data);
            let result = each(&data);
            data.clear();
            self.data = data;
            return result;
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        } else if line.first() == Some(&b'{') {
            // An error in plain JSON, where an event was promised.
            return each(line);
        }
        // Comments, `event:`, `id:` and `retry:` say nothing the data does not.
        Ok(())
    }

    fn check_size(&self) -> Result<(), TooLong> {
        if self.line.len() + self.data.len() > MOST_BYTES {
            Err(TooLong)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
