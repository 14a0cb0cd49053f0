//! How fast text is counted, cleaned and cut, beside counting its characters:
//! `cargo bench -p chela-core --bench text`.

use chela_core::cut::{CutLimit, CutRequest, cut};
use chela_core::secret::{KnownSecret, Redactor};
use chela_core::{sanitize, tokens};
use chela_testkit::bench::{BenchEffort, BenchStats, measure};

fn main() {
    let english = PROSE.repeat(1 + MEGABYTE / PROSE.len());
    let code = include_str!("../src/cut/outline.rs");
    let code = code.repeat(1 + MEGABYTE / code.len());
    let cjk = CJK.repeat(1 + MEGABYTE / CJK.len());
    let unbroken = "a".repeat(MEGABYTE);

    let copy = measure("copy", english.len(), || english.clone());
    let chars = measure("chars().count()", english.len(), || english.chars().count());
    copy.print(None);
    chars.print(Some(&copy));

    let report = |name: &str, text: &str, work: &dyn Fn(&str) -> usize| {
        let stats: BenchStats = measure(name, text.len(), || work(text));
        stats.print(Some(&chars));
    };
    report("tokens: English", &english, &tokens::count);
    report("tokens: Rust code", &code, &tokens::count);
    report("tokens: Chinese, Japanese, Korean", &cjk, &tokens::count);
    report("tokens: one word of a megabyte", &unbroken, &tokens::count);

    let clean = |text: &str| sanitize::content(text).1.total();
    let hidden: String = english.replace("the ", "the\u{200B}\u{E0041} ");
    report("sanitize: English", &english, &clean);
    report("sanitize: Chinese and others", &cjk, &clean);
    report("sanitize: with hidden characters", &hidden, &clean);
    report(
        "literal: a path",
        "/home/somebody/workspace/notes.md",
        &|text| sanitize::literal(text).len(),
    );

    let known = (0..20).map(|at| KnownSecret {
        name: format!("secret-{at}"),
        value: format!("value-{at}-of-a-secret-that-is-known"),
    });
    let redactor = Redactor::new(Some("key".to_owned()), known.collect());
    let hidden = |text: &str| redactor.redact(text).len();
    report("secrets: English", &english, &hidden);
    report("secrets: Rust code", &code, &hidden);
    report("secrets: Chinese and others", &cjk, &hidden);

    let cut_to = |text: &str, limit: CutLimit| {
        let request = CutRequest {
            name: "NOTES.md",
            first_line: 1,
            text,
            limit,
            pinned_headings: &[],
        };
        cut(&request).text.len()
    };
    report("cut: a megabyte to 20000 chars", &english, &|text| {
        cut_to(text, CutLimit::Chars(20_000))
    });
    report("cut: a megabyte to 5000 tokens", &english, &|text| {
        cut_to(text, CutLimit::Tokens(5_000))
    });
    let megabytes = BenchEffort::asked().pick(50, 2);
    let large = PROSE.repeat(megabytes * MEGABYTE / PROSE.len());
    report(
        &format!("cut: {megabytes} megabytes to 20000 chars"),
        &large,
        &|text| cut_to(text, CutLimit::Chars(20_000)),
    );
}

const MEGABYTE: usize = 1 << 20;

const PROSE: &str = "\
## What the workspace is for

The agent reads these notes at the start of every session, so they should say what matters and
leave out what does not. Dates are written as 2026-03-14, times in UTC; money is in euros unless
it says otherwise. When something here is wrong, it's better to correct it than to add a second
opinion below.

- Ask before sending anything to people who aren't on the list.
- The backup runs at 03:30; if it fails twice, tell the owner (don't wait for the third time).
- `cargo test --workspace` takes about four minutes on the small machine.

";

const CJK: &str = "\
我们正在讨论如何把一段很长的文字切成许多小块，这样模型就可以更快地阅读它们。今天天气很好，大家都去公园散步了。
プログラムは日本語の文章も正しく数えなければなりません。会議は午後三時に始まります。
한국어 문장도 마찬가지로 정확하게 세어야 합니다. 내일 아침에 다시 확인해 주세요.
";
