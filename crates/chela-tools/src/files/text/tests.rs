use proptest::prelude::*;

use super::{ByteOrderMark, TextEncoding, TextEnding, TextShape, decode, sniff};

#[test]
fn encodings_are_told_apart() {
    let of = |bytes: &[u8]| decode(bytes).map(|text| (text.body, text.shape.encoding));
    let text = |body: &str, encoding| Some((body.to_owned(), encoding));
    assert_eq!(of(b""), text("", TextEncoding::Utf8));
    assert_eq!(of("Grüße".as_bytes()), text("Grüße", TextEncoding::Utf8));
    assert_eq!(of(b"Gr\xFC\xDFe"), text("Grüße", TextEncoding::Latin1));
    assert_eq!(of(b"\xEF\xBB\xBFhi"), text("hi", TextEncoding::Utf8));
    assert_eq!(of(b"\xFF\xFEh\0i\0"), text("hi", TextEncoding::Utf16Le));
    assert_eq!(of(b"\xFE\xFF\0h\0i"), text("hi", TextEncoding::Utf16Be));
    assert_eq!(of(b"h\0e\0l\0l\0o\0"), text("hello", TextEncoding::Utf16Le));
    assert_eq!(of(b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0"), None);
    assert_eq!(of(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), None);
    // A sample that ends inside a character is still UTF-8.
    assert_eq!(
        sniff(&"aé".as_bytes()[..2]),
        Some((TextEncoding::Utf8, ByteOrderMark::Absent))
    );
}

#[test]
fn line_endings_are_told_apart() {
    let of = |bytes: &[u8]| decode(bytes).unwrap().shape.ending;
    assert_eq!(of(b"a\nb\n"), TextEnding::Lf);
    assert_eq!(of(b"a\r\nb\r\n"), TextEnding::CrLf);
    assert_eq!(of(b"a\r\nb\n"), TextEnding::Mixed);
    assert_eq!(of(b"a"), TextEnding::Lf);
}

#[test]
fn latin_1_says_what_it_cannot_write() {
    let shape = TextShape {
        encoding: TextEncoding::Latin1,
        ..TextShape::PLAIN
    };
    assert_eq!(shape.encode("ü"), Ok(vec![0xFC]));
    assert_eq!(shape.encode("a€"), Err('€'));
}

proptest! {
    #[test]
    fn what_is_read_is_written_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Some(text) = decode(&bytes) {
            prop_assert_eq!(text.shape.encode(&text.body), Ok(bytes));
        }
    }

    #[test]
    fn every_shape_comes_back(
        body in "[a-zäöü \n]{0,80}",
        encoding in prop_oneof![Just(TextEncoding::Utf8), Just(TextEncoding::Utf16Le), Just(TextEncoding::Utf16Be)],
    ) {
        let shape = TextShape { encoding, mark: ByteOrderMark::Present, ending: TextEnding::Lf };
        let text = decode(&shape.encode(&body).unwrap()).unwrap();
        prop_assert_eq!(text.body, body);
        prop_assert_eq!(text.shape, shape);
    }
}
