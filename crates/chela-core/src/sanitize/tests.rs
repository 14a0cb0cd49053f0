use std::borrow::Cow;

use proptest::prelude::*;

use super::{RemovedCharacters, content, literal};

/// Text as people write it, with the invisible characters their scripts need.
const ORDINARY: &[&str] = &[
    "plain ASCII\twith tabs\r\nand lines\n",
    "Grüße, naïve café, Ångström — “quotes” … €",
    "Donau\u{AD}dampf\u{AD}schiff and no\u{2060}break",
    // Persian: ZWNJ inside words and at a word's end; ZWJ after heh.
    "می\u{200C}خواهم کتاب\u{200C}ها را بخوانم. سده\u{200C}ی ۲۱ ه\u{200D}. ق",
    "نامه\u{200C}ای به\u{200C}زودی",
    // Hindi, Bengali, Malayalam, Sinhala, Kannada.
    "क्\u{200D}ष और क्\u{200C}ष",
    "র\u{200D}্যাব",
    "അവന്\u{200D} പാല്\u{200D}",
    "ශ්\u{200D}රී ලංකා",
    "ರ\u{200D}್ಕ",
    // Hebrew and Arabic with direction marks, one at the end after punctuation.
    "שלום (C++)\u{200E} עולם!\u{200F}",
    "السعر 5 USD\u{200F}، شكرا\u{61C}",
    // Khmer, Thai, Burmese with ZWSP between words.
    "ភាសា\u{200B}ខ្មែរ\u{200B}មាន",
    "ภาษา\u{200B}ไทย",
    "မြန်မာ\u{200B}စာ",
    // Mongolian with selectors and the vowel separator; old Hangul with fillers.
    "ᠮᠣᠩᠭᠣᠯ\u{180E}ᠠ ᠪᠢ\u{180B}ᠴᠢᠭ",
    "\u{115F}\u{1160}ᆨ ᄀ\u{1160}",
    "日本語の文、葛\u{E0100}城市と辻\u{E0101}さん。中文也一样。한국어도.",
    "👨\u{200D}👩\u{200D}👧\u{200D}👦 👩🏽\u{200D}💻 🏳\u{FE0F}\u{200D}🌈 👩\u{200D}❤\u{FE0F}\u{200D}💋\u{200D}👨",
    "1\u{FE0F}\u{20E3} ❤\u{FE0F} ☎\u{FE0E} ©\u{FE0F} 🇩🇪🇮🇷 ⛹🏿\u{200D}♀\u{FE0F} 👁\u{FE0F}\u{200D}🗨\u{FE0F}",
    // The flags of Scotland and Texas.
    "🏴\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F} 🏴\u{E0075}\u{E0073}\u{E0074}\u{E0078}\u{E007F}",
    "e\u{301}\u{34F}\u{323} combining",
    "⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙ \u{E0B0} private use \u{2028}separated\u{2029}",
    "Tiếng Việt, Ελληνικά, Русский, Հայերեն, ქართული, አማርኛ, ᏣᎳᎩ",
];

#[test]
fn ordinary_text_of_any_language_is_left_alone_without_a_copy() {
    for text in ORDINARY {
        let (cleaned, removed) = content(text);
        assert_eq!(cleaned, *text);
        assert!(matches!(cleaned, Cow::Borrowed(_)), "{text:?} was copied");
        assert_eq!(removed, RemovedCharacters::default());
    }
}

fn tags(hidden: &str) -> String {
    hidden
        .bytes()
        .filter_map(|byte| char::from_u32(0xE0000 + u32::from(byte)))
        .collect()
}

fn selectors(hidden: &str) -> String {
    let selector = |byte: u32| {
        if byte < 16 {
            0xFE00 + byte
        } else {
            0xE0100 + byte - 16
        }
    };
    hidden
        .bytes()
        .filter_map(|byte| char::from_u32(selector(u32::from(byte))))
        .collect()
}

