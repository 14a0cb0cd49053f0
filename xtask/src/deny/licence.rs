//! SPDX expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`.

use std::collections::BTreeSet;

/// Whether the licences that are allowed are enough. What cannot be read is not.
pub fn is_satisfied(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // Before there was `OR`, crates wrote a slash.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = ExpressionReader {
        words: &words,
        allowed,
    };
    reader.either() == Some(true) && reader.words.is_empty()
}

struct ExpressionReader<'a> {
    words: &'a [&'a str],
    allowed: &'a BTreeSet<String>,
}

impl<'a> ExpressionReader<'a> {
    /// `AND` binds more tightly than `OR`.
    fn either(&mut self) -> Option<bool> {
        let mut holds = self.both()?;
        while self.take("OR") {
            holds |= self.both()?;
        }
        Some(holds)
    }

    fn both(&mut self) -> Option<bool> {
        let mut holds = self.one()?;
        while self.take("AND") {
            holds &= self.one()?;
        }
        Some(holds)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let holds = self.either()?;
            return self.take(")").then_some(holds);
        }
        let name = self.next()?;
        if matches!(name, "OR" | "AND" | "WITH" | ")") {
            return None;
        }
        if self.take("WITH") {
            let exception = self.next()?;
            return Some(self.allowed.contains(&format!("{name} WITH {exception}")));
        }
        Some(self.allowed.contains(name))
    }

    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.first() == Some(&word);
        if is_next {
            self.next();
        }
        is_next
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}
