//! A turn of ten calls after a short and after a long past.

use std::path::Path;
use std::process::Command;

use chela_core::{ContentHash, Origin, Trust};
use chela_model::{MessagePart, ModelMessage, ToolCall};
use chela_session::{CompactionEntry, EntryBody, EntryMeta, TextLabel};
use chela_store::block_on;
use serde_json::{Map, json};

use crate::home::{agents, conversation, runtime, say};
use crate::meter::process_cpu;
use crate::model::{InstantModel, TEN_CALLS};
use crate::{itself, this_program};

/// Entries of one turn below.
const ENTRIES: usize = 6;
/// 36 entries, 30,000 tokens: what the model reads of each history.
const KEPT_TURNS: usize = 6;
/// Bytes of a tool result: a turn is 20 KB.
const RESULT_BYTES: usize = 19_000;

/// Writes a past of so many bytes, summed up, and the turns the model still reads after it.
pub fn seed(dir: &Path, bytes: usize) {
    let model = InstantModel::start();
    let talk = conversation(&agents(dir, &model.url()), 0);
    let (store, session) = (talk.store(), talk.session());
    let mut words = Words(9);
    let mut first_kept = None;
    let past = bytes / (RESULT_BYTES + 1_000);
    for turn in 0..past + KEPT_TURNS {
        let entries = turn_entries(turn, &mut words);
        let ids = block_on(store.append_all(&session, &entries)).expect("entries");
        assert_eq!(ids.len(), ENTRIES);
        if turn == past {
            first_kept = ids.first().copied();
        }
    }
    if past > 0 {
        let summary = CompactionEntry {
            summary: format!("## Goals\n{}", words.text(2_000)),
            first_kept: first_kept.expect("a turn was kept"),
            tokens_before: u64::try_from(bytes / 4).expect("a count"),
            details: json!(null),
        };
        block_on(store.append_all(&session, &[EntryBody::Compaction(summary)])).expect("a summary");
    }
}

/// Writes turns without calls, all of which the model still reads: 330 bytes each.
pub fn seed_talk(dir: &Path, turns: usize) {
    let model = InstantModel::start();
    let talk = conversation(&agents(dir, &model.url()), 0);
    let mut words = Words(11);
    let mut entries = Vec::with_capacity(3 * turns);
    for _ in 0..turns {
        entries.push(EntryBody::plain(ModelMessage::user(words.text(60))));
        entries.push(EntryBody::plain(ModelMessage::Assistant {
            content: vec![MessagePart::text(words.text(180))],
            model: Some("bench/instant".to_owned()),
        }));
        entries.push(EntryBody::TurnEnded {
            how: "done".to_owned(),
        });
    }
    for chunk in entries.chunks(300) {
        block_on(talk.store().append_all(&talk.session(), chunk)).expect("entries");
    }
}

fn turn_entries(turn: usize, words: &mut Words) -> Vec<EntryBody> {
    let id = format!("past-{turn}");
    let said = |text: String| {
        EntryBody::plain(ModelMessage::Assistant {
            content: vec![MessagePart::text(text)],
            model: Some("bench/instant".to_owned()),
        })
    };
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), json!(format!("notes/{turn}.txt")));
    let call = ModelMessage::Assistant {
        content: vec![MessagePart::ToolCall(ToolCall {
            id: id.clone(),
            name: "read".to_owned(),
            arguments,
            malformed: None,
        })],
        model: Some("bench/instant".to_owned()),
    };
    let text = words.text(RESULT_BYTES);
    let origin = Origin::Tool {
        call: id.clone(),
        hash: ContentHash::of(&text),
    };
    let result = ModelMessage::ToolResult {
        call_id: id.clone(),
        tool: "read".to_owned(),
        content: vec![MessagePart::text(text)],
        is_error: false,
    };
    let meta = EntryMeta {
        label: Some(TextLabel {
            trust: Trust::Owner,
            origin,
        }),
        ..EntryMeta::default()
    };
    vec![
        EntryBody::plain(ModelMessage::user(words.text(300))),
        EntryBody::plain(call),
        EntryBody::ToolStarted { call_id: id },
        EntryBody::Message {
            message: result,
            meta,
        },
        said(words.text(700)),
        EntryBody::TurnEnded {
            how: "done".to_owned(),
        },
    ]
}

/// Runs turns and prints the CPU milliseconds of one, the first left out.
pub fn turns(dir: &Path, what: &str, count: usize) {
    let model = InstantModel::start();
    let talk = conversation(&agents(dir, &model.url()), 0);
    let (text, calls) = match what {
        "calls" => (TEN_CALLS, 10),
        _ => ("hi", 0),
    };
    let runtime = runtime(1);
    let mut taken = Vec::new();
    for turn in 0..count {
        let before = process_cpu().saturating_sub(model.cpu());
        runtime.block_on(say(&talk, format!("Please {text}, {turn}."), calls));
        let after = process_cpu().saturating_sub(model.cpu());
        taken.push(after.saturating_sub(before));
    }
    taken.drain(..usize::from(count > 1));
    taken.sort();
    if let Some(median) = taken.get(taken.len() / 2) {
        println!("{:.2}", median.as_secs_f64() * 1e3);
    }
}

/// Counted from outside, by the difference of a long run and a short one. None without strace.
pub fn fsyncs_per_turn(dir: &Path, what: &str) -> Option<f64> {
    let count = |turns: usize| -> Option<f64> {
        let log = tempfile::NamedTempFile::new().ok()?;
        let mut strace = Command::new("strace");
        strace
            .args(["-f", "-qq", "-e", "trace=fsync,fdatasync", "-o"])
            .arg(log.path())
            .arg(this_program());
        let words = ["turns", what, &turns.to_string()];
        let traced = itself(strace, dir, &words).output().ok()?;
        if !traced.status.success() {
            return None;
        }
        let calls = std::fs::read_to_string(log.path()).ok()?;
        let begun = |line: &&str| line.contains("sync(") && !line.contains("resumed>");
        u32::try_from(calls.lines().filter(begun).count())
            .ok()
            .map(f64::from)
    };
    Some((count(4)? - count(1)?) / 3.0)
}

/// Text of made-up words, always the same.
struct Words(u64);

impl Words {
    fn text(&mut self, bytes: usize) -> String {
        const SYLLABLES: [&str; 16] = [
            "ka", "lo", "mi", "ter", "su", "ran", "de", "vol", "pi", "en", "gra", "sto", "u",
            "bel", "ny", "ach",
        ];
        let mut text = String::with_capacity(bytes + 8);
        while text.len() < bytes {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = self.0 >> 40;
            for shift in 0..=(bits & 3) {
                let which = usize::try_from(bits >> (4 * shift + 4) & 15).unwrap_or_default();
                text.push_str(SYLLABLES[which]);
            }
            text.push(if bits & 0xf0_0000 == 0 { '\n' } else { ' ' });
        }
        text
    }
}
