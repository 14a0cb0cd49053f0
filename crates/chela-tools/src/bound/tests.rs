use chela_core::{Trust, tokens};
use proptest::prelude::*;

use super::{OutputBound, spool_name, spool_trust};

#[test]
fn the_limit_follows_the_window() {
    let chars = |window| OutputBound::new(window, None).chars();
    assert_eq!(chars(None), 16_000);
    assert_eq!(chars(Some(8_192)), 9_828);
    assert_eq!(chars(Some(32_768)), 16_000);
    assert_eq!(chars(Some(100_000)), 32_000);
    assert_eq!(chars(Some(199_999)), 32_000);
    assert_eq!(chars(Some(200_000)), 64_000);
    assert_eq!(chars(Some(1_000_000)), 64_000);
}

#[test]
fn the_operator_may_want_more_or_less_but_not_most_of_the_window() {
    let chars = |window, wanted| OutputBound::new(window, None).as_wanted(wanted).chars();
    assert_eq!(chars(Some(200_000), None), 64_000);
    assert_eq!(chars(Some(200_000), Some(500)), 500);
    assert_eq!(chars(Some(200_000), Some(100_000)), 100_000);
    assert_eq!(chars(Some(8_192), Some(100_000)), 9_828);
}

#[test]
fn what_is_cut_can_be_read_again() {
    let spool = tempfile::tempdir().unwrap();
    let bound = OutputBound::new(None, Some(spool.path().join("deep/down")));
    let text: String = (0..5_000).map(|n| format!("line {n}\n")).collect();
    let fitted = bound.fit("grep-call/1", text.clone(), Trust::External);
    assert!(fitted.text.chars().count() <= 16_000);
    assert!(fitted.text.contains("line 0\n") && fitted.text.contains("line 4999"));
    let path = fitted.spooled.unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(path.file_name().unwrap(), "grep-call_1.external.txt");
    assert!(fitted.note.unwrap().contains(path.to_str().unwrap()));
    // The same call again does not overwrite what was kept.
    let again = bound.fit("grep-call/1", text, Trust::External);
    assert_ne!(again.spooled.unwrap(), path);
}

#[test]
fn names_carry_the_trust() {
    for trust in [
        Trust::External,
        Trust::Plugin,
        Trust::Agent,
        Trust::Owner,
        Trust::Operator,
    ] {
        let name = spool_name("../a.agent/b", 3, trust);
        assert!(!name.contains('/') && !name.starts_with('.'));
        assert_eq!(spool_trust(std::path::Path::new(&name)), trust);
    }
    assert_eq!(spool_trust(std::path::Path::new("x.txt")), Trust::External);
    assert_eq!(
        spool_trust(std::path::Path::new("agent.txt")),
        Trust::External
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn never_above_the_limits(text in "(?s).{0,300}", times in 1usize..200, window in 500u64..20_000) {
        let bound = OutputBound::new(Some(window), None);
        let fitted = bound.fit("x", text.repeat(times), Trust::Agent);
        prop_assert!(fitted.text.chars().count() <= bound.chars());
        prop_assert!(tokens::count(&fitted.text) as u64 <= window * 3 / 10);
    }
}
