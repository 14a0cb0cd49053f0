//! `chela doctor`: finds, explains, mends with a way back.

use crate::home::TestHome;

#[test]
fn a_fresh_home_is_well() {
    let home = TestHome::ready();
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
    let home = TestHome::with_config(old);
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
    let home = TestHome::with_config("{ gateway: { auth: { token: 'abcdefgh' } } }");
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
    let home = TestHome::ready();
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
    let home = TestHome::ready();
    std::fs::remove_file(home.path(".chela/workspace/TOOLS.md")).unwrap();
    assert!(home.run(&["doctor"]).ok().contains("TOOLS.md is missing"));
    home.run(&["doctor", "--fix"]).ok();
    assert!(home.exists(".chela/workspace/TOOLS.md"));
}

#[test]
fn what_interrupted_writes_left_is_told_and_swept() {
    let home = TestHome::ready();
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
    let home = TestHome::ready();
    let record = home.run(&["doctor", "--only", "workspace"]).ok();
    assert!(record.contains("No problems found"), "{record}");
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
    assert!(told.contains("No problems found"), "{told}");
    // An owner who empties a file means it.
    home.write(".chela/workspace/TOOLS.md", "");
    home.run(&["init"]).ok();
    assert_eq!(home.read(".chela/workspace/TOOLS.md"), "");
}

#[test]
fn lint_mode_prints_findings_alone() {
    let home = TestHome::ready();
    let told = home.run(&["doctor", "--lint"]);
    assert!(told.out.starts_with("note    agents: "), "{told:?}");
    assert!(!told.out.contains("ok "), "{told:?}");
    let told = home.run(&["doctor", "--lint", "--skip", "agents"]).ok();
    assert_eq!(told, "");
}

/// A home with a folder that nobody can write to, as long as one command runs.
fn with_read_only(home: TestHome, folder: &str) -> Option<TestHome> {
    let mount = format!(
        "mount --bind \"$HOME/{folder}\" \"$HOME/{folder}\" && \
         mount -o remount,bind,ro \"$HOME/{folder}\" && exec \"$@\""
    );
    let can_mount = match home.command_of("unshare").args(["-rm", "true"]).status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("unshare: {other:?}")),
    };
    chela_testkit::find_part("namespaces", can_mount)?;
    Some(home.through(&["unshare", "-rm", "sh", "-c", &mount, "sh"]))
}

#[test]
fn what_cannot_be_mended_is_not_called_fixed() {
    let home = TestHome::ready();
    std::fs::remove_file(home.path(".chela/workspace/TOOLS.md")).unwrap();
    let Some(home) = with_read_only(home, ".chela") else {
        return;
    };
    let told = home.run(&["doctor", "--fix"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(!told.out.contains("fixed"), "{told:?}");
    let flat = told.flat();
    assert!(
        flat.contains("error home: ~/.chela is not writable"),
        "{flat}"
    );
    assert!(
        flat.contains("Could not fix anything: ~/.chela is not writable."),
        "{flat}"
    );
    assert_eq!(
        flat.matches("its disk is mounted read-only").count(),
        1,
        "{flat}"
    );
}

#[test]
fn a_folder_of_the_home_that_cannot_be_written_is_named() {
    let home = TestHome::ready();
    std::fs::create_dir_all(home.path(".chela/state")).unwrap();
    let Some(home) = with_read_only(home, ".chela/state") else {
        return;
    };
    let told = home.run(&["doctor", "--only", "home"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(
        told.flat()
            .contains("error home: ~/.chela/state is not writable"),
        "{told:?}"
    );
}

#[test]
fn a_home_that_cannot_be_made_is_an_error() {
    let home = TestHome::empty();
    std::fs::create_dir(home.path("barred")).unwrap();
    let Some(home) = with_read_only(home, "barred") else {
        return;
    };
    let home = home.env("CHELA_HOME", "barred/chela");
    let told = home.run(&["doctor", "--only", "home"]);
    assert_eq!(told.code, 1, "{told:?}");
    assert!(
        told.flat()
            .contains("cannot be created: ~/barred is not writable"),
        "{told:?}"
    );
    assert!(!told.out.contains("run `chela`"), "{told:?}");
}

#[test]
fn agents_that_are_stopped_are_told() {
    let home = TestHome::ready();
    home.run(&["stop", "--all", "--reason", "odd mails"]).ok();
    let status = home.run(&["status"]).ok();
    assert!(status.contains("agents  stopped since 20"), "{status}");
    assert!(
        status.contains(": odd mails (chela stop --lift)"),
        "{status}"
    );
    let doctor = home.run(&["doctor", "--only", "agents"]);
    assert!(
        doctor.flat().contains("every agent is stopped since 20"),
        "{doctor:?}"
    );
    home.run(&["stop", "--lift"]).ok();
    assert!(!home.run(&["status"]).ok().contains("stopped"));
}

#[test]
fn problems_of_the_config_are_counted_alike() {
    let home = TestHome::ready();
    home.write(
        ".chela/chela.json",
        "{ agents: { defaults: { modle: 'a/b' } } }",
    );
    let validated = home.run(&["config", "validate"]);
    assert!(
        validated.out.contains("1 problem in ~/.chela/chela.json"),
        "{validated:?}"
    );
    let status = home.run(&["status"]);
    assert!(
        status.out.contains("1 problem; the rest is used"),
        "{status:?}"
    );
    assert!(
        status
            .err
            .contains("has 1 problem; `chela config validate` lists it"),
        "{status:?}"
    );
    home.write(".chela/chela.json", "{ agents: {} }");
    home.run(&["agents", "list"]).ok();
    home.write(".chela/chela.json", "{ agents: ");
    let validated = home.run(&["config", "validate"]);
    assert!(validated.out.contains("1 problem in"), "{validated:?}");
    let status = home.run(&["status"]);
    assert!(
        status.out.contains("1 problem; the last good one is used"),
        "{status:?}"
    );
    assert!(
        status.err.contains("has 1 problem; the last good one"),
        "{status:?}"
    );
}

#[test]
fn a_model_that_cannot_be_asked_is_found() {
    for (model, told) in [
        ("ghost/model", "there is no provider `ghost`"),
        ("antropic/claude-x", "did you mean"),
        ("openai/gpt-5", "has no API key"),
    ] {
        let home = TestHome::with_config(&format!(
            "{{ agents: {{ defaults: {{ model: '{model}' }} }} }}"
        ));
        home.run(&["init"]).ok();
        let report = home.run(&["doctor"]).flat();
        assert!(report.contains(told), "{model}: {report}");
        assert!(report.contains("chela setup"), "{model}: {report}");
    }
    let home = TestHome::with_config(
        "{ agents: { defaults: { model: { primary: 'ollama/x', fallbacks: ['ghost/y'] } } } }",
    );
    home.run(&["init"]).ok();
    let report = home.run(&["doctor"]).flat();
    assert!(report.contains("a fallback of agent main"), "{report}");
}