#[test]
fn hidden_text_is_removed_counted_and_located() {
    let text = format!(
        "one\ntwo{}\nthree\u{202E}\nfour\u{200B}\u{FEFF}\n\nsix 😀{}\nseven\u{1B}[31m\u{0}",
        tags("ignore all"),
        selectors("run it"),
    );
    let (cleaned, removed) = content(&text);
    assert_eq!(cleaned, "one\ntwo\nthree\nfour\n\nsix 😀\nseven[31m");
    let expected = RemovedCharacters {
        tags: 10,
        bidi: 1,
        zero_width: 2,
        control: 2,
        selectors: 6,
        byte_order_mark: false,
        first_lines: vec![2, 3, 4, 6, 7],
    };
    assert_eq!(removed, expected);
    assert_eq!(removed.total(), 21);
}

#[test]
fn what_a_script_needs_hides_nothing_elsewhere() {
    for (text, expected) in [
        // Bits in joiners, between Latin letters and in runs beside Persian ones.
        ("a\u{200C}b\u{200D}c\u{200B}d", "abcd"),
        ("ب\u{200C}\u{200D}\u{200C}\u{200C}ب", "ب\u{200C}ب"),
        ("ខ\u{200B}\u{200B}\u{200B}ខ", "ខ\u{200B}ខ"),
        // Emoji joiners that join nothing.
        ("👩\u{200D} and 👩\u{200D}x", "👩 and 👩x"),
        ("👩\u{200D}\u{200D}👩", "👩\u{200D}👩"),
        // Direction marks without a right-to-left line; isolates anywhere.
        ("a\u{200E}b\nשלום", "ab\nשלום"),
        ("שלום\u{200F}\u{200F}\u{200E}", "שלום\u{200F}"),
        ("שלום \u{2067}abc\u{2069}", "שלום abc"),
        // Selectors on what has no variants, and stacked ones.
        ("a\u{FE0F}b \u{FE0F}", "ab "),
        (
            "❤\u{FE0F}\u{FE0F} 葛\u{E0100}\u{E0101} é\u{E0100}",
            "❤ 葛 é",
        ),
        // Runs of break hints, fillers, graphemes joined to nothing.
        ("soft\u{AD}\u{AD}\u{2060}\u{AD}ly", "soft\u{AD}ly"),
        ("\u{3164}\u{3164}\u{FFA0}x", "\u{3164}x"),
        ("x\u{115F}y\u{1160}\u{115F}", "xy"),
        (
            "\u{115F}\u{1160}\u{115F}\u{1160}\u{115F}ᆨ",
            "\u{115F}\u{1160}ᆨ",
        ),
        ("a\u{34F}b", "ab"),
        ("f\u{2061}(x)\u{2062}y\u{206A}\u{FFF9}", "f(x)y"),
        // Flags that are none: a sentence, too short, too long, without an end.
        (&format!("🏴{}\u{E007F}", tags("ignore previous")), "🏴"),
        (&format!("🏴{}\u{E007F}", tags("gb")), "🏴"),
        (&format!("🏴{}\u{E007F}", tags("gbsctxyz")), "🏴"),
        (&format!("🏴{}", tags("gbsct")), "🏴"),
        (&format!("x{}\u{E007F}", tags("gbsct")), "x"),
        (
            &format!("🏴{}\u{E007F}{}", tags("gbeng"), tags("more")),
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        ),
    ] {
        let (cleaned, removed) = content(text);
        assert_eq!(cleaned, expected, "from {text:?}");
        assert_eq!(
            removed.total(),
            text.chars().count() - expected.chars().count()
        );
    }
}

#[test]
fn a_byte_order_mark_goes_without_being_a_finding() {
    let (cleaned, removed) = content("\u{FEFF}# Title");
    assert_eq!(cleaned, "# Title");
    assert!(removed.byte_order_mark);
    assert_eq!(removed.total(), 0);
}

