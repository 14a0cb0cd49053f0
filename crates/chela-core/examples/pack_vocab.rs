//! Packs a `.tiktoken` vocabulary: `pack_vocab o200k_base.tiktoken data/o200k.vocab`.
//!
//! The source has one token a line, in base64, with its rank, ranks ascending from 0. The packed
//! file has the same tokens in the same order, each as one byte of length and its bytes.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(source), Some(target)) = (args.next(), args.next()) else {
        return Err("usage: pack_vocab SOURCE.tiktoken TARGET.vocab".into());
    };
    let mut packed = Vec::new();
    for (rank, line) in std::fs::read_to_string(&source)?.lines().enumerate() {
        let (token, given) = line.split_once(' ').ok_or("a line without a rank")?;
        if given.parse() != Ok(rank) {
            return Err(format!("{source}:{}: rank {given} instead of {rank}", rank + 1).into());
        }
        let bytes = from_base64(token).ok_or("a token that is not base64")?;
        packed.push(u8::try_from(bytes.len())?);
        packed.extend(bytes);
    }
    std::fs::write(target, packed)?;
    Ok(())
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        held = (held << 6) | u32::try_from(DIGITS.iter().position(|d| *d == byte)?).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xFF).ok()?);
        }
    }
    Some(bytes)
}
