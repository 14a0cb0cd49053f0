//! Every file that shapes the agent, changed by every writer: what is on record, what the next
//! prompt holds, what the owner is told.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

mod chain;
mod means;
mod policies;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_agent::conversation::Conversation;
use chela_core::{ContentHash, Trust};
use chela_skills::{TrustLock, TrustedBy};
use chela_testkit::ScriptStep;
use chela_tools::ApprovalScope;
use chela_workspace::CoreFile;
use chela_workspace::custody::{Custody, WatchedKind};
use chela_workspace::trust::{FileEntry, TrustStanding, VersionWriter};
use serde_json::json;

use super::guarding::{Home, Owner, inbox};
use super::trusting::{entry, prompt, set_up, workspace, write};

const SKILL: &str = "skills/greet/SKILL.md";
const SCRIPT: &str = "skills/greet/run.sh";
const HOOK: &str = "hooks/greet.sh";

const BEFORE: &str = "- The trusted words.\n";
/// One byte is different.
const AFTER: &str = "- The trusted words!\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Owner,
    AgentClean,
    /// With a file tool, while nobody is there to be asked.
    AgentTainted,
    /// With a command the owner allowed.
    CommandTainted,
    Someone,
}

impl By {
    const ALL: [Self; 5] = [
        Self::Owner,
        Self::AgentClean,
        Self::AgentTainted,
        Self::CommandTainted,
        Self::Someone,
    ];
}

fn text_of(file: &str, words: &str) -> String {
    match file {
        SKILL => format!(
            "---\nname: greet\ndescription: Greets. {}\n---\nSay hello.\n",
            words.trim()
        ),
        SCRIPT | HOOK => format!("#!/bin/sh\n# {words}"),
        _ => words.to_owned(),
    }
}

pub(super) fn custody(talk: &Conversation) -> Arc<Custody> {
    let agents = talk.agents();
    let view = agents.loaded().agent(talk.agent()).expect("an agent");
    Arc::new(chela_agent::trust::custody_of(
        agents.host(),
        agents.loaded(),
        &view,
    ))
}

