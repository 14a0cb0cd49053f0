use std::process::{Child, Command};

use chela_core::Host;

use super::{
    CommandRecord, ReadRecords, RecordedCommand, forget_old_commands, relative, relatives,
};

fn sleeper() -> Child {
    Command::new("sleep").arg("30").spawn().unwrap()
}

fn home() -> (tempfile::TempDir, Host) {
    let folder = tempfile::tempdir().unwrap();
    let host = Host::fixed(folder.path());
    (folder, host)
}

#[test]
fn a_command_is_on_record_until_it_ends() {
    let (_folder, host) = home();
    let mut child = sleeper();
    let mut record = CommandRecord::begin(&host, child.id(), "").unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let known = ReadRecords::of(&host).commands;
    assert!(
        known
            .iter()
            .any(|it| it.is_of(pid, relative(pid).unwrap().born))
    );
    // A record that was taken away comes back.
    std::fs::remove_file(&record.file).unwrap();
    record.renew();
    assert_eq!(ReadRecords::of(&host).commands.len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // Whatever else the machine started meanwhile and left to itself may keep the record.
    record.end();
    for it in ReadRecords::of(&host).commands {
        assert!(it.ended.is_some());
    }
}

#[test]
fn a_record_of_another_boot_means_nothing_and_goes() {
    let (_folder, host) = home();
    let mut child = sleeper();
    let mut record = CommandRecord::begin(&host, child.id(), "").unwrap();
    record.facts.boot = "another".to_owned();
    record.write();
    assert!(ReadRecords::of(&host).commands.is_empty());
    forget_old_commands(&host);
    assert!(!record.file.exists());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn births_count_while_the_command_ran_and_not_after() {
    let (_folder, host) = home();
    let mut child = sleeper();
    let record = CommandRecord::begin(&host, child.id(), "").unwrap();
    let all = relatives();
    let own = i32::try_from(std::process::id()).unwrap();
    let mut orphan = relative(own).unwrap();
    orphan.parent = 1;
    let born = record.facts.born;
    let may = |facts: &RecordedCommand, born| {
        let mut orphan = orphan;
        orphan.born = born;
        facts.may_have_left(own, &orphan, &all)
    };
    assert!(may(&record.facts, born + 5));
    assert!(!may(&record.facts, born - 1), "older than the command");
    let ended = RecordedCommand {
        ended: Some(born + 3),
        ..record.facts.clone()
    };
    assert!(may(&ended, born + 3) && !may(&ended, born + 4));
    let deserted = RecordedCommand {
        starter_born: 1,
        ..record.facts.clone()
    };
    assert!(!may(&deserted, born + 1_000_000), "its program is gone");
    let elsewhere = RecordedCommand {
        groups: "0::/another.scope".to_owned(),
        ..record.facts.clone()
    };
    assert!(!may(&elsewhere, born + 5));
    child.kill().unwrap();
    child.wait().unwrap();
}
