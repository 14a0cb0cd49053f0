use super::RankIndex;
use super::words::terms;
use crate::SkillUses;
use crate::fixture::SkillsHome;

#[test]
fn words_are_reduced_to_what_carries_them() {
    assert_eq!(terms("Merging the PDFs, please"), ["merg", "pdf"]);
    assert_eq!(terms("GitHub issues"), ["github", "git", "hub", "issu"]);
    assert_eq!(
        terms("天气预报 weather"),
        ["天气", "气预", "预报", "weather"]
    );
    assert!(terms("the and of a to").is_empty());
}

#[test]
fn use_decides_between_equals_and_no_more() {
    let mut home = SkillsHome::new();
    home.skill(".agents/skills/alpha", "Sends mail to people");
    home.skill(".agents/skills/beta", "Sends mail to people");
    home.skill(".agents/skills/gamma", "Prints documents on paper");
    let library = home.open_own();
    let skills: Vec<_> = library
        .catalog()
        .entries()
        .iter()
        .map(|entry| entry.skill.as_ref())
        .filter(|skill| skill.source == crate::SkillSource::Personal)
        .collect();
    let index = RankIndex::new(skills.iter().copied());
    let names = |message: &str, uses: &SkillUses| -> Vec<String> {
        index
            .rank(message, uses, 0)
            .iter()
            .map(|ranked| skills[ranked.at].name.clone())
            .collect()
    };
    let mut uses = SkillUses::default();
    assert_eq!(names("send a mail", &uses), ["alpha", "beta"]);
    for _ in 0..50 {
        uses.record("beta", 0);
    }
    assert_eq!(names("send a mail", &uses), ["beta", "alpha"]);
    assert_eq!(names("print this document", &uses), ["gamma"]);
}
