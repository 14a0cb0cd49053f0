//! Lays the token vocabulary out for direct look-up, so that the program has nothing to build
//! when it starts: flat files that `tokens::vocabulary` includes and reads in place.

#[path = "src/tokens/layout.rs"]
mod layout;

use std::collections::HashSet;
use std::error::Error;
use std::path::PathBuf;

use layout::{BUCKETS, NONE, PAIRS, entry, pair, place};

const PACKED: &str = "data/o200k.vocab";

fn main() -> Result<(), Box<dyn Error>> {
    for input in [PACKED, "src/tokens/layout.rs", "build.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let tokens = unpack(std::fs::read(PACKED)?)?;

    let mut buckets = vec![Vec::new(); BUCKETS];
    let mut pairs = vec![NONE; PAIRS];
    let mut places = HashSet::new();
    for (rank, token) in (0_u32..).zip(&tokens) {
        let (bucket, mark) = place(token);
        if !places.insert((bucket, mark)) {
            return Err(format!("token {rank} has the hash of another one").into());
        }
        buckets[bucket].push(entry(mark, rank));
        if let [first, second] = token[..] {
            pairs[pair(first, second)] = rank;
        }
    }
    let ends = buckets.iter().scan(0, |end, bucket| {
        *end += bucket.len() as u32;
        Some(*end)
    });

    std::fs::write(out.join("o200k.ends"), three_bytes(ends))?;
    std::fs::write(out.join("o200k.entries"), buckets.concat().concat())?;
    std::fs::write(out.join("o200k.pairs"), three_bytes(pairs.into_iter()))?;
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

/// Each number in three bytes, little endian.
fn three_bytes(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    numbers
        .flat_map(|number| {
            let [a, b, c, _] = number.to_le_bytes();
            [a, b, c]
        })
        .collect()
}
