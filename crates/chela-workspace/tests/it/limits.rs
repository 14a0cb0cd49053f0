//! Limits, pins and order, for all inputs.

use chela_core::cut::CutLimit;
use chela_core::tokens;
use chela_workspace::{FileStatus, PromptOrder};
use proptest::prelude::*;

use crate::home::{COMPLETE, Home, file, names, status};

#[test]
fn later_files_get_what_earlier_ones_leave() {
    let home = Home::new();
    for name in [
        "AGENTS.md",
        "SOUL.md",
        "IDENTITY.md",
        "TOOLS.md",
        "MEMORY.md",
    ] {
        home.write(name, format!("# {name}\n{}", "line of text\n".repeat(300)));
    }
    let loaded = home.load(|plain| plain.settings.total = CutLimit::Chars(10_000));
    assert_eq!(status(&loaded, "AGENTS.md"), &FileStatus::Injected);
    assert_eq!(status(&loaded, "SOUL.md"), &FileStatus::Injected);
    assert!(matches!(
        status(&loaded, "IDENTITY.md"),
        FileStatus::Truncated { .. }
    ));
    assert!(!names(&loaded).contains(&"MEMORY.md"));
    let limit = CutLimit::Chars(10_000);
    assert_eq!(
        status(&loaded, "MEMORY.md"),
        &FileStatus::OverTotalBudget { limit }
    );
    let notice = loaded.notice.unwrap().text;
    assert!(notice.contains("MEMORY.md (left out)"), "{notice}");
}

#[test]
fn pinned_text_of_a_late_file_comes_before_plain_text_of_an_early_one() {
    let home = Home::with(&COMPLETE);
    home.write("AGENTS.md", "plain\n".repeat(2_000));
    home.write(
        "MEMORY.md",
        format!(
            "<!-- keep -->\nallergic to nuts\n<!-- /keep -->\n{}",
            "x\n".repeat(5_000)
        ),
    );
    let loaded = home.load(|plain| plain.settings.total = CutLimit::Chars(3_000));
    assert!(
        file(&loaded, "MEMORY.md")
            .content
            .contains("allergic to nuts")
    );
    let total: usize = loaded
        .files
        .iter()
        .map(|file| file.content.chars().count())
        .sum();
    assert!(total <= 3_000, "{total}");
}

#[test]
fn limits_may_be_given_in_tokens() {
    let home = Home::with(&COMPLETE);
    home.write(
        "SOUL.md",
        "Some words that cost tokens, line by line.\n".repeat(500),
    );
    for (per_file, total) in [
        (CutLimit::Tokens(300), CutLimit::Tokens(1_000)),
        (CutLimit::Tokens(300), CutLimit::Chars(900)),
        (CutLimit::Chars(900), CutLimit::Tokens(150)),
        (CutLimit::Chars(20_000), CutLimit::Tokens(400)),
    ] {
        let loaded = home.load(|plain| {
            plain.settings.per_file = per_file;
            plain.settings.total = total;
        });
        assert!(matches!(
            status(&loaded, "SOUL.md"),
            FileStatus::Truncated { .. }
        ));
        for file in &loaded.files {
            assert!(
                size(&file.content, per_file) <= amount(per_file),
                "{per_file:?} {total:?}"
            );
        }
        let sum: usize = loaded
            .files
            .iter()
            .map(|file| size(&file.content, total))
            .sum();
        assert!(sum <= amount(total), "{per_file:?} {total:?}: {sum}");
    }
}

fn amount(limit: CutLimit) -> usize {
    match limit {
        CutLimit::Chars(amount) | CutLimit::Tokens(amount) => amount,
    }
}

fn size(text: &str, limit: CutLimit) -> usize {
    match limit {
        CutLimit::Chars(_) => text.chars().count(),
        CutLimit::Tokens(_) => tokens::count(text),
    }
}

