use super::{daily_notes, split_mark, triggered};
use crate::day::CalendarDay;
use crate::settings::PreludeSettings;
use std::fs;

#[test]
fn recent_notes_are_taken_within_their_limits() {
    let home = tempfile::tempdir().unwrap();
    let notes = home.path().join("memory");
    fs::create_dir(&notes).unwrap();
    for name in [
        "2026-03-05.md",
        "2026-03-04.md",
        "2026-03-04-1530.md",
        "2026-03-03.md",
        "2026-03-06.md",
        "x.md",
    ] {
        fs::write(
            notes.join(name),
            format!("# {name}\n{}", "word ".repeat(600)),
        )
        .unwrap();
    }
    let today = CalendarDay::find("2026-03-05").unwrap();
    let found = daily_notes(home.path(), today, &PreludeSettings::default());
    let names: Vec<&str> = found.iter().map(|note| note.label.as_str()).collect();
    assert_eq!(
        names,
        [
            "memory/2026-03-05.md",
            "memory/2026-03-04-1530.md",
            "memory/2026-03-04.md"
        ]
    );
    let total: usize = found.iter().map(|note| note.text.chars().count()).sum();
    assert!(
        total <= 2_800 && found.iter().all(|n| n.text.chars().count() <= 1_200),
        "{total}"
    );
    let off = PreludeSettings {
        enabled: false,
        ..PreludeSettings::default()
    };
    assert!(daily_notes(home.path(), today, &off).is_empty());
}

#[test]
fn messages_call_up_marked_entries() {
    let home = tempfile::tempdir().unwrap();
    fs::write(
        home.path().join("MEMORY.md"),
        "- Ann is allergic to nuts <!-- trigger: Ann, dinner party -->\n\
         <!-- trigger: deploy -->\n- Never deploy on Fridays\n\
         - No mark here\n\
         - Too short <!-- trigger: a -->\n",
    )
    .unwrap();
    fs::create_dir(home.path().join("memory")).unwrap();
    fs::write(
        home.path().join("memory/x.md"),
        "- Evil <!-- trigger: deploy -->",
    )
    .unwrap();
    let texts = |message: &str| {
        triggered(home.path(), message)
            .into_iter()
            .map(|t| (t.line, t.text))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        texts("Shall we plan the dinner-party?"),
        [(1, "Ann is allergic to nuts".into())]
    );
    assert_eq!(
        texts("please DEPLOY now"),
        [(3, "Never deploy on Fridays".into())]
    );
    assert!(texts("redeployment of Annabel").is_empty());
}

#[test]
fn a_remark_that_ends_where_it_begins_is_no_mark() {
    assert_eq!(split_mark("a <!--> b"), ("a  b".to_owned(), None));
}
