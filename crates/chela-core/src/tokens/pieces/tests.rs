use proptest::prelude::*;

use super::TextPieces;

fn pieces(text: &str) -> Vec<&str> {
    TextPieces::new(text).collect()
}

#[test]
fn each_alternative_takes_its_piece() {
    for (text, expected) in [
        ("one two", vec!["one", " two"]),
        ("camelCase HTTPServer", vec!["camel", "Case", " HTTPServer"]),
        ("don't WE'RE 'x", vec!["don't", " WE'RE", " '", "x"]),
        ("1234567", vec!["123", "456", "7"]),
        (" ?!//\n/x", vec![" ?!//\n/", "x"]),
        ("a \n\n b", vec!["a", " \n\n", " b"]),
        ("a   b", vec!["a", "  ", " b"]),
        ("a   ", vec!["a", "   "]),
        ("a\t1", vec!["a", "\t", "1"]),
        ("ABC日本D", vec!["ABC日本", "D"]),
        ("\u{301}AB", vec!["\u{301}", "AB"]),
        ("(日", vec!["(日"]),
    ] {
        assert_eq!(pieces(text), expected, "{text:?}");
    }
}

proptest! {
    #[test]
    fn pieces_cover_the_text(text in "(\\PC|[ \n\r\t/'sA1]){0,80}") {
        prop_assert_eq!(pieces(&text).concat(), text.clone());
        prop_assert!(pieces(&text).iter().all(|piece| !piece.is_empty()));
    }
}
