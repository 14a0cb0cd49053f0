use std::path::{Path, PathBuf};

use chela_core::Host;
use serde_json::json;

use super::{ConfigSource, DefaultsReason, load, load_text, remember, validate, validate_source};
use crate::diagnostic::{ConfigDiagnostic, Severity};
use crate::key_path::KeyPath;

/// A machine on which every variable of the sample configs is set.
fn host() -> Host {
    let mut host = Host::fixed("/home/me");
    for name in [
        "BRAVE_KEY",
        "TG",
        "GW",
        "MAPS",
        "FEISHU_SECRET",
        "GATEWAY_PASSWORD",
        "HOOKS",
    ] {
        host.env.insert(name.into(), format!("value-of-{name}"));
    }
    host.env.insert("PORT".into(), "19000".into());
    host
}

fn sample(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/configs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Line and column, severity, code, message; one per line.
fn told(diagnostics: &[ConfigDiagnostic]) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref().map_or_else(
            || "-".to_owned(),
            |place| format!("{}:{}", place.line, place.column),
        );
        let severity = format!("{:?}", diagnostic.severity).to_lowercase();
        let mut shown = diagnostic.clone();
        shown.place = None;
        text.push_str(&format!(
            "{place} {severity} [{}] {shown}\n",
            diagnostic.code
        ));
    }
    text
}

#[test]
fn a_bad_config_is_told_all_at_once() {
    insta::assert_snapshot!(told(&validate_source(&host(), &sample("bad.json5"))));
}

#[test]
fn a_start_goes_on_and_says_what_it_left_out() {
    let loaded = load_text(&host(), &sample("bad.json5"));
    // What was meant to protect and cannot be used is more than a warning.
    for diagnostic in &loaded.diagnostics {
        let worse = diagnostic.message.contains("may allow more");
        assert_eq!(
            diagnostic.severity == Severity::Error,
            worse,
            "{diagnostic}"
        );
    }
    insta::assert_snapshot!(told(&loaded.diagnostics));
    assert_eq!(loaded.config.gateway.port, 18_790);
    assert_eq!(loaded.config.agents.defaults.bootstrap_max_chars, 20_000);
    let names: Vec<String> = loaded.agents().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["main-desk", "a", "b"]);
    assert_eq!(loaded.default_agent().as_str(), "a");
}

