use super::RankIndex;
use super::words::terms;
use crate::fixture::Home;
use crate::{QuerySet, RankingBench, Uses};

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
    let mut home = Home::new();
    home.skill(".agents/skills/alpha", "Sends mail to people");
    home.skill(".agents/skills/beta", "Sends mail to people");
    home.skill(".agents/skills/gamma", "Prints documents on paper");
    let library = home.open_own();
    let skills: Vec<_> = library
        .catalog()
        .entries()
        .iter()
        .map(|entry| entry.skill.as_ref())
        .filter(|skill| skill.source == crate::Source::Personal)
        .collect();
    let index = RankIndex::new(skills.iter().copied());
    let names = |message: &str, uses: &Uses| -> Vec<String> {
        index
            .rank(message, uses, 0)
            .iter()
            .map(|ranked| skills[ranked.at].name.clone())
            .collect()
    };
    let mut uses = Uses::default();
    assert_eq!(names("send a mail", &uses), ["alpha", "beta"]);
    for _ in 0..50 {
        uses.record("beta", 0);
    }
    assert_eq!(names("send a mail", &uses), ["beta", "alpha"]);
    assert_eq!(names("print this document", &uses), ["gamma"]);
}

#[test]
fn five_hundred_skills_cost_little_and_the_right_one_is_described() {
    let host = chela_core::Host::fixed("/home/me");
    for set in [QuerySet::Dev, QuerySet::HeldOut] {
        let figures = RankingBench::built_in(set).run(&host);
        println!(
            "{set:?}: {} queries, described {:.1} %, first {}, names {} tokens, described at most {}",
            figures.queries,
            figures.recall(),
            figures.first,
            figures.names_tokens,
            figures.described_tokens
        );
        if set == QuerySet::Dev {
            for miss in &figures.misses {
                println!("  {miss:?}");
            }
        }
        assert_eq!(figures.skills, 500);
        assert!(
            figures.names_tokens + figures.described_tokens < 2_500,
            "{figures:?}"
        );
        assert!(figures.recall() >= 90.0, "{:.1} %", figures.recall());
    }
}
