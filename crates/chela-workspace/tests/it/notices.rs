use std::collections::BTreeSet;

use chela_core::cut::CutLimit;
use chela_workspace::{NoticeStore, TruncationWarning, owner_notices};

use crate::home::{COMPLETE, Home};

fn too_long() -> Home {
    let home = Home::with(&COMPLETE);
    let section = |n: usize| format!("## Part {n}\n\n{}\n", "Words and more words.\n".repeat(40));
    home.write("SOUL.md", (1..=30).map(section).collect::<String>());
    home
}

#[test]
fn the_model_is_told_off_once_or_always() {
    let home = too_long();
    let notice_of = |warning, seen: &BTreeSet<_>| {
        let loaded = home.load(|plain| {
            plain.settings.warning = warning;
            plain.seen = seen.clone();
        });
        loaded.notice
    };
    let none = BTreeSet::new();
    assert_eq!(notice_of(TruncationWarning::Off, &none), None);
    let notice = notice_of(TruncationWarning::Always, &none).unwrap();
    assert!(notice.text.contains("SOUL.md ("), "{}", notice.text);
    assert!(!notice.text.contains('\n') && !notice.text.contains('{'));
    let seen = BTreeSet::from([notice.key]);
    assert_eq!(
        notice_of(TruncationWarning::Always, &seen),
        Some(notice.clone())
    );
    assert_eq!(notice_of(TruncationWarning::Once, &none), Some(notice));
    assert_eq!(notice_of(TruncationWarning::Once, &seen), None);
}

#[test]
fn the_owner_is_told_once_per_change() {
    let home = too_long();
    let store = NoticeStore::of(&home.host);
    let tell = |limit: usize| {
        let loaded = home.load(|plain| plain.settings.per_file = CutLimit::Chars(limit));
        let notices = owner_notices(&store.seen(), &loaded.report);
        store
            .remember(&home.host, notices.iter().map(|notice| notice.key))
            .unwrap();
        notices
    };
    let first = tell(20_000);
    assert_eq!(first.len(), 1);
    let text = &first[0].text;
    assert!(
        text.starts_with("SOUL.md was cut to fit 20,000 characters (bootstrapMaxChars)"),
        "{text}"
    );
    assert!(
        text.contains("Part ") && text.contains("<!-- keep -->"),
        "{text}"
    );
    assert!(tell(20_000).is_empty());
    assert_eq!(tell(19_000).len(), 1, "another limit is news");
    home.write("SOUL.md", format!("{}more\n", home.read("SOUL.md")));
    assert_eq!(tell(20_000).len(), 1, "another text is news");
    assert!(tell(20_000).is_empty());
}

#[test]
fn a_broken_notice_file_tells_again_and_heals() {
    let home = too_long();
    let store = NoticeStore::of(&home.host);
    let path = home.host.state_dir().join("state/notices.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "not json").unwrap();
    assert!(store.seen().is_empty());
    let loaded = home.load(|_| {});
    let notices = owner_notices(&store.seen(), &loaded.report);
    store
        .remember(&home.host, notices.iter().map(|notice| notice.key))
        .unwrap();
    assert_eq!(store.seen().len(), 1);
}
