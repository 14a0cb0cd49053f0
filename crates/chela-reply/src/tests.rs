use proptest::prelude::*;

use super::fold::{FoldedChar, seen};
use super::{GateSettings, ReplyGate, ShownPiece, WithWord, gate, silence};
use crate::{Reply, ReplyDelivery, ReplyTo, Silence};

const PLAIN: GateSettings = GateSettings {
    heartbeat: None,
    tag_reasoning: false,
    with_word: WithWord::Deliver,
};
const GROUP: GateSettings = GateSettings {
    with_word: WithWord::Silence,
    ..PLAIN
};
const BEAT: GateSettings = GateSettings {
    heartbeat: Some(300),
    ..PLAIN
};
const TAGGED: GateSettings = GateSettings {
    tag_reasoning: true,
    ..PLAIN
};

fn text(settings: GateSettings, said: &str) -> String {
    match gate(settings, said) {
        Reply::Deliver(delivery) => delivery.text,
        Reply::Silent { why } => format!("({why:?})"),
    }
}

/// What is shown when a text comes in chunks of these lengths, over and over.
fn stream(settings: GateSettings, said: &str, lengths: &[usize]) -> (Vec<ShownPiece>, Reply) {
    let mut gate = ReplyGate::new(settings);
    let mut shown = Vec::new();
    let chars: Vec<char> = said.chars().collect();
    let mut at = 0;
    for length in lengths.iter().cycle() {
        if at >= chars.len() {
            break;
        }
        let end = (at + length.max(&1)).min(chars.len());
        shown.extend(gate.push(&chars[at..end].iter().collect::<String>()));
        at = end;
    }
    let finished = gate.finish();
    shown.extend(finished.shown);
    (shown, finished.reply)
}

/// The word of heartbeats, said to somebody who asked.
fn is_heartbeat_answer(delivery: &ReplyDelivery) -> bool {
    delivery.text == "HEARTBEAT_OK"
}

/// The text that is on the screen at the end.
fn on_screen(shown: &[ShownPiece]) -> String {
    let mut text = String::new();
    for piece in shown {
        match piece {
            ShownPiece::Text(more) => text.push_str(more),
            ShownPiece::Retracted => text.clear(),
            ShownPiece::Reasoning(_) => {}
        }
    }
    text
}

