//! `allow`, `warn` and `quarantine`, for every kind of file, in own and in foreign folders.

use chela_core::Trust;
use chela_skills::TrustState;
use chela_workspace::trust::{TrustAct, TrustStanding, VersionWriter};
use serde_json::json;

use super::{AFTER, BEFORE, HOOK, SKILL, bring, custody, text_of, trust_skill};
use crate::guarding::{Home, Owner};
use crate::trusting::{entry, set_up_with, workspace};

const POLICIES: [&str; 3] = ["allow", "warn", "quarantine"];

/// A workspace whose file somebody else changed, with the policy for its kind of folder.
fn changed(file: &str, policy: &str, foreign: bool) -> Home {
    let root = match foreign {
        true => "foreign",
        false => "workspace",
    };
    let home = set_up_with(
        [],
        json!({
            "guard": { "trust": { root: policy } },
            "skills": { "trust": { "onChange": policy } },
        }),
    );
    if foreign {
        // A repository inside of the workspace is somebody else's.
        let folder = workspace(&home).join(file);
        let folder = folder.parent().expect("a folder");
        std::fs::create_dir_all(folder.join(".git")).expect("a folder");
    }
    let path = workspace(&home).join(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text_of(file, BEFORE)).expect("a file");
    let talk = home.open();
    match file {
        SKILL => trust_skill(&home, &talk),
        _ => custody(&talk)
            .record_files([file], &VersionWriter::Owner, "set up")
            .expect("a record"),
    }
    bring(&path, &text_of(file, AFTER));
    home
}

#[test]
fn w02_w03_each_policy_holds_for_persona_files_in_each_kind_of_folder() {
    for foreign in [false, true] {
        let file = match foreign {
            true => "team/AGENTS.md",
            false => "AGENTS.md",
        };
        for policy in POLICIES {
            let row = format!("{file} under {policy}");
            let home = changed(file, policy, foreign);
            let talk = home.open();
            let path = workspace(&home).join(file);
            let custody = custody(&talk);
            let judged = custody.look(&path).expect("a file").0;
            match policy {
                "quarantine" => {
                    assert!(
                        matches!(judged.judgement.act, TrustAct::UseTrusted(_)),
                        "{row}"
                    )
                }
                _ => assert_eq!(judged.judgement.act, TrustAct::Use, "{row}"),
            }
            if foreign {
                continue;
            }
            let listener = Owner::says(None);
            home.say(&talk, "Hello.", &listener).expect("a turn");
            let sent = home.endpoint.calls()[0].json().to_string();
            let new = sent.contains("The trusted words!");
            assert_eq!(new, policy != "quarantine", "{row}");
            assert_eq!(
                sent.contains("The trusted words."),
                policy == "quarantine",
                "{row}"
            );
            let told = listener
                .told()
                .contains("AGENTS.md was changed by someone else");
            assert_eq!(told, policy != "allow", "{row}: {}", listener.told());
            let version = entry(&home, file).and_then(|entry| entry.trusted);
            let by = version.expect("a version").writer;
            let expected = match policy {
                "allow" => VersionWriter::Someone,
                _ => VersionWriter::Owner,
            };
            assert_eq!(by, expected, "{row}");
        }
    }
}

#[test]
fn each_policy_holds_for_hooks() {
    for foreign in [false, true] {
        for policy in POLICIES {
            let row = format!("{HOOK} under {policy}, foreign: {foreign}");
            let home = changed(HOOK, policy, foreign);
            let talk = home.open();
            let custody = custody(&talk);
            let path = workspace(&home).join(HOOK);
            let judged = custody.look(&path).expect("a file").0;
            assert_eq!(judged.judgement.state, TrustStanding::Changed, "{row}");
            match policy {
                "quarantine" => {
                    assert!(
                        matches!(judged.judgement.act, TrustAct::UseTrusted(_)),
                        "{row}"
                    )
                }
                _ => assert_eq!(judged.judgement.act, TrustAct::Use, "{row}"),
            }
            let agents = talk.agents();
            let findings = chela_inspect::security::audit(&chela_agent::audit_ground(
                agents.host(),
                agents.loaded(),
            ));
            let found = findings
                .iter()
                .any(|finding| finding.id == "files.hook-unconfirmed");
            assert_eq!(found, policy != "allow", "{row}");
            custody.let_pass_what_may(&custody.survey(&[]));
            let waits = custody.look(&path).expect("a file").0.judgement.waits();
            assert_eq!(waits, policy != "allow", "{row}");
        }
    }
}

#[test]
fn w05_w08_each_policy_holds_for_skills() {
    for policy in POLICIES {
        let home = changed(SKILL, policy, false);
        let talk = home.open();
        let listener = Owner::says(None);
        home.say(&talk, "Hello.", &listener).expect("a turn");
        let sent = home.endpoint.calls()[0].json().to_string();
        assert_eq!(sent.contains("Greets."), policy != "quarantine", "{policy}");
        let told = listener.told().contains("chela skills trust greet");
        assert_eq!(told, policy != "allow", "{policy}: {}", listener.told());
        let agents = talk.agents();
        let view = agents.loaded().agent(talk.agent()).expect("an agent");
        let skills = chela_agent::skills::skills_of(agents.host(), agents.loaded(), &view);
        let skill = skills.get("greet").expect("a skill");
        assert!(skill.trust_of_words() < Trust::Agent, "{policy}");
        let expected = match policy {
            "quarantine" => TrustState::Quarantined,
            _ => TrustState::Changed,
        };
        assert_eq!(skill.entry.trust.state, expected, "{policy}");
    }
}
