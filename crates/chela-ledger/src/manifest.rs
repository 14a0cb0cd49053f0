//! The list of contents a request is made of, in few bytes: differences as varints.

/// Packs a list of blob ids.
pub fn encode(ids: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 2);
    let mut last = 0_i64;
    for id in ids {
        let step = id.wrapping_sub(last);
        let mut zigzag = ((step << 1) ^ (step >> 63)) as u64;
        while zigzag >= 0x80 {
            bytes.push(zigzag as u8 | 0x80);
            zigzag >>= 7;
        }
        bytes.push(zigzag as u8);
        last = *id;
    }
    bytes
}

/// `None` when the bytes are no such list.
pub fn decode(bytes: &[u8]) -> Option<Vec<i64>> {
    let mut ids = Vec::with_capacity(bytes.len() / 2);
    let mut last = 0_i64;
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
            last = last.wrapping_add(step);
            ids.push(last);
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
        assert_eq!(encode(&[500, 501, 12, 502]).len(), 2 + 1 + 2 + 2);
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
