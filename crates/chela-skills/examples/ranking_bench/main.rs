//! How well messages find their skill: `cargo xtask ranking-bench [json]`, or with one's own,
//! `cargo xtask ranking-bench HOME QUERIES`, where HOME holds `.agents/skills` and QUERIES is a file
//! of `skill | what you would say` lines.

#![expect(clippy::print_stdout, reason = "a measurement talks")]

mod runner;

use std::error::Error;
use std::path::Path;

use chela_core::Host;
use chela_skills::DESCRIBED_PER_MESSAGE;
use runner::{QuerySet, RankingBench, RankingFigures};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["json"] => {
            let sets = [("tuned on", QuerySet::Dev), ("held out", QuerySet::HeldOut)];
            for (name, set) in sets {
                let figures = measured(&RankingBench::built_in(set)?);
                if words.is_empty() {
                    print(name, &figures);
                } else {
                    println!("{}", serde_json::to_string(&figures)?);
                }
            }
            Ok(())
        }
        [home, queries] => {
            let queries = std::fs::read_to_string(queries)?;
            let figures = measured(&RankingBench::of(Path::new(home), &queries));
            print("your queries", &figures);
            for miss in &figures.misses {
                println!("  missed {}: \"{}\"", miss.wanted, miss.query);
            }
            Ok(())
        }
        _ => Err("usage: ranking-bench [json] | ranking-bench HOME QUERIES".into()),
    }
}

fn measured(bench: &RankingBench) -> RankingFigures {
    bench.run(&Host::fixed("/home/me"))
}

fn print(name: &str, figures: &RankingFigures) {
    println!(
        "{name}: {:.1} % of {} queries find their skill among the {DESCRIBED_PER_MESSAGE} described ({} as the first)",
        figures.recall(),
        figures.queries,
        figures.first
    );
    println!(
        "  {} skills cost {} tokens of names and at most {} of descriptions",
        figures.skills, figures.names_tokens, figures.described_tokens
    );
}

#[cfg(test)]
#[test]
fn five_hundred_skills_cost_little_and_the_right_one_is_described() {
    for set in [QuerySet::Dev, QuerySet::HeldOut] {
        let figures = measured(&RankingBench::built_in(set).unwrap());
        assert_eq!(figures.skills, 500);
        let tokens = figures.names_tokens + figures.described_tokens;
        assert!(tokens < 2_500, "{figures:?}");
        assert!(figures.recall() >= 90.0, "{figures:?}");
    }
}
