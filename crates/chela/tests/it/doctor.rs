//! `chela doctor`: finds, explains, mends with a way back.

use crate::home::Home;

#[test]
fn a_fresh_home_is_well() {
    let home = Home::ready();
    let told = home.run(&["doctor"]).ok();
    assert!(
        told.contains("ok      config") && told.contains("ok      files"),
        "{told}"
    );
    let report = home.run(&["doctor", "--json"]).json();
    assert!(
        report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .all(|finding| finding["severity"] == "note")
    );
}

#[test]
fn older_shapes_are_told_and_rewritten_with_a_backup() {
    let old = "{\n  // my agents\n  agents: { entries: { main: {} } },\n  tools: { bash: { timeoutSec: 60 } },\n}\n";
    let home = Home::with_config(old);
    home.run(&["init"]).ok();
    let report = home.run(&["doctor", "--json"]).json();
    let fixable = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["fixable"] == true)
        .count();
    assert!(fixable > 0, "{report}");
    let told = home.run(&["doctor", "--fix"]).ok();
    assert!(told.contains("fixed"), "{told}");
    let new = home.read(".chela/chela.json");
    assert!(
        new.contains("// my agents") && !new.contains("bash"),
        "{new}"
    );
    assert_eq!(home.read(".chela/chela.json.bak"), old);
    home.run(&["config", "validate"]).ok();
}

#[test]
fn permissions_are_mended() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::with_config("{ gateway: { auth: { token: 'abcdefgh' } } }");
    home.run(&["init"]).ok();
    let file = home.path(".chela/chela.json");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(
        home.run(&["doctor"])
            .flat()
            .contains("others on this machine can read it")
    );
    home.run(&["doctor", "--fix"]).ok();
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn lint_mode_has_thresholds_and_names_its_checks() {
    let home = Home::ready();
    home.run(&["doctor", "--lint", "--severity-min", "warning"])
        .ok();
    assert_eq!(
        home.run(&["doctor", "--lint"]).code,
        1,
        "there is a note about the model"
    );
    home.run(&["doctor", "--lint", "--skip", "agents"]).ok();
    assert!(
        home.run(&["doctor", "--only", "cofnig"])
            .fails(2)
            .contains("config")
    );
}

#[test]
fn missing_files_are_made_again() {
    let home = Home::ready();
    std::fs::remove_file(home.path(".chela/workspace/TOOLS.md")).unwrap();
    assert!(home.run(&["doctor"]).ok().contains("TOOLS.md is missing"));
    home.run(&["doctor", "--fix"]).ok();
    assert!(home.exists(".chela/workspace/TOOLS.md"));
}
