//! New inputs from old ones.

/// Pieces that parsers trip over.
const PIECES: [&str; 40] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\0",
    "\u{feff}",
    "\u{200b}",
    "\u{202e}",
    "é",
    "e\u{301}",
    "字",
    "👩‍👧",
    "```",
    "---\n",
    "# ",
    "- ",
    "\"",
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "//",
    "/*",
    "..",
    "../",
    "-1",
    "0",
    "4294967296",
    "1e999",
    "null",
    "true",
    "<",
    ">",
    "@@",
    "data: ",
];

const LONGEST: usize = 4096;

/// Makes inputs, the same ones for the same target.
pub struct Mutator<'s> {
    state: u64,
    seeds: &'s [Vec<u8>],
}

pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl<'s> Mutator<'s> {
    pub fn new(target: &str, seeds: &'s [Vec<u8>]) -> Self {
        Self {
            state: hash(target.as_bytes()) | 1,
            seeds,
        }
    }

    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = match self.pick(self.seeds.len() + 1) {
            which if which < self.seeds.len() => self.seeds[which].clone(),
            _ => self.scribble(),
        };
        for _ in 0..=self.pick(8) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    /// Text out of nothing.
    fn scribble(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.pick(40) {
            match self.pick(3) {
                0 => text.push(u8::try_from(self.pick(256)).unwrap_or(0)),
                1 => text.extend(b"word "),
                _ => text.extend(self.piece()),
            }
        }
        text
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.pick(input.len() + 1);
        let end = (at + 1 + self.pick(32)).min(input.len());
        match self.pick(8) {
            0 if at < input.len() => input[at] ^= 1 << self.pick(8),
            1 if at < input.len() => input[at] = u8::try_from(self.pick(256)).unwrap_or(0),
            2 => drop(input.splice(at..at, self.piece().iter().copied())),
            3 => drop(input.splice(at..end, self.piece().iter().copied())),
            4 => drop(input.drain(at..end)),
            5 => {
                let twice = input[at..end].to_vec();
                let to = self.pick(input.len() + 1);
                drop(input.splice(to..to, twice));
            }
            6 => input.truncate(at),
            _ if !self.seeds.is_empty() => {
                let other = &self.seeds[self.pick(self.seeds.len())];
                let from = self.pick(other.len() + 1);
                let part = other[from..].iter().take(64).copied();
                drop(input.splice(at..at, part));
            }
            _ => input.extend(self.piece()),
        }
    }

    fn piece(&mut self) -> &'static [u8] {
        PIECES[self.pick(PIECES.len())].as_bytes()
    }

    /// A number below `many`.
    fn pick(&mut self, many: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let high = usize::try_from(self.state >> 33).unwrap_or_default();
        high % many.max(1)
    }
}