fn thoughts(shown: &[ShownPiece]) -> String {
    shown
        .iter()
        .filter_map(|piece| match piece {
            ShownPiece::Reasoning(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// Whether a text holds one of the words in a form that is nobody's prose.
fn holds_word(text: &str) -> bool {
    // Inside of code, a longer name is another word.
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = |run: &str| {
        let run = run.to_ascii_lowercase();
        ["no_reply", "heartbeat_ok"].iter().any(|word| {
            run.split_once(word).is_some_and(|(left, right)| {
                (left.len() > 1 && left.ends_with('_'))
                    || (right.len() > 1 && right.starts_with('_'))
            })
        })
    };
    let text: String = if text.contains('`') || text.contains("~~~") {
        text.split_inclusive(|c| !part(c))
            .filter(|run| !is_name(run.trim_end_matches(|c| !part(c))))
            .collect()
    } else {
        text.to_owned()
    };
    let plain: String = text
        .chars()
        .filter(|c| !matches!(c, '\\' | '*' | '`' | '~'))
        .filter_map(|c| match seen(c) {
            FoldedChar::Letter(letter) => Some(letter),
            FoldedChar::Underscore => Some('_'),
            FoldedChar::Nothing => None,
            _ => Some(c),
        })
        .collect();
    let squeezed = plain.replace("__", "_");
    ["no_reply", "heartbeat_ok"]
        .iter()
        .any(|word| plain.contains(word) || squeezed.contains(word))
}

/// W34: silent-reply and heartbeat tokens leak to people.
#[test]
fn w34_the_word_alone_is_silence_however_it_is_dressed() {
    let dressed = [
        "NO_REPLY",
        "no_reply",
        "No_Reply",
        "NO_REPLY.",
        "  NO_REPLY  \n",
        "\"NO_REPLY\"",
        "'NO_REPLY'",
        "`NO_REPLY`",
        "**NO_REPLY**",
        "*NO_REPLY*",
        "_NO_REPLY_",
        "__NO_REPLY__",
        "***NO_REPLY***",
        "~~NO_REPLY~~",
        "[NO_REPLY]",
        "[[NO_REPLY]]",
        "(NO_REPLY)",
        "<NO_REPLY>",
        "<NO_REPLY/>",
        "{NO_REPLY}",
        "「NO_REPLY」",
        "“NO_REPLY”",
        "> NO_REPLY",
        "- NO_REPLY",
        "# NO_REPLY",
        "```\nNO_REPLY\n```",
        "```text\nNO_REPLY\n```",
        "```NO_REPLY```",
        "<b>NO_REPLY</b>",
        "<p><code>NO_REPLY</code></p>",
        "<final>NO_REPLY</final>",
        "<think>not for me</think>NO_REPLY",
        "<think>not for me</think>\n\n**NO_REPLY**",
        "{\"reply\":\"NO_REPLY\"}",
        "{\"action\": \"NO_REPLY\", \"reason\": \"not addressed\"}",
        "```json\n{\"reply\": \"NO_REPLY\"}\n```",
        "[\"NO_REPLY\"]",
        "NO\\_REPLY",
        "NO\u{200b}_REPLY",
        "\u{feff}NO_REPLY",
        "N\u{200d}O_RE\u{ad}PLY",
        "ＮＯ＿ＲＥＰＬＹ",
        "𝐍𝐎_𝐑𝐄𝐏𝐋𝐘",
        "NO REPLY",
        "No reply.",
        "NO-REPLY",
        "no-reply",
        "NOREPLY",
        "NO—REPLY",
        "NO\u{a0}REPLY",
        "NO\u{3000}REPLY",
        "NO _ REPLY",
        "NO_ REPLY",
        "NO_REPLY NO_REPLY",
        "NO_REPLYNO_REPLY",
        "NO_REPLY\nNO_REPLY\nNO_REPLY",
        "NO_REPLY_NO_REPLY",
        "NO_NO_REPLYREPLY",
        "Reply: NO_REPLY",
        "Final answer: NO_REPLY",
        "response = `NO_REPLY`",
        "🤫 NO_REPLY 🤫",
        "NO_REPLY()",
        "NO_REPLY;",
        "/NO_REPLY",
        "NO_REPLY<|im_end|>",
        "<|im_start|>assistant\nNO_REPLY<|im_end|>",
        "[[reply_to_current]] NO_REPLY",
        "NO_REPL",
    ];
    for said in dressed {
        for settings in [PLAIN, GROUP, BEAT] {
            for lengths in [&[1][..], &[2, 3], &[5], &[1000]] {
                let (shown, reply) = stream(settings, said, lengths);
                assert_eq!(
                    reply,
                    Reply::Silent {
                        why: Silence::NoReply
                    },
                    "{said:?} by {lengths:?}"
                );
                let screen = on_screen(&shown);
                assert!(
                    !screen.contains(|c: char| c.is_alphanumeric()) || screen.starts_with("NO_"),
                    "{said:?} by {lengths:?} showed {screen:?}"
                );
                assert!(!holds_word(&screen), "{said:?} showed {screen:?}");
            }
        }
    }
    for said in [
        "HEARTBEAT_OK",
        "**heartbeat_ok**",
        "HEARTBEAT OK",
        "<b>HEARTBEAT_OK</b>.",
    ] {
        let why = Silence::HeartbeatOk;
        assert_eq!(gate(BEAT, said), Reply::Silent { why });
        assert_eq!(gate(GROUP, said), Reply::Silent { why });
    }
    // Who asked in a chat gets an answer: only heartbeats end with the word.
    for lengths in [&[1][..], &[3, 5], &[100]] {
        let (shown, reply) = stream(PLAIN, "HEARTBEAT_OK", lengths);
        assert_eq!(reply.text(), "HEARTBEAT_OK");
        assert_eq!(on_screen(&shown), "HEARTBEAT_OK");
    }
    for said in [
        "",
        "  \n",
        "<think>hm</think>",
        "<think>never closed",
        "</think>",
    ] {
        let why = Silence::Empty;
        assert_eq!(gate(PLAIN, said), Reply::Silent { why }, "{said:?}");
    }
}

#[test]
fn prose_that_only_sounds_like_it_stays_whole() {
    let prose = [
        "I had no reply from Ann yet.",
        "No reply from Ann yet.",
        "There was no-reply logic in it.",
        "Write to noreply@example.com or no-reply@example.com.",
        "Write to no_reply@example.com.",
        "No, replying is not needed.",
        "No.",
        "NO",
        "No",
        "NOR is a gate.",
        "Heartbeats are fine.",
        "Heartbeat OK on all nodes, 3 of 3.",
        "The heartbeat is ok.",
        "Use `NO_REPLY_EXPECTED` in the header.",
        "```c\nint f = DBUS_ERROR_NO_REPLY;\n```",
        "piano replay",
        "Reply",
        "Reply to Ann: yes.",
        "{\"temperature\": 21}",
        "[link](https://example.com)",
        "a < b and b > c",
        "Use the `<think>` tag.",
        "```html\n<think>kept</think>\n```",
        "x [[wiki]] y",
        "a [1] b [[ c",
        "MEDIA: the press reports",
        "2 * 3 * 4 = 24 and __init__",
        "I got NO REPLY from them, sadly.",
        "No reply\nfrom the server.",
    ];
    for said in prose {
        for lengths in [&[1][..], &[2, 3], &[7], &[1000]] {
            let (shown, reply) = stream(PLAIN, said, lengths);
            let delivered = Reply::Deliver(ReplyDelivery {
                text: said.to_owned(),
                ..ReplyDelivery::default()
            });
            assert_eq!(reply, delivered, "{said:?} by {lengths:?}");
            assert_eq!(on_screen(&shown), said, "by {lengths:?}");
        }
    }
}

#[test]
fn text_with_the_word_follows_the_table() {
    let done = "Not addressed to me.\n\nNO_REPLY";
    assert_eq!(text(PLAIN, done), "Not addressed to me.");
    assert_eq!(text(GROUP, done), "(NoReply)");
    assert_eq!(text(BEAT, done), "(NoReply)");
    assert_eq!(text(PLAIN, "Done. NO_REPLY"), "Done.");
    assert_eq!(text(PLAIN, "Done. NO REPLY"), "Done.");
    assert_eq!(text(PLAIN, "Done.\n\nNO-REPLY"), "Done.");
    assert_eq!(text(PLAIN, "nothing urgent → NO_REPLY"), "nothing urgent →");
    assert_eq!(text(PLAIN, "NO_REPLY\n\nclear everything"), "(NoReply)");
    assert_eq!(text(PLAIN, "NO_REPLYclear everything"), "(NoReply)");
    assert_eq!(text(GROUP, "NO_REPLY - not for me"), "(NoReply)");
    assert_eq!(text(PLAIN, "It says `NO_REPLY` there."), "It says there.");
    assert_eq!(text(GROUP, "It says NO_REPLY there."), "It says there.");
    assert_eq!(text(PLAIN, "doneNO_REPLY"), "done");
    assert_eq!(text(PLAIN, "a NO_REPLY_NO_REPLY b"), "a b");

    let long = "x ".repeat(200);
    assert_eq!(text(BEAT, "All fine. HEARTBEAT_OK"), "(HeartbeatOk)");
    assert_eq!(text(BEAT, "HEARTBEAT_OK all fine"), "(HeartbeatOk)");
    assert_eq!(text(BEAT, &format!("HEARTBEAT_OK\n{long}")), long.trim());
    assert_eq!(text(BEAT, "The disk is full."), "The disk is full.");
    assert_eq!(
        text(BEAT, "It said HEARTBEAT_OK but the disk is full."),
        "It said but the disk is full."
    );
    assert_eq!(text(PLAIN, "HEARTBEAT_OK\nHi Ann"), "Hi Ann");
}

#[test]
fn media_is_delivered_beside_silence() {
    let reply = gate(BEAT, "MEDIA: /tmp/chart.png\nHEARTBEAT_OK");
    let Reply::Deliver(delivery) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(delivery.media, ["/tmp/chart.png"]);
    assert_eq!(delivery.text, "");
}

#[test]
fn directives_are_taken_out_wherever_chunks_end() {
    let said = "[[ reply_to: 42 ]] Here it is.\nMEDIA: https://example.com/a.png\n- MEDIA: `~/b c.jpg`\n[[audio_as_voice]]Listen [[reply_to_current]] now.\n```\nMEDIA:/kept.png [[audio_as_voice]]\n```\n";
    for lengths in [&[1][..], &[2], &[3, 8], &[1000]] {
        let (shown, reply) = stream(PLAIN, said, lengths);
        let Reply::Deliver(delivery) = reply else {
            panic!("{reply:?}");
        };
        assert_eq!(delivery.media, ["https://example.com/a.png", "~/b c.jpg"]);
        assert_eq!(delivery.reply_to, Some(ReplyTo::Current));
        assert!(delivery.audio_as_voice);
        assert_eq!(
            delivery.text,
            "Here it is.\nListen now.\n```\nMEDIA:/kept.png [[audio_as_voice]]\n```"
        );
        assert_eq!(on_screen(&shown).trim_end(), delivery.text);
    }
    let Reply::Deliver(delivery) = gate(PLAIN, "[[reply_to:abc-9]]ok") else {
        panic!("delivered");
    };
    assert_eq!(delivery.reply_to, Some(ReplyTo::Id("abc-9".into())));
}

#[test]
fn thinking_is_told_from_the_reply() {
    let cases = [
        (PLAIN, "<think>a</think>b", "b", "a"),
        (PLAIN, "<thinking>a</thinking>\n\nb", "b", "a"),
        (PLAIN, "<think>a<think>x</think>y</think>b", "b", "axy"),
        (PLAIN, "<think><think>a</think>b", "b", "a"),
        (PLAIN, "<THINK>a</Think >b", "b", "a"),
        (PLAIN, "<think>a <final>b</final>", "b", "a "),
        (PLAIN, "x <think>a</think> y", "x  y", "a"),
        (PLAIN, "so I think\n</think>\nb", "b", ""),
        (PLAIN, "<final>b</final>", "b", ""),
        (TAGGED, "mulling it over <final>b</final> more", "b", ""),
        (TAGGED, "<think>a</think>no tag", "no tag", "a"),
        (PLAIN, "<think/>b", "b", ""),
        (PLAIN, "<think>say NO_REPLY here</think>b", "b", "say here"),
        (
            PLAIN,
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
            "b",
            "a",
        ),
    ];
    for (settings, said, want, thought) in cases {
        for lengths in [&[1][..], &[2, 5], &[1000]] {
            let (shown, reply) = stream(settings, said, lengths);
            let Reply::Deliver(delivery) = reply else {
                panic!("{said:?}: {reply:?}");
            };
            assert_eq!(delivery.text, want, "{said:?} by {lengths:?}");
            assert_eq!(on_screen(&shown).trim(), want, "{said:?} by {lengths:?}");
            assert_eq!(thoughts(&shown), thought, "{said:?} by {lengths:?}");
        }
    }
}

#[test]
fn leaked_scaffolding_is_not_delivered() {
    let cases = [
        ("Hi<|im_end|>", "Hi"),
        ("<|im_start|>assistant\nHi", "Hi"),
        ("<start_of_turn>model\nHi<end_of_turn>", "Hi"),
        ("Hi<｜end▁of▁sentence｜>", "Hi"),
        (
            "Hi <tool_call>{\"name\":\"x\"}</tool_call>there",
            "Hi there",
        ),
        ("Hi <tool_call>{\"name\":\"x\"", "Hi"),
        ("Hi<system-reminder>secret</system-reminder>", "Hi"),
        (
            "Hi<function_calls><invoke name=\"a\">x</invoke></function_calls>!",
            "Hi!",
        ),
        ("Hi [TOOL_CALLS][{\"name\":\"x\"}]", "Hi"),
        ("[INST] Hi [/INST]", "Hi"),
        ("Hi<|tool_call_begin|>x<|tool_call_end|> there", "Hi there"),
    ];
    for (said, want) in cases {
        for lengths in [&[1][..], &[4], &[1000]] {
            let (shown, reply) = stream(PLAIN, said, lengths);
            let Reply::Deliver(delivery) = reply else {
                panic!("{said:?}: {reply:?}");
            };
            assert_eq!(delivery.text, want, "{said:?} by {lengths:?}");
            assert_eq!(on_screen(&shown).trim(), want, "{said:?} by {lengths:?}");
        }
    }
}

#[test]
fn nothing_that_streams_late_is_held_for_long() {
    let mut gate = ReplyGate::new(PLAIN);
    let mut lag = 0;
    let mut shown = 0;
    let said =
        "The quick brown fox jumps over the lazy dog and now naps, or so they say. ".repeat(20);
    for (at, c) in said.char_indices() {
        for piece in gate.push(&c.to_string()) {
            if let ShownPiece::Text(text) = piece {
                shown += text.len();
            }
        }
        lag = lag.max(at + 1 - shown);
    }
    assert!(lag <= 12, "{lag}");
}

fn word() -> impl Strategy<Value = String> {
    let zero_width = ["", "", "", "\u{200b}", "\u{200d}", "\u{feff}", "\u{ad}"];
    let separators = ["_", "_", "\\_", "＿", "__", "_\u{200b}", " _", "_ ", "*_*"];
    let words = [("NO", "REPLY"), ("HEARTBEAT", "OK")];
    let letters = (
        0..words.len(),
        0..separators.len(),
        proptest::collection::vec((0..zero_width.len(), 0..4_u8), 12),
    );
    letters.prop_map(move |(word, separator, dress)| {
        let (head, tail) = words[word];
        let mut dress = dress.into_iter();
        let mut part = |text: &str| {
            let mut out = String::new();
            for c in text.chars() {
                let (zero, form) = dress.next().unwrap_or((0, 0));
                match form {
                    0 => out.extend(c.to_lowercase()),
                    1 => out.push(char::from_u32(c as u32 + 0xfee0).unwrap_or(c)),
                    _ => out.push(c),
                }
                out.push_str(zero_width[zero]);
            }
            out
        };
        format!("{}{}{}", part(head), separators[separator], part(tail))
    })
}

fn dressed_word() -> impl Strategy<Value = String> {
    let dress = [
        ("", ""),
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("**", "**"),
        ("*", "*"),
        ("_", "_"),
        ("~~", "~~"),
        ("[", "]"),
        ("(", ")"),
        ("```\n", "\n```"),
        ("```text\n", "\n```\n"),
        ("<b>", "</b>"),
        ("{\"reply\":\"", "\"}"),
        ("“", "”"),
        ("> ", ""),
        ("- ", ""),
        ("", "."),
        ("", "!"),
        ("#", ""),
        ("<final>", "</final>"),
        ("NO_", ""),
        ("", "_"),
        ("HEARTBEAT_", ""),
        ("", "REPLY"),
        ("NO_", "REPLY"),
        ("[[reply_to_current]]", ""),
        ("<", ">"),
        ("<|", "|>"),
    ];
    (
        word(),
        proptest::collection::vec(0..dress.len(), 0..3),
        1..3_usize,
    )
        .prop_map(move |(word, layers, times)| {
            layers.into_iter().fold(word.repeat(times), |text, layer| {
                format!("{}{text}{}", dress[layer].0, dress[layer].1)
            })
        })
}

fn around() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(" ".to_owned()),
        Just("\n\n".to_owned()),
        Just("Checked the inbox, nothing new.\n\n".to_owned()),
        Just("<think>hm</think>".to_owned()),
        Just("<think>".to_owned()),
        Just("</think>".to_owned()),
        Just("無緊急事項 → ".to_owned()),
        Just("no".to_owned()),
        Just("NO_".to_owned()),
        Just("REPLY".to_owned()),
        Just("`code` ".to_owned()),
        "[a-zA-Z_*`<>\\[\\]{}\". \n-]{0,24}",
    ]
}

fn settings() -> impl Strategy<Value = GateSettings> {
    prop::sample::select(vec![PLAIN, GROUP, BEAT, TAGGED])
}

proptest! {
    #[test]
    fn the_words_never_reach_a_person(
        parts in proptest::collection::vec((around(), dressed_word()), 1..4),
        end in around(),
        lengths in proptest::collection::vec(1..9_usize, 1..6),
        settings in settings(),
    ) {
        let mut said: String = parts.into_iter().map(|(a, b)| a + &b).collect();
        said.push_str(&end);
        let (shown, reply) = stream(settings, &said, &lengths);
        let screen = on_screen(&shown);
        let is_answer = matches!(&reply, Reply::Deliver(delivery) if is_heartbeat_answer(delivery));
        prop_assert!(is_answer || !holds_word(&screen), "{said:?} showed {screen:?}");
        prop_assert!(!holds_word(&thoughts(&shown)), "{said:?} thought {:?}", thoughts(&shown));
        if let Reply::Deliver(delivery) = &reply
            && !is_answer
        {
            prop_assert!(!holds_word(&delivery.text), "{said:?} gave {:?}", delivery.text);
            prop_assert_eq!(silence(&delivery.text), None);
        }
    }

    #[test]
    fn the_screen_and_the_reply_agree(
        said in "([a-zA-Z <>/_*`\\[\\]:\n.-]|<think>|</think>|<final>|</final>|```\n|MEDIA:|\\[\\[|\\]\\]|NO_REPLY|no|reply|no reply|HEARTBEAT_OK|<\\|im_end\\|>){0,40}",
        lengths in proptest::collection::vec(1..9_usize, 1..6),
        settings in settings(),
    ) {
        let (shown, reply) = stream(settings, &said, &lengths);
        let (_, at_once) = stream(settings, &said, &[usize::MAX / 2]);
        match &reply {
            Reply::Deliver(delivery) => {
                let screen = on_screen(&shown);
                prop_assert_eq!(screen.trim(), delivery.text.as_str(), "{:?}", said);
            }
            Reply::Silent { .. } => {
                let screen = on_screen(&shown);
                prop_assert!(!screen.contains(char::is_alphanumeric), "{:?} showed {:?}", said, screen);
            }
        }
        prop_assert_eq!(reply, at_once, "{:?}", said);
    }
}
