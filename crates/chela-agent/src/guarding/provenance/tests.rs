use chela_core::{ContentHash, OwnerProof, Trust};
use chela_guard::flow::{Provenance, SessionTaint};
use chela_session::{EntryMeta, MessageSender, MessageSource, SpeakerMark};
use serde_json::json;

use super::{Reading, speaker_of, told_by};
use crate::entry_trust::trust_of_blocks;
use crate::guard_mark::GuardMark;

const OWNERS: [&str; 2] = ["telegram:7", "ann@example.org"];

fn trust(meta: &EntryMeta, names_speakers: bool) -> Trust {
    let owners = OWNERS.map(str::to_owned);
    told_by(meta, speaker_of(meta, names_speakers), &owners).0
}

fn sender(id: &str, channel: Option<&str>) -> Option<MessageSender> {
    Some(MessageSender {
        id: id.to_owned(),
        channel: channel.map(str::to_owned),
        ..MessageSender::default()
    })
}

#[test]
fn only_a_proof_or_the_config_makes_an_owner() {
    let marks = [
        None,
        Some(SpeakerMark::Sender),
        Some(SpeakerMark::Runtime),
        Some(SpeakerMark::Unreadable),
    ];
    let senders = [
        None,
        sender("", None),
        sender("", Some("telegram")),
        sender("8", Some("telegram")),
        sender("7", None),
        sender("7", Some("discord")),
    ];
    let sources = [
        MessageSource::Person,
        MessageSource::Heartbeat,
        MessageSource::Cron,
        MessageSource::Event,
        MessageSource::Session,
    ];
    for speaker in marks {
        for sender in &senders {
            for source in sources {
                let meta = EntryMeta {
                    sender: sender.clone(),
                    source,
                    speaker,
                    ..EntryMeta::default()
                };
                let trust = trust(&meta, true);
                let of_runtime = speaker == Some(SpeakerMark::Runtime)
                    && !matches!(source, MessageSource::Person | MessageSource::Session);
                let expected = match of_runtime {
                    true => Trust::Operator,
                    false => Trust::External,
                };
                assert_eq!(trust, expected, "{meta:?}");
            }
        }
    }
    let listed = EntryMeta {
        sender: sender("7", Some("telegram")),
        speaker: Some(SpeakerMark::Sender),
        ..EntryMeta::default()
    };
    assert_eq!(trust(&listed, true), Trust::Owner);
    let terminal = chela_core::Speaker::Owner(OwnerProof::terminal());
    let proven = EntryMeta {
        speaker: Some(SpeakerMark::from(&terminal)),
        ..EntryMeta::default()
    };
    assert_eq!(trust(&proven, true), Trust::Owner);
}

#[test]
fn what_was_written_before_speakers_were_keeps_its_meaning() {
    assert_eq!(trust(&EntryMeta::default(), false), Trust::Owner);
    let stranger = EntryMeta {
        sender: sender("8", Some("telegram")),
        ..EntryMeta::default()
    };
    assert_eq!(trust(&stranger, false), Trust::External);
    let beat = EntryMeta {
        source: MessageSource::Heartbeat,
        ..EntryMeta::default()
    };
    assert_eq!(trust(&beat, false), Trust::Operator);
}

#[test]
fn a_speaker_that_cannot_be_read_is_nobody_and_loses_no_message() {
    for text in [r#""boss""#, "7", r#"{"owner":true}"#, "[]"] {
        let meta: EntryMeta = serde_json::from_str(&format!(r#"{{"speaker":{text}}}"#)).unwrap();
        assert_eq!(meta.speaker, Some(SpeakerMark::Unreadable), "{text}");
        assert_eq!(trust(&meta, false), Trust::External, "{text}");
    }
    for mark in [
        SpeakerMark::Owner,
        SpeakerMark::Sender,
        SpeakerMark::Runtime,
    ] {
        let meta = EntryMeta {
            speaker: Some(mark),
            ..EntryMeta::default()
        };
        let text = serde_json::to_string(&meta).unwrap();
        assert_eq!(
            serde_json::from_str::<EntryMeta>(&text).unwrap(),
            meta,
            "{text}"
        );
    }
}

#[test]
fn labels_that_cannot_be_read_mean_foreign() {
    assert_eq!(trust_of_blocks(&json!(null)), Trust::Operator);
    assert_eq!(trust_of_blocks(&json!({ "runtime": [] })), Trust::Operator);
    for marks in [
        json!(null),
        json!("operator"),
        json!([{ "trust": "king" }]),
        json!([1]),
    ] {
        let details = json!({ "runtime": marks });
        assert_eq!(trust_of_blocks(&details), Trust::External, "{details}");
    }
}

#[test]
fn a_decision_that_cannot_be_read_is_no_yes() {
    let shape = ContentHash::of("a call");
    let refused = GuardMark::Refused {
        call: "1".to_owned(),
        shape,
    };
    let mut reading = Reading::default();
    let readable = serde_json::to_value(&refused).unwrap();
    assert_eq!(reading.read_mark(&readable), Some(refused));
    assert_eq!(reading.seen.taint(), SessionTaint::Clean);

    for unreadable in [json!(null), json!({ "kind": "forbidden" }), json!([])] {
        let mut reading = Reading::default();
        assert_eq!(reading.read_mark(&unreadable), None);
        assert_eq!(reading.seen.taint(), SessionTaint::Tainted, "{unreadable}");
    }
    // What is left of a no still says what it was about.
    let mut reading = Reading::default();
    reading.read_mark(&json!({ "kind": "refused", "shape": shape }));
    let mut expected = Provenance::default();
    expected.taint_with(SessionTaint::Tainted);
    expected.refuse_shape(shape);
    assert_eq!(format!("{:?}", reading.seen), format!("{expected:?}"));
}