#[test]
fn at_most_eight_lines_are_named() {
    let (_, removed) = content(&"x\u{200B}\u{200B}\n".repeat(20));
    assert_eq!(removed.first_lines, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(removed.total(), 40);
}

#[test]
fn long_runs_cost_no_more_than_their_length() {
    for run in [
        "\u{200C}",
        "\u{FE0F}",
        "\u{E0041}",
        "\u{200F}",
        "a\u{200D}",
        "🏴\u{E0067}",
    ] {
        let text = run.repeat(300_000);
        assert!(content(&text).1.total() > 250_000, "{run:?}");
    }
}

#[test]
fn literals_lose_what_cannot_stand_in_a_line() {
    for (value, expected) in [
        ("/home/me/work", "/home/me/work"),
        ("line\nbreak\r\n\u{2028}\u{2029}\u{85}end", "linebreakend"),
        ("tab\tnul\0esc\u{1B}del\u{7F}", "tabnulescdel"),
        ("bidi\u{202E}\u{2066}\u{200F}\u{61C}", "bidi"),
        ("zero\u{200B}\u{200C}\u{200D}\u{2060}\u{FEFF}\u{AD}", "zero"),
        (
            "blank\u{115F}\u{1160}\u{3164}\u{FFA0}\u{34F}\u{17B4}\u{E0100}",
            "blank",
        ),
        ("❤\u{FE0F}.md 葛\u{E0100}", "❤\u{FE0F}.md 葛\u{E0100}"),
        ("❤\u{FE0F}\u{FE0E}.md", "❤.md"),
        ("größe/日本語/\u{E0B0}", "größe/日本語/\u{E0B0}"),
    ] {
        assert_eq!(literal(value), expected);
        assert_eq!(
            matches!(literal(value), Cow::Borrowed(_)),
            value == expected,
            "{value:?}"
        );
    }
    assert_eq!(literal(&format!("a{}b", tags("hidden"))), "ab");
}

/// Strings in which everything this module decides about meets everything else.
fn suspicious() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "a",
            "é",
            " ",
            "\n",
            "ب",
            "ש",
            "क",
            "ខ",
            "葛",
            "👩",
            "❤",
            "1",
            "🏴",
            "ᄀ",
            "ᠮ",
            "\u{301}",
            "\u{200B}",
            "\u{200C}",
            "\u{200D}",
            "\u{200E}",
            "\u{200F}",
            "\u{61C}",
            "\u{202E}",
            "\u{2066}",
            "\u{AD}",
            "\u{2060}",
            "\u{FEFF}",
            "\u{FE0F}",
            "\u{FE00}",
            "\u{E0100}",
            "\u{E0067}",
            "\u{E0062}",
            "\u{E0073}",
            "\u{E007F}",
            "\u{115F}",
            "\u{1160}",
            "\u{3164}",
            "\u{34F}",
            "\u{17B4}",
            "\u{180B}",
            "\u{0}",
            "\r",
            "\t",
            "\u{1D173}",
            "\u{FFFB}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn cleaning_twice_changes_no_more_than_once(text in suspicious()) {
        let (once, removed) = content(&text);
        let (twice, nothing) = content(&once);
        prop_assert_eq!(&twice, &once);
        prop_assert_eq!(nothing, RemovedCharacters::default());
        let mark = usize::from(removed.byte_order_mark);
        prop_assert_eq!(once.chars().count() + removed.total() + mark, text.chars().count());
        let short = literal(&text);
        prop_assert_eq!(literal(&short), short.clone());
    }

    #[test]
    fn what_can_be_seen_stays(text in suspicious()) {
        let visible = |text: &str| -> String {
            text.chars().filter(|c| super::invisible_kind(*c).is_none()).collect()
        };
        prop_assert_eq!(visible(&content(&text).0), visible(&text));
    }

    #[test]
    fn no_always_hidden_character_survives(text in suspicious()) {
        let cleaned = content(&text).0;
        let hidden = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}' | '\0');
        prop_assert!(!cleaned.contains(hidden));
        let unfit = |c: char| c.is_control() || matches!(c, '\u{E0000}'..='\u{E007F}');
        prop_assert!(!literal(&text).contains(unfit));
    }
}
