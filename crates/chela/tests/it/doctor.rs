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

#[test]
fn what_interrupted_writes_left_is_told_and_swept() {
    let home = Home::ready();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let drafts = [
        ".chela/.chela.json.0a1b2c3d4e5f-4711-0.tmp",
        ".chela/state/.trust.json.4711-0.tmp",
        ".chela/workspace/notes/.chela-00112233aabbccdd-3.tmp",
        ".chela/quarantine/.incoming-0a1b2c/SKILL.md",
    ];
    for draft in drafts {
        home.write(draft, "half of it");
    }
    let age = |path: &str| {
        let file = std::fs::File::open(home.path(path)).unwrap();
        file.set_modified(old).unwrap();
    };
    drafts.iter().for_each(|draft| age(draft));
    age(".chela/quarantine/.incoming-0a1b2c");
    // A process may be at work on this one.
    home.write(".chela/workspace/.chela-00112233aabbccdd-4.tmp", "young");
    let told = home.run(&["doctor", "--only", "home"]).ok();
    assert!(told.contains("and 3 more behind"), "{told}");
    let told = home.run(&["doctor", "--fix", "--only", "home"]).ok();
    assert!(told.contains("Removed 4 leftovers"), "{told}");
    for draft in drafts {
        assert!(!home.exists(draft), "{draft}");
    }
    assert!(home.exists(".chela/workspace/.chela-00112233aabbccdd-4.tmp"));
}

#[test]
fn a_set_up_that_was_killed_is_mended() {
    let home = Home::ready();
    let record = home.run(&["doctor", "--only", "workspace"]).ok();
    assert!(record.contains("All is well"), "{record}");
    // As a set-up of an older version left it: the file was made and never filled.
    let text = home.read(".chela/workspace/TOOLS.md");
    let records = std::fs::read_dir(home.path(".chela/state/workspaces")).unwrap();
    for record in records {
        let path = record.unwrap().path();
        let known = std::fs::read_to_string(&path).unwrap();
        let mut known: serde_json::Value = serde_json::from_str(&known).unwrap();
        known["seeded"].as_object_mut().unwrap().remove("TOOLS.md");
        std::fs::write(&path, known.to_string()).unwrap();
    }
    home.write(".chela/workspace/TOOLS.md", "");
    // And git was killed before it wrote its head.
    std::fs::remove_file(home.path(".chela/workspace/.git/HEAD")).unwrap();
    let told = home.run(&["doctor", "--only", "workspace,history"]).ok();
    assert!(told.contains("TOOLS.md (agent main) is empty"), "{told}");
    home.run(&["doctor", "--fix"]).ok();
    assert_eq!(home.read(".chela/workspace/TOOLS.md"), text);
    assert!(home.exists(".chela/workspace/.git/HEAD"));
    let told = home.run(&["doctor", "--only", "workspace,history"]).ok();
    assert!(told.contains("All is well"), "{told}");
    // An owner who empties a file means it.
    home.write(".chela/workspace/TOOLS.md", "");
    home.run(&["init"]).ok();
    assert_eq!(home.read(".chela/workspace/TOOLS.md"), "");
}
