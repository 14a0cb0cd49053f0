mod known;

use proptest::prelude::*;

use super::{count, count_at_most, decode, encode, prefix_within};
use known::{COUNTED, KNOWN};

#[test]
fn tokens_are_those_of_the_original() {
    for (text, tokens) in KNOWN {
        assert_eq!(encode(text), *tokens, "{text:?}");
        assert_eq!(count(text), tokens.len(), "{text:?}");
    }
    for (text, times, tokens) in COUNTED {
        assert_eq!(
            count(&text.repeat(*times)),
            *tokens,
            "{times} times {text:?}"
        );
    }
}

#[test]
fn words_without_end_take_no_longer_than_their_length() {
    for word in ["a", "的", "=-", "\u{301}"] {
        let text = word.repeat((1 << 18) / word.len());
        assert!(count(&text) > 4_000);
        assert_eq!(count_at_most(&text, 100), None);
        let end = prefix_within(&text, 100);
        assert!(count(&text[..end]) <= 100 && end > 100, "{end}");
    }
}

#[test]
fn a_prefix_is_as_long_as_its_tokens_allow() {
    let text = "The quick brown fox jumps over the lazy dog.";
    assert_eq!(&text[..prefix_within(text, 4)], "The quick brown fox");
    assert_eq!(prefix_within(text, 0), 0);
    assert_eq!(prefix_within(text, 1000), text.len());
    assert_eq!(prefix_within("", 5), 0);
    // One token of many bytes.
    assert_eq!(prefix_within(&"-".repeat(64), 1), 64);
}

#[test]
fn what_is_no_token_decodes_to_nothing() {
    assert_eq!(decode(&[0, 199_998]), None);
    assert_eq!(decode(&[]), Some(Vec::new()));
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "the",
            " quick",
            "Brown",
            "FOX",
            "'s",
            "'LL",
            "日本",
            "é",
            "\u{301}",
            "12345",
            " ",
            "  ",
            "\n",
            "\r\n",
            "\t",
            "/",
            "//",
            "!?",
            "👍🏽",
            "\u{a0}",
            "ب",
            "```",
            "aaaaaaaaaaaaaaaa",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn decoding_gives_back_the_text(text in text()) {
        let tokens = encode(&text);
        prop_assert_eq!(decode(&tokens), Some(text.clone().into_bytes()));
        prop_assert_eq!(count(&text), tokens.len());
    }

    #[test]
    fn limits_are_kept(text in text(), limit in 0_usize..80) {
        let tokens = count(&text);
        prop_assert_eq!(count_at_most(&text, limit), (tokens <= limit).then_some(tokens));
        let end = prefix_within(&text, limit);
        prop_assert!(count(&text[..end]) <= limit);
        prop_assert!(tokens > limit || end == text.len());
    }
}
