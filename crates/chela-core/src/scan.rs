//! Going fast over text in which what matters is rare.
//!
//! A sieve has two meshes. The coarse one looks at a byte and says whether a character of
//! interest may begin with it; the fine one looks at three bytes in a row. Both may name a few
//! that do not matter, never miss one that does; the caller looks at those that are named. Made
//! of masks instead of branches they run on many bytes at once.

/// Bytes that are sieved together.
const BLOCK: usize = 32;
/// Bytes the fine mesh sees beyond the first.
const AHEAD: usize = 2;

/// All bits, or none.
pub type ByteMask = u8;

#[inline(always)]
pub fn is(a: u8, b: u8) -> ByteMask {
    u8::from(a == b).wrapping_neg()
}

#[inline(always)]
pub fn below(a: u8, b: u8) -> ByteMask {
    u8::from(a < b).wrapping_neg()
}

/// Whether `a` is one of the `length` bytes from `start` on.
#[inline(always)]
pub fn within(a: u8, start: u8, length: u8) -> ByteMask {
    below(a.wrapping_sub(start), length)
}

/// The first place at or after `from` that both meshes name. Beyond the end they see blanks.
#[inline(always)]
pub fn sieve(
    bytes: &[u8],
    from: usize,
    coarse: impl Fn(u8) -> ByteMask,
    fine: impl Fn(u8, u8, u8) -> ByteMask,
) -> Option<usize> {
    let mut at = from;
    while let Some(window) = bytes
        .get(at..at + BLOCK + AHEAD)
        .and_then(|window| window.first_chunk())
    {
        if let Some(offset) = first_in(window, &coarse, &fine) {
            return Some(at + offset);
        }
        at += BLOCK;
    }
    // What is left is one block and a bit at most.
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let mut window = [b' '; BLOCK + AHEAD];
        let length = rest.len().min(window.len());
        window[..length].copy_from_slice(&rest[..length]);
        match first_in(&window, &coarse, &fine) {
            Some(offset) if offset < length => return Some(at + offset),
            _ => at += BLOCK,
        }
    }
    None
}

#[inline(always)]
fn first_in(
    window: &[u8; BLOCK + AHEAD],
    coarse: &impl Fn(u8) -> ByteMask,
    fine: &impl Fn(u8, u8, u8) -> ByteMask,
) -> Option<usize> {
    let block = &window[..BLOCK];
    if block.iter().fold(0, |any, byte| any | coarse(*byte)) == 0 {
        return None;
    }
    let mut hits = [0_u8; BLOCK];
    for (at, hit) in hits.iter_mut().enumerate() {
        *hit = fine(window[at], window[at + 1], window[at + 2]);
    }
    if hits.iter().fold(0, |any, hit| any | hit) == 0 {
        return None;
    }
    hits.iter().position(|hit| *hit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_a_slow_search_finds(text in "[abc]{0,90}", from in 0..95_usize) {
            let bytes = text.as_bytes();
            let at = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
            let fine = |a: u8, b: u8, c: u8| is(a, b'a') & is(b, b'b') & !is(c, b'c');
            let slow = (from..bytes.len()).find(|i| fine(at(*i), at(i + 1), at(i + 2)) != 0);
            prop_assert_eq!(sieve(bytes, from, |a| within(a, b'a', 1), fine), slow);
        }
    }
}
