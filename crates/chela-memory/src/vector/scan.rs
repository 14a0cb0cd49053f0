//! One query against every row: the inner loop of a search.
//!
//! The loop is plain Rust that the compiler turns into vector instructions. Built for the oldest
//! machine it runs on any; built again for AVX2 it is twice as fast, which is as fast as memory
//! gives the rows.

#![expect(
    clippy::indexing_slicing,
    reason = "rows and the query have the same length"
)]

use super::QuantisedVector;

/// The rows of a matrix, or some of them in order.
#[derive(Debug, Clone, Copy)]
pub struct MatrixRows<'a> {
    pub dimensions: usize,
    /// Signed bytes, row after row.
    pub values: &'a [u8],
    /// What one step is worth in each row.
    pub scales: &'a [f32],
}

/// Writes the cosine of each row with the query. Both have the same dimensions.
pub fn cosines(rows: MatrixRows<'_>, query: &QuantisedVector, out: &mut [f32]) {
    let wide: Vec<i16> = query.values.iter().copied().map(i16::from).collect();
    let query = Query {
        values: &wide,
        scale: query.scale,
    };
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(
            unsafe_code,
            reason = "the machine was asked a line above whether it has AVX2"
        )]
        // SAFETY: the only condition of the call is that the instructions exist.
        unsafe {
            avx2(rows, query, out);
        }
        return;
    }
    scan(rows, query, out, dot_any);
}

#[derive(Clone, Copy)]
struct Query<'a> {
    values: &'a [i16],
    scale: f32,
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(rows: MatrixRows<'_>, query: Query<'_>, out: &mut [f32]) {
    scan(rows, query, out, |row, query| dot_avx2(row, query));
}

/// A function of its own: put into the loop around it, it loses the form the compiler knows.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline(never)]
fn dot_avx2(row: &[u8], query: &[i16]) -> i32 {
    dot(row, query)
}

#[inline(never)]
fn dot_any(row: &[u8], query: &[i16]) -> i32 {
    dot(row, query)
}

#[inline(always)]
fn scan(
    rows: MatrixRows<'_>,
    query: Query<'_>,
    out: &mut [f32],
    dot: impl Fn(&[u8], &[i16]) -> i32,
) {
    let each = rows.values.chunks_exact(rows.dimensions);
    for ((row, scale), cosine) in each.zip(rows.scales).zip(out) {
        *cosine = dot(row, query.values) as f32 * scale * query.scale;
    }
}

/// Thirty-two at a time, widened first: pairs are multiplied and added in one instruction.
#[inline(always)]
fn dot(row: &[u8], query: &[i16]) -> i32 {
    // 256 dimensions, known to the compiler, need no counting.
    if let (Ok(row), Ok(query)) = (<&[u8; 256]>::try_from(row), <&[i16; 256]>::try_from(query)) {
        return dot_of(row, query);
    }
    let (row, row_rest) = row.as_chunks::<32>();
    let (query, query_rest) = query.as_chunks::<32>();
    let whole: i32 = row.iter().zip(query).map(|(a, b)| dot_of(a, b)).sum();
    let rest = row_rest.iter().zip(query_rest);
    whole
        + rest
            .map(|(a, b)| i32::from(*a as i8) * i32::from(*b))
            .sum::<i32>()
}

#[inline(always)]
fn dot_of<const N: usize>(row: &[u8; N], query: &[i16; N]) -> i32 {
    let mut sum = 0;
    for at in 0..N {
        sum += i32::from(row[at] as i8) * i32::from(query[at]);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{MatrixRows, Query, cosines, dot_any, scan};
    use crate::vector::QuantisedVector;
    use proptest::prelude::*;

    proptest! {
        /// However it is built, it is the sum of products.
        #[test]
        fn both_ways_agree_with_the_definition(
            dimensions in prop::sample::select(vec![1_usize, 31, 32, 100, 256, 384]),
            seed in prop::collection::vec(any::<i8>(), 400 * 3),
        ) {
            let of = |at: usize| &seed[at * 400..at * 400 + dimensions];
            let query = QuantisedVector { scale: 0.5, values: of(0).to_vec() };
            let values: Vec<u8> = [of(1), of(2)].concat().into_iter().map(|v| v as u8).collect();
            let rows = MatrixRows { dimensions, values: &values, scales: &[2.0, 4.0] };
            let expected = [1, 2].map(|at| {
                let dot: i32 = of(0).iter().zip(of(at)).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                dot as f32 * at as f32
            });
            let mut chosen = [0.0; 2];
            cosines(rows, &query, &mut chosen);
            prop_assert_eq!(chosen, expected);
            let wide: Vec<i16> = query.values.iter().copied().map(i16::from).collect();
            let mut plain = [0.0; 2];
            scan(rows, Query { values: &wide, scale: query.scale }, &mut plain, dot_any);
            prop_assert_eq!(plain, expected);
        }
    }
}