#[test]
fn older_shapes_are_read_and_told() {
    let mut all = String::new();
    for name in samples() {
        if name != "bad.json5" {
            all.push_str(&format!(
                "== {name}\n{}",
                told(&validate_source(&host(), &sample(&name)))
            ));
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn only_the_invented_keys_are_errors() {
    for name in samples() {
        let errors = validate_source(&host(), &sample(&name))
            .into_iter()
            .filter(|diagnostic| diagnostic.severity == Severity::Error)
            .count();
        let wrong = matches!(name.as_str(), "bad.json5" | "invented.json5");
        assert_eq!(errors > 0, wrong, "{name}: {errors} errors");
    }
}

#[test]
fn a_key_nothing_uses_is_told_by_the_check_alone() {
    let text = "{ session: { threadBindings: { idleHours: 3 } }, ui: { seamColor: '#aabbcc' } }";
    let told = validate_source(&host(), text);
    let paths: Vec<String> = told.iter().map(|one| one.path.to_string()).collect();
    assert_eq!(
        paths,
        ["session.threadBindings", "ui.seamColor"],
        "{told:?}"
    );
    let is_a_note =
        |one: &ConfigDiagnostic| one.code == "not-in-use" && one.severity == Severity::Note;
    assert!(told.iter().all(is_a_note), "{told:?}");
    assert!(load_text(&host(), text).diagnostics.is_empty());
}

#[test]
fn a_migrated_config_needs_no_migration() {
    for name in samples() {
        let before = load_text(&host(), &sample(&name));
        let Some(rewritten) = crate::migrated_text(&sample(&name)).unwrap() else {
            assert!(before.moves.is_empty(), "{name}");
            continue;
        };
        let comment = sample(&name).lines().next().unwrap().to_owned();
        assert!(rewritten.starts_with(&comment), "{name}: comments stay");
        assert!(
            !rewritten.contains("value-of-"),
            "{name}: secrets stay in the environment"
        );
        let after = load_text(&host(), &rewritten);
        assert!(after.moves.is_empty(), "{name}: {:?}", after.moves);
        assert!(after.config == before.config, "{name}");
        assert_eq!(crate::migrated_text(&rewritten).unwrap(), None, "{name}");
    }
}

#[test]
fn numbers_and_switches_may_come_from_the_environment() {
    let loaded = load_text(&host(), &sample("server.json5"));
    assert_eq!(loaded.config.gateway.port, 19_000);
    let mut host = host();
    host.env.insert("PORT".into(), "eighty".into());
    let problems = validate_source(&host, &sample("server.json5"));
    let told = told(&problems);
    assert!(
        told.contains("gateway.port: is a string, expected a whole number"),
        "{told}"
    );
    assert!(!told.contains("eighty"), "{told}");
}

struct Home {
    _folder: tempfile::TempDir,
    host: Host,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::fixed(folder.path());
        std::fs::create_dir_all(host.state_dir()).unwrap();
        Self {
            _folder: folder,
            host,
        }
    }

    fn write(&self, text: &str) {
        std::fs::write(self.host.config_file(), text).unwrap();
    }
}

#[test]
fn no_file_is_a_good_config() {
    let home = Home::new();
    let loaded = load(&home.host);
    assert_eq!(
        loaded.source,
        ConfigSource::Defaults(DefaultsReason::Missing)
    );
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert!(validate(&home.host).is_empty());
    assert_eq!(remember(&loaded), None);
    assert_eq!(loaded.agents().len(), 1);
}

#[test]
fn a_broken_file_gives_way_to_the_last_good_one() {
    let home = Home::new();
    home.write("{ gateway: { port: 4000 } }");
    let loaded = load(&home.host);
    assert_eq!(loaded.source, ConfigSource::File);
    assert_eq!(remember(&loaded), None);

    home.write("{ gateway: { port: 5000 ");
    let loaded = load(&home.host);
    assert_eq!(
        loaded.source,
        ConfigSource::LastGood {
            saved_at: 1_700_000_000
        }
    );
    assert_eq!(loaded.config.gateway.port, 4_000);
    let severity = |d: &crate::ConfigDiagnostic| d.severity;
    let worst = loaded.diagnostics.iter().map(severity).max();
    assert_eq!(worst, Some(Severity::Error));
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&"last-good-used"), "{codes:?}");
    // What was loaded from the copy is not kept as good again.
    assert_eq!(remember(&loaded), None);
}

#[test]
fn a_broken_file_without_an_earlier_one_means_defaults() {
    let home = Home::new();
    home.write("{ gateway: [");
    let loaded = load(&home.host);
    assert_eq!(
        loaded.source,
        ConfigSource::Defaults(DefaultsReason::Unusable)
    );
    assert_eq!(loaded.config, crate::Config::default());
    assert!(
        loaded.diagnostics.iter().any(|d| d.place.is_some()),
        "{:?}",
        loaded.diagnostics
    );
    let told = told(&loaded.diagnostics);
    assert!(told.contains("defaults are in use"), "{told}");
}

#[test]
fn loading_writes_nothing() {
    let home = Home::new();
    home.write("{ gateway: { port: 4000 } }");
    load(&home.host);
    validate(&home.host);
    let left: Vec<PathBuf> = std::fs::read_dir(home.host.state_dir())
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(left, [home.host.config_file()]);
}

#[test]
fn places_point_at_the_key_as_it_was_written() {
    let text = "{\n  agents: {\n    entries: {\n      main: { modle: 'x' },\n    },\n  },\n}\n";
    let found = validate_source(&host(), text);
    let unknown = found.iter().find(|d| d.code == "unknown-key").unwrap();
    assert_eq!(
        unknown.path,
        KeyPath::parse("agents.entries.main.modle").unwrap()
    );
    let place = unknown.place.as_ref().unwrap();
    assert_eq!((place.line, place.column), (4, 15));
}

#[test]
fn null_leaves_a_key_unset() {
    let loaded = load_text(&host(), "{ gateway: { port: null }, agents: null }");
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert_eq!(loaded.config.gateway.port, 18_790);
    assert_eq!(
        loaded.tree.to_json(),
        json!({ "gateway": { "port": null }, "agents": null })
    );
}
