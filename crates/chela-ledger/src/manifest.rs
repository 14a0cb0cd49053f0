//! The list of contents a request is made of, in few bytes: differences as varints.
//!
//! Every other content is a comma or something like it, so each is noted by how far it is from the
//! one before the last: two neighbours among the messages, or the same comma again.

/// Packs a list of blob ids.
pub fn encode(ids: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 2);
    let mut before = [0_i64; 2];
    for id in ids {
        let step = id.wrapping_sub(before[0]);
        let mut zigzag = ((step << 1) ^ (step >> 63)) as u64;
        while zigzag >= 0x80 {
            bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        before = [before[1], *id];
    }
    bytes
}

/// `None` when the bytes are no such list.
pub fn decode(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut ids = Vec::with_capacity(bytes.len() / 2);
    let mut before = [0_i64; 2];
    let mut zigzag = 0_u64;
    let mut shift = 0;
    for byte in bytes {
        if shift > 63 {
            return None;
        }
        zigzag |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            let step = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
            let id = before[0].wrapping_add(step);
            before = [before[1], id];
            ids.push(id);
            (zigzag, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(ids)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use proptest::prelude::*;

    #[test]
    fn neighbours_are_short() {
        assert_eq!(encode(&[500, 12, 501, 12, 503, 12]).len(), 2 + 1 + 4);
        assert_eq!(decode(&[0x80]), None);
        assert_eq!(decode(&[0xff; 12]), None);
    }

    proptest! {
        #[test]
        fn a_list_reads_back(ids in prop::collection::vec(any::<i64>(), 0..50)) {
            prop_assert_eq!(decode(&encode(&ids)), Some(ids));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = decode(&bytes);
        }
    }
}
