use std::sync::Arc;

use chela_core::Host;
use chela_core::secret::{KnownSecret, Redactor};
use tracing::{debug, error_span, info, warn};

use super::{LogHandle, LogSettings};
use crate::filter::LogFilter;
use crate::line::LogLine;
use crate::redaction::LogRedaction;

const KEY: &str = "a-value-nobody-may-see-1";

fn secret(name: &str, value: &str) -> KnownSecret {
    KnownSecret {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

fn lines(host: &Host) -> Vec<LogLine> {
    let path = LogSettings::standard(host).file.path;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(LogLine::parse).collect()
}

#[test]
fn lines_wait_for_the_config_and_carry_the_spans_they_are_said_in() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    let standard = LogSettings::standard(&host);
    let log = LogHandle::new(
        &host,
        standard.clone(),
        LogRedaction::new(Redactor::default),
    );
    tracing::subscriber::with_default(log.subscriber(), || {
        let turn = error_span!("turn", turn = "ab12", session = "s1").entered();
        let _call = error_span!("call", call = "c1").entered();
        info!(steps = 2, ok = true, "early");
        debug!("not at this level");
        assert!(lines(&host).is_empty(), "written before anybody said where");
        let mut settings = standard;
        settings.file.filters = vec![LogFilter::parse("debug").unwrap()];
        log.configure(settings);
        debug!(why = ?Some("x"), "late");
        drop(_call);
        drop(turn);
        warn!("outside");
    });
    let lines = lines(&host);
    let said: Vec<&str> = lines.iter().map(|line| line.message.as_str()).collect();
    assert_eq!(said, ["early", "late", "outside"]);
    assert_eq!(lines[0].spans, ["turn", "call"]);
    assert_eq!(lines[0].ids["turn"], "ab12");
    assert_eq!(lines[0].ids["call"], "c1");
    assert_eq!(lines[0].fields["steps"], 2);
    assert_eq!(lines[0].time, "2023-11-14T22:13:20.000Z");
    assert_eq!(lines[0].target, "chela_log::handle::tests");
    assert!(lines[2].spans.is_empty() && lines[2].ids.is_empty());
}

#[test]
fn secrets_stay_out_wherever_they_stand_also_those_learned_later() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    let before = LogRedaction::new(|| Redactor::new(None, vec![secret("first", KEY)]));
    let log = LogHandle::new(&host, LogSettings::standard(&host), before);
    log.finish();
    tracing::subscriber::with_default(log.subscriber(), || {
        let _span = error_span!("turn", turn = KEY).entered();
        warn!(field = KEY, other = ?vec![KEY], password = "hunter2-hunter2-9", "said {KEY}");
        let shared = Arc::new(Redactor::default());
        log.hide_with(Arc::clone(&shared));
        shared.learn(secret("later", "learned-while-it-ran-2"));
        warn!(
            "said learned-while-it-ran-2, as \"JSON\": {}",
            r#""learned-while-it-ran-2""#
        );
    });
    let path = LogSettings::standard(&host).file.path;
    let text = std::fs::read_to_string(path).unwrap();
    for value in [KEY, "learned-while-it-ran-2", "hunter2-hunter2-9"] {
        assert!(!text.contains(value), "{text}");
    }
    assert!(
        text.contains("[secret:first]") && text.contains("[secret:later]"),
        "{text}"
    );
    assert_eq!(lines(&host).len(), 2, "it is JSON still: {text}");
}

#[test]
fn what_makes_the_redactor_may_speak_without_being_waited_for() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    let talking = LogRedaction::new(|| {
        warn!("said while a line is under way");
        // Once more: what was held back does not end the quiet.
        warn!("and again");
        Redactor::default()
    });
    let log = LogHandle::new(&host, LogSettings::standard(&host), talking);
    tracing::subscriber::with_default(log.subscriber(), || {
        // Also when it is made for lines that waited.
        warn!("a line");
        log.finish();
        warn!("another");
    });
    let said: Vec<String> = lines(&host).into_iter().map(|line| line.message).collect();
    assert_eq!(said, ["a line", "another"]);
}

#[test]
fn a_log_that_cannot_be_written_stops_nobody() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    let mut settings = LogSettings::standard(&host);
    // A file stands where the folder should be.
    std::fs::write(home.path().join("taken"), "").unwrap();
    settings.file.path = home.path().join("taken/chela.log");
    let log = LogHandle::new(&host, settings, LogRedaction::new(Redactor::default));
    log.finish();
    tracing::subscriber::with_default(log.subscriber(), || warn!("to nobody"));
}

#[test]
fn a_secret_is_taken_out_before_a_long_text_is_cut() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    let known = LogRedaction::new(|| Redactor::new(None, vec![secret("first", KEY)]));
    let log = LogHandle::new(&host, LogSettings::standard(&host), known);
    log.finish();
    tracing::subscriber::with_default(log.subscriber(), || {
        for length in 4_096 - KEY.len()..=4_096 {
            let long = format!("{}{KEY}{}", "a".repeat(length), "b".repeat(9_000));
            warn!(field = long, other = ?long, "{long}");
        }
    });
    let lines = lines(&host);
    assert_eq!(lines.len(), KEY.len() + 1);
    for line in lines {
        let json = line.to_json();
        assert!(!json.contains(&KEY[..6]), "{json}");
        assert!(json.len() < 3 * 4_096 + 1_000 && line.message.ends_with('…'));
    }
}
