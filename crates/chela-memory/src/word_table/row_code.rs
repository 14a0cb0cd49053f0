//! The code the rows of the built-in table are kept in: the more often a number occurs, the fewer
//! bits it takes. Shared with the build script, which writes what the program reads.

#![allow(dead_code, reason = "the build script writes what the program reads")]

/// Dimensions of the built-in vectors.
pub const DIMENSIONS: usize = 256;

/// The strongest dimensions come first, so each quarter of a row has numbers of its own size, and
/// a code of its own.
pub const GROUPS: usize = 4;
pub const GROUP: usize = DIMENSIONS / GROUPS;

/// Of the 63 numbers of the table only every third is told apart: `data/README.md` has what that
/// costs.
pub const STEP: i8 = 3;

/// Symbols are counts of steps; this one stands for zero.
pub const MIDDLE: u8 = 10;
pub const SYMBOLS: usize = 21;

/// No symbol takes more bits than this.
pub const LONGEST_CODE: u32 = 11;

/// Of so many rows in a row one has its place written down; the others are reached from it by
/// their lengths.
pub const STRIDE: usize = 16;

/// Bytes behind the last row, so that a reader may take eight at a time.
pub const PADDING: usize = 8;

/// How many bits each symbol takes in one group; 0 for one that never occurs.
pub type CodeLengths = [u8; SYMBOLS];

/// The symbol nearest to a number of the table.
pub fn symbol_of(number: i8) -> u8 {
    let steps = (number.abs() + STEP / 2) / STEP * number.signum();
    MIDDLE.wrapping_add_signed(steps)
}

/// The number a symbol stands for.
pub fn number_of(symbol: u8) -> i8 {
    symbol.wrapping_sub(MIDDLE).cast_signed() * STEP
}

/// The bits of each symbol, where shorter codes come before longer ones and, among equals, smaller
/// symbols before greater ones: the lengths say it all.
pub fn codes(lengths: &CodeLengths) -> [u16; SYMBOLS] {
    let mut codes = [0; SYMBOLS];
    let mut next = 0_u16;
    for length in 1..=LONGEST_CODE {
        next <<= 1;
        for (code, of) in codes.iter_mut().zip(lengths) {
            if u32::from(*of) == length {
                *code = next;
                next += 1;
            }
        }
    }
    codes
}
