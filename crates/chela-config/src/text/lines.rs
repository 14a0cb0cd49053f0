//! From byte offsets to lines and columns.

/// Where the lines of a text begin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub fn new(source: &str) -> Self {
        let after_newlines = source
            .bytes()
            .zip(1_u32..)
            .filter(|(byte, _)| *byte == b'\n')
            .map(|(_, next)| next);
        Self {
            starts: std::iter::once(0).chain(after_newlines).collect(),
        }
    }

    /// Line and column of a byte offset, both from 1; the column counts characters. An offset
    /// past the end stands for the end.
    pub fn position(&self, source: &str, offset: usize) -> (u32, u32) {
        let offset = source.floor_char_boundary(offset);
        let line = self
            .starts
            .partition_point(|start| *start as usize <= offset)
            .max(1);
        let start = self.starts.get(line - 1).map_or(0, |start| *start as usize);
        let column = source.get(start..offset).map_or(0, |before| {
            before.chars().filter(|c| *c != '\u{feff}').count()
        });
        (saturate(line), saturate(column + 1))
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::LineIndex;

    #[test]
    fn positions_count_characters_from_one() {
        let source = "\u{feff}ab\r\ncéd\n\n";
        let lines = LineIndex::new(source);
        let at = |needle: char| lines.position(source, source.find(needle).unwrap());
        assert_eq!(at('a'), (1, 1));
        assert_eq!(at('b'), (1, 2));
        assert_eq!(at('c'), (2, 1));
        assert_eq!(at('d'), (2, 3));
        assert_eq!(lines.position(source, source.len()), (4, 1));
        assert_eq!(lines.position(source, 10_000), (4, 1));
        assert_eq!(LineIndex::new("").position("", 0), (1, 1));
    }
}
