//! The lines of a text that come nearest to some other lines.

/// Lines that look like what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NearText {
    /// First and last line, from 1.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) text: String,
    /// Whether only blanks differ.
    pub(super) only_blanks: bool,
}

/// Work is bounded: so many lines of a file are compared, so many of each window.
const MOST_LINES: usize = 50_000;
const MOST_COMPARED: usize = 40;
/// At least this part of the letters must be alike, of 100.
const LEAST_ALIKE: usize = 50;

/// The window of `body` most like `wanted`, if one is like it at all.
pub(super) fn closest(body: &str, wanted: &str) -> Option<NearText> {
    let wanted: Vec<&str> = wanted
        .trim_matches(['\n', '\r'])
        .lines()
        .take(MOST_COMPARED)
        .collect();
    let lines: Vec<&str> = body.lines().take(MOST_LINES).collect();
    if wanted.is_empty() || lines.is_empty() {
        return None;
    }
    let pairs: Vec<Vec<u16>> = wanted.iter().map(|line| bigrams(line)).collect();
    let longest = pairs.iter().enumerate();
    let (anchor, longest) = longest.max_by_key(|(_, pairs)| pairs.len())?;
    // The longest line decides where to look; the others decide between those places.
    let mut candidates: Vec<(usize, usize)> = lines
        .iter()
        .enumerate()
        .filter(|(at, _)| *at >= anchor)
        .map(|(at, line)| (alike(longest, &bigrams(line)), at - anchor))
        .filter(|(score, _)| *score >= LEAST_ALIKE)
        .collect();
    candidates.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let score = |start: usize| {
        let window = lines.iter().skip(start);
        let scores = pairs.iter().zip(window);
        scores
            .map(|(pairs, line)| alike(pairs, &bigrams(line)))
            .sum::<usize>()
    };
    let (_, start) = candidates
        .iter()
        .take(100)
        .map(|(_, start)| (score(*start), *start))
        .max_by_key(|(score, start)| (*score, usize::MAX - start))?;
    let end = (start + wanted.len()).min(lines.len());
    let found = lines.get(start..end)?;
    Some(NearText {
        from: start + 1,
        to: end,
        text: found.join("\n"),
        only_blanks: without_blanks(found) == without_blanks(&wanted),
    })
}

fn without_blanks(lines: &[&str]) -> String {
    lines
        .iter()
        .flat_map(|line| line.chars())
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// Pairs of letters, sorted; blanks do not count.
fn bigrams(line: &str) -> Vec<u16> {
    const MOST_LETTERS: usize = 200;
    let letters: Vec<u8> = line
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .take(MOST_LETTERS)
        .collect();
    let mut pairs: Vec<u16> = match letters.as_slice() {
        [one] => vec![u16::from(*one)],
        letters => letters
            .array_windows::<2>()
            .map(|pair| u16::from_be_bytes(*pair))
            .collect(),
    };
    pairs.sort_unstable();
    pairs
}

/// How much two lines have in common, of 100.
fn alike(a: &[u16], b: &[u16]) -> usize {
    if a.is_empty() && b.is_empty() {
        return 100;
    }
    let (mut left, mut right, mut common) = (a, b, 0);
    while let ([one, rest @ ..], [other, others @ ..]) = (left, right) {
        if one <= other {
            left = rest;
        }
        if other <= one {
            right = others;
        }
        common += usize::from(one == other);
    }
    200 * common / (a.len() + b.len())
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn finds_what_was_meant() {
        let body = "fn a() {}\n\nfn main() {\n    let x = 1;\n    print(x);\n}\n";
        let near = closest(body, "fn main() {\n  let x = 1;\n  print(x);\n}").unwrap();
        assert_eq!((near.from, near.to, near.only_blanks), (3, 6, true));
        let near = closest(body, "    let y = 1;").unwrap();
        assert_eq!((near.from, near.only_blanks), (4, false));
        assert_eq!(closest(body, "something else entirely"), None);
        assert_eq!(closest("", "x"), None);
        assert_eq!(closest("x", "\n"), None);
    }
}