/// The file with its trusted text, on record as the owner's.
fn with_file(home: &Home, file: &str) -> PathBuf {
    let path = workspace(home).join(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    if file == SCRIPT {
        let skill = workspace(home).join(SKILL);
        std::fs::write(skill, text_of(SKILL, BEFORE)).expect("a skill");
    }
    std::fs::write(&path, text_of(file, BEFORE)).expect("a file");
    let talk = home.open();
    match file {
        SKILL | SCRIPT => trust_skill(home, &talk),
        _ => custody(&talk)
            .record_files([file], &VersionWriter::Owner, "set up")
            .expect("a record"),
    }
    // Whatever is told at the start is told.
    home.say(&talk, "Hello.", &Owner::says(None))
        .expect("a turn");
    path
}

/// The owner's `chela skills trust`.
fn trust_skill(home: &Home, talk: &Conversation) {
    let agents = talk.agents();
    let view = agents.loaded().agent(talk.agent()).expect("an agent");
    let skills = chela_agent::skills::skills_of(agents.host(), agents.loaded(), &view);
    let skill = skills.get("greet").expect("a skill").skill().clone();
    let mut lock = TrustLock::open(&home.host.state_dir());
    lock.trust(&skill, &[], &home.host);
    lock.save().expect("a lock");
}

/// Somebody else's version, as an archive or a pull leaves it: older than the moment it came.
fn bring(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a change");
    let file = std::fs::File::options().write(true).open(path);
    let yesterday = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
    file.and_then(|file| file.set_modified(yesterday))
        .expect("a time");
}

fn change(home: &Home, file: &str, by: By) -> Owner {
    let path = workspace(home).join(file);
    let text = text_of(file, AFTER);
    let talk = home.open_in(Some("agent:main:writing"));
    let quoted = text.replace('\n', "\\n");
    let command = format!("printf '%b' '{quoted}' > {file}");
    let (steps, owner) = match by {
        By::Someone => {
            bring(&path, &text);
            return Owner::says(None);
        }
        By::Owner => {
            std::fs::write(path, text).expect("a change");
            match file {
                SKILL | SCRIPT => trust_skill(home, &talk),
                _ => custody(&talk)
                    .record_files([file], &VersionWriter::Owner, "chela workspace edit")
                    .expect("a record"),
            }
            return Owner::says(None);
        }
        By::AgentClean => (
            vec![write(file, &text), ScriptStep::reply("ok")],
            // Hooks are asked about even so.
            Owner::says(Some(ApprovalScope::Once)),
        ),
        By::AgentTainted => (
            vec![inbox(), write(file, &text), ScriptStep::reply("ok")],
            Owner::says(None),
        ),
        By::CommandTainted => (
            vec![
                inbox(),
                ScriptStep::tool("exec", json!({ "command": command })),
                ScriptStep::reply("ok"),
            ],
            Owner::says_once(ApprovalScope::Once),
        ),
    };
    home.endpoint.play(chela_testkit::EndpointScript {
        otherwise: Some(ScriptStep::reply("Done.")),
        ..chela_testkit::EndpointScript::steps(steps)
    });
    home.say(&talk, "Go on.", &owner).expect("a turn");
    owner
}

#[test]
fn w02_every_file_by_every_writer_ends_in_its_row() {
    for file in CoreFile::names().chain([HOOK]) {
        for by in By::ALL {
            row_of_a_file(file, by);
        }
    }
}

fn row_of_a_file(file: &str, by: By) {
    let row = format!("{file} by {by:?}");
    let home = set_up([]);
    let path = with_file(&home, file);
    let shows = prompt(&home.open()).contains("The trusted words.");
    assert_eq!(shows, file != HOOK, "{row}: the prompt before");
    let owner = change(&home, file, by);

    let entry = entry(&home, file).expect(&row);
    let record = |entry: &FileEntry| entry.trusted.clone().expect("a version");
    let new = ContentHash::of(text_of(file, AFTER));
    let old = ContentHash::of(text_of(file, BEFORE));
    let on_disk = std::fs::read_to_string(&path).expect("a file");
    let talk = home.open_in(Some("agent:main:tomorrow"));
    let judged = custody(&talk).look(&path).expect("a file").0;
    let listener = Owner::says(None);
    home.say(&talk, "Hello again.", &listener).expect("a turn");
    let told = listener.told();
    let prompt = prompt(&talk);
    let says = |words: &str| prompt.contains(words);
    match by {
        By::Owner => {
            let version = record(&entry);
            assert_eq!(
                (version.hash, version.writer),
                (new, VersionWriter::Owner),
                "{row}"
            );
            assert_eq!(version.how, "chela workspace edit", "{row}");
            assert_eq!(judged.judgement.state, TrustStanding::Trusted, "{row}");
            assert_eq!(says("The trusted words!"), file != HOOK, "{row}");
            assert_eq!(told, "", "{row}");
        }
        By::AgentClean => {
            let version = record(&entry);
            assert_eq!((version.hash, version.trust), (new, Trust::Agent), "{row}");
            assert!(version.at > 0 && version.how == "write", "{row}");
            let VersionWriter::Agent { turn, question } = &version.writer else {
                unreachable!("{row}: {version:?}");
            };
            assert!(!turn.is_empty(), "{row}");
            let asked = owner
                .questions()
                .first()
                .map(|question| question.id.clone());
            assert_eq!(*question, asked, "{row}: the question that was answered");
            assert_eq!(says("The trusted words!"), file != HOOK, "{row}");
            assert_eq!(told, "", "{row}");
        }
        By::AgentTainted => {
            assert_eq!(on_disk, text_of(file, BEFORE), "{row}: nothing is written");
            assert_eq!(record(&entry).hash, old, "{row}");
            let proposed = entry.proposed.expect(&row);
            assert_eq!(proposed.hash, Some(new), "{row}");
            let asked = owner
                .questions()
                .first()
                .map(|question| question.id.clone());
            assert!(asked.is_some() && proposed.question == asked, "{row}");
            assert!(says("The trusted words.") == (file != HOOK), "{row}");
            assert!(!says("The trusted words!"), "{row}");
            let way = format!("chela trust refuse {file}");
            assert!(owner.told().contains(&way), "{row}: {}", owner.told());
            // Told again where the file is read.
            assert_eq!(told.contains(&way), file != HOOK, "{row}: {told}");
        }
        By::CommandTainted => {
            assert_eq!(on_disk, text_of(file, AFTER), "{row}");
            let held = entry.held.clone().expect(&row);
            assert_eq!((held.hash, held.how.as_str()), (Some(new), "exec"), "{row}");
            assert_eq!(record(&entry).hash, old, "{row}");
            assert_eq!(judged.judgement.state, TrustStanding::Held, "{row}");
            assert_eq!(says("The trusted words."), file != HOOK, "{row}: stands in");
            assert!(!says("The trusted words!"), "{row}");
            // Asked in the conversation, with the lines that changed.
            let questions = owner.questions();
            assert_eq!(questions.len(), 2, "{row}: the command, then the file");
            let text = questions[1].text();
            assert!(text.contains("The trusted words!"), "{row}: {text}");
            assert_eq!(
                told.contains("untrusted content"),
                file != HOOK,
                "{row}: {told}"
            );
        }
        By::Someone => {
            assert_eq!(record(&entry).hash, old, "{row}");
            assert_eq!(judged.judgement.state, TrustStanding::Changed, "{row}");
            assert_eq!(
                judged.judgement.trust,
                Trust::External,
                "{row}: somebody's until the owner answers for it"
            );
            assert_eq!(
                says("The trusted words!"),
                file != HOOK,
                "{row}: own folder warns"
            );
            let way = format!("chela trust diff {file}");
            assert_eq!(told.contains(&way), file != HOOK, "{row}: {told}");
        }
    }
    let kind = custody(&talk).kind(&path);
    let hook = matches!(kind, Some(WatchedKind::Hook));
    assert_eq!(hook, file == HOOK, "{row}");
}

#[test]
fn w05_w08_a_skill_and_its_script_by_every_writer_end_in_their_row() {
    for file in [SKILL, SCRIPT] {
        for by in By::ALL {
            row_of_a_skill(file, by);
        }
    }
}

fn row_of_a_skill(file: &str, by: By) {
    let row = format!("{file} by {by:?}");
    let home = set_up([]);
    let path = with_file(&home, file);
    assert!(prompt(&home.open()).contains("Greets."), "{row}: listed");
    let owner = change(&home, file, by);
    let talk = home.open_in(Some("agent:main:tomorrow"));
    let listener = Owner::says(None);
    home.say(&talk, "Hello again.", &listener).expect("a turn");
    let told = listener.told();
    let prompt = prompt(&talk);
    let agents = talk.agents();
    let view = agents.loaded().agent(talk.agent()).expect("an agent");
    let skills = chela_agent::skills::skills_of(agents.host(), agents.loaded(), &view);
    let skill = skills.get("greet").expect("a skill");
    let lock = TrustLock::open(&home.host.state_dir());
    let entry = lock.entry(skill.skill()).expect("an entry");
    let is_new = entry.tree == skill.skill().tree;
    let on_disk = std::fs::read_to_string(&path).expect("a file");
    let words = skill.trust_of_words();
    match by {
        By::Owner => {
            assert!(
                is_new && entry.by == TrustedBy::Owner && entry.since > 0,
                "{row}"
            );
            assert!(prompt.contains("Greets."), "{row}");
            assert_eq!((words, told.as_str()), (Trust::Owner, ""), "{row}");
        }
        By::AgentClean => {
            assert!(is_new && entry.by == TrustedBy::Agent, "{row}: {entry:?}");
            assert!(
                entry.turn.as_ref().is_some_and(|turn| !turn.is_empty()),
                "{row}"
            );
            assert!(prompt.contains("Greets."), "{row}");
            assert_eq!((words, told.as_str()), (Trust::Agent, ""), "{row}");
        }
        By::AgentTainted => {
            assert_eq!(on_disk, text_of(file, BEFORE), "{row}: nothing is written");
            assert_eq!(owner.asked(), 1, "{row}");
            assert!(is_new && entry.by == TrustedBy::Owner, "{row}");
            assert!(prompt.contains("Greets."), "{row}");
        }
        By::CommandTainted => {
            assert_eq!(on_disk, text_of(file, AFTER), "{row}");
            assert!(!is_new && entry.quarantined.is_some(), "{row}: {entry:?}");
            assert!(entry.turn.is_some(), "{row}");
            assert!(!prompt.contains("Greets."), "{row}: not listed");
            assert!(told.contains("chela skills trust greet"), "{row}: {told}");
        }
        By::Someone => {
            assert!(!is_new && entry.by == TrustedBy::Owner, "{row}");
            assert!(
                !prompt.contains("Greets."),
                "{row}: trusted was another version"
            );
            assert!(words < Trust::Agent, "{row}: nobody answers for it");
            assert!(told.contains("chela skills diff greet"), "{row}: {told}");
        }
    }
}
