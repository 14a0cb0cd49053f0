use chela_core::{OwnerProof, Trust};
use chela_session::{Meta, Sender, Source, SpeakerMark};
use serde_json::json;

use super::{speaker_of, told_by, trust_of_blocks};

const OWNERS: [&str; 2] = ["telegram:7", "ann@example.org"];

fn trust(meta: &Meta, names_speakers: bool) -> Trust {
    let owners = OWNERS.map(str::to_owned);
    told_by(meta, speaker_of(meta, names_speakers), &owners).0
}

fn sender(id: &str, channel: Option<&str>) -> Option<Sender> {
    Some(Sender {
        id: id.to_owned(),
        channel: channel.map(str::to_owned),
        ..Sender::default()
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
        Source::Person,
        Source::Heartbeat,
        Source::Cron,
        Source::Event,
        Source::Session,
    ];
    for speaker in marks {
        for sender in &senders {
            for source in sources {
                let meta = Meta {
                    sender: sender.clone(),
                    source,
                    speaker,
                    ..Meta::default()
                };
                let trust = trust(&meta, true);
                let of_runtime = speaker == Some(SpeakerMark::Runtime)
                    && !matches!(source, Source::Person | Source::Session);
                let expected = match of_runtime {
                    true => Trust::Operator,
                    false => Trust::External,
                };
                assert_eq!(trust, expected, "{meta:?}");
            }
        }
    }
    let listed = Meta {
        sender: sender("7", Some("telegram")),
        speaker: Some(SpeakerMark::Sender),
        ..Meta::default()
    };
    assert_eq!(trust(&listed, true), Trust::Owner);
    let terminal = chela_core::Speaker::Owner(OwnerProof::terminal());
    let proven = Meta {
        speaker: Some(SpeakerMark::from(&terminal)),
        ..Meta::default()
    };
    assert_eq!(trust(&proven, true), Trust::Owner);
}

#[test]
fn what_was_written_before_speakers_were_keeps_its_meaning() {
    assert_eq!(trust(&Meta::default(), false), Trust::Owner);
    let stranger = Meta {
        sender: sender("8", Some("telegram")),
        ..Meta::default()
    };
    assert_eq!(trust(&stranger, false), Trust::External);
    let beat = Meta {
        source: Source::Heartbeat,
        ..Meta::default()
    };
    assert_eq!(trust(&beat, false), Trust::Operator);
}

#[test]
fn a_speaker_that_cannot_be_read_is_nobody_and_loses_no_message() {
    for text in [r#""boss""#, "7", r#"{"owner":true}"#, "[]"] {
        let meta: Meta = serde_json::from_str(&format!(r#"{{"speaker":{text}}}"#)).unwrap();
        assert_eq!(meta.speaker, Some(SpeakerMark::Unreadable), "{text}");
        assert_eq!(trust(&meta, false), Trust::External, "{text}");
    }
    for mark in [
        SpeakerMark::Owner,
        SpeakerMark::Sender,
        SpeakerMark::Runtime,
    ] {
        let meta = Meta {
            speaker: Some(mark),
            ..Meta::default()
        };
        let text = serde_json::to_string(&meta).unwrap();
        assert_eq!(serde_json::from_str::<Meta>(&text).unwrap(), meta, "{text}");
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
