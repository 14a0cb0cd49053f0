//! Lays the token vocabulary out for direct look-up, so that the program has nothing to build
//! when it starts: flat files that `tokens::vocabulary` includes and reads in place.

#[path = "src/tokens/layout.rs"]
mod layout;

use std::error::Error;
use std::path::PathBuf;

use layout::{EMPTY, PAIRS, SLOTS, STRIDE, pair, place, slot};

const PACKED: &str = "data/o200k.vocab";

fn main() -> Result<(), Box<dyn Error>> {
    for input in [PACKED, "src/tokens/layout.rs", "build.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let tokens = unpack(std::fs::read(PACKED)?)?;

    let mut slots = vec![EMPTY; SLOTS];
    let (mut starts, mut start) = (Vec::new(), 0);
    let mut pairs = vec![EMPTY; PAIRS];
    for (rank, token) in (0_u32..).zip(&tokens) {
        let (mut at, mark) = place(token);
        while slots[at] != EMPTY {
            at = (at + 1) % SLOTS;
        }
        slots[at] = slot(mark, rank);
        if let [first, second] = token[..] {
            pairs[pair(first, second)] = rank;
        }
        if usize::try_from(rank)? % STRIDE == 0 {
            starts.push(start);
        }
        start += 1 + u32::try_from(token.len())?;
    }

    std::fs::write(out.join("o200k.starts"), little_endian(&starts))?;
    std::fs::write(out.join("o200k.pairs"), little_endian(&pairs))?;
    std::fs::write(out.join("o200k.slots"), little_endian(&slots))?;
    Ok(())
}

/// Tokens in the order of their ranks, each one byte of length and its bytes.
fn unpack(packed: Vec<u8>) -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut tokens = Vec::new();
    let mut rest = packed.as_slice();
    while let Some((length, after)) = rest.split_first() {
        let (token, next) = after
            .split_at_checked(usize::from(*length))
            .ok_or_else(|| format!("{PACKED} ends inside token {}", tokens.len()))?;
        tokens.push(token.to_vec());
        rest = next;
    }
    Ok(tokens)
}

fn little_endian(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}