/// Markdown with headings, fences, long lines, wide characters and perhaps a pin.
fn markdown() -> impl Strategy<Value = (String, Option<String>)> {
    let blocks = prop::collection::vec((0..4u8, 0..60usize), 0..60);
    let pin = prop::option::of((0..40usize, any::<prop::sample::Index>()));
    (blocks, pin).prop_map(|(blocks, pin)| {
        let mut blocks: Vec<_> = blocks
            .into_iter()
            .map(|(kind, size)| block(kind, size))
            .collect();
        let pinned = pin.map(|(size, at)| {
            let pinned = format!("pinned {} pinned", "p".repeat(size));
            let at = at.index(blocks.len() + 1);
            blocks.insert(at, format!("<!-- keep -->\n{pinned}\n<!-- /keep -->\n"));
            pinned
        });
        (blocks.concat(), pinned)
    })
}

/// In characters, or in about as many tokens.
fn limit(chars: std::ops::Range<usize>) -> impl Strategy<Value = CutLimit> {
    (chars, any::<bool>()).prop_map(|(chars, in_tokens)| {
        if in_tokens {
            CutLimit::Tokens(chars / 3)
        } else {
            CutLimit::Chars(chars)
        }
    })
}

fn block(kind: u8, size: usize) -> String {
    match kind {
        0 => format!("{}\n", "aé 日😀".repeat(size)),
        1 => format!("{} Heading {size}\n", "#".repeat(1 + size % 3)),
        2 => format!("```rs\n{}```\n", "fn f() {}\n".repeat(size / 6)),
        _ => "- a point\n".repeat(size / 6),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing exceeds its limit, nothing pinned is lost, no fence is left open, and the bytes
    /// are the same every time.
    #[test]
    fn the_promises_hold(
        texts in prop::collection::vec(markdown(), 5),
        per_file in limit(700..4_000),
        total in limit(3_500..9_000),
    ) {
        let names_of = ["AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md", "MEMORY.md"];
        let home = Home::with(&[("IDENTITY.md", "me")]);
        for (name, (text, _)) in names_of.iter().zip(&texts) {
            home.write(name, text);
        }
        let load = || home.load(|plain| {
            plain.settings.per_file = per_file;
            plain.settings.total = total;
        });
        let loaded = load();
        let mut sum = 0;
        for file in &loaded.files {
            prop_assert_eq!(file.content.chars().count(), file.injected_chars);
            let own = size(&file.content, per_file);
            prop_assert!(own <= amount(per_file), "{}: {} > {:?}", file.name, own, per_file);
            sum += size(&file.content, total);
            let fences = file.content.lines().filter(|line| line.starts_with("```")).count();
            prop_assert_eq!(fences % 2, 0, "open fence in\n{}", file.content);
        }
        prop_assert!(sum <= amount(total), "{} > {:?}", sum, total);
        for (name, (_, pinned)) in names_of.iter().zip(&texts) {
            if let Some(pinned) = pinned {
                let kept = loaded.files.iter().any(|f| f.name == *name && f.content.contains(pinned));
                prop_assert!(kept, "{} lost {:?}", name, pinned);
            }
        }
        let orders: Vec<_> = loaded.files.iter().map(|f| PromptOrder::of(&f.shown_path)).collect();
        prop_assert!(orders.is_sorted());
        prop_assert_eq!(loaded, load());
    }

    /// The order is total (different paths never compare equal), whatever order they come in.
    #[test]
    fn order_is_total_and_stable(mut paths in prop::collection::btree_set("([a-z]{1,2}/){0,2}(AGENTS|Soul|x|MEMORY)\\.md", 0..12).prop_map(Vec::from_iter), seed in any::<u64>()) {
        let mut shuffled = paths.clone();
        shuffled.rotate_left(seed as usize % paths.len().max(1));
        if seed % 2 == 0 { shuffled.reverse(); }
        paths.sort_by_key(|path| PromptOrder::of(path));
        shuffled.sort_by_key(|path| PromptOrder::of(path));
        prop_assert_eq!(&paths, &shuffled);
        prop_assert!(paths.windows(2).all(|pair| PromptOrder::of(&pair[0]) < PromptOrder::of(&pair[1])));
    }
}
