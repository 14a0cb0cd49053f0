use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use chela_core::{Audience, FixedClock};

use super::{HitConfidence, VectorState};
use crate::embed::{
    EmbedCost, EmbedError, EmbedPrice, EmbedRole, EmbedText, Embedder, ModelId, RetryAdvice,
};
use crate::memory::{Memory, MemoryQuestion, OpenMemory};
use crate::settings::{DuplicateHits, QueryMode};
use crate::source::MemoryPlaces;
use crate::tests_support::{MemoryHome, ask, found, sync};

fn notes() -> MemoryHome {
    MemoryHome::new(&[
        (
            "MEMORY.md",
            "# People\n- Ann Meyer is the dentist in Lisbon\n- Bob plays chess on Mondays\n",
        ),
        (
            "memory/2023-11-01.md",
            "- the car broke down near Porto\n- paid 300 euros for the repair\n",
        ),
        ("memory/2021-06-01.md", "- the car was bought from Carlos\n"),
        (
            "memory/code.md",
            "- set `max_results` in search_settings\n- getUserName reads the profile\n",
        ),
        ("memory/jp.md", "- 京都で抹茶を飲んだ\n- 明日は大阪に行く\n"),
    ])
}

#[test]
fn words_meaning_and_scripts_are_found() {
    let home = notes();
    let mut memory = home.synced();
    let first = |memory: &mut Memory<'_>, question: &str| {
        let hit = memory.search(&ask(question)).unwrap().answer.hits[0].clone();
        format!("{}#L{}", hit.label, hit.start_line)
    };
    assert_eq!(first(&mut memory, "who is my dentist?"), "MEMORY.md#L2");
    assert_eq!(
        first(&mut memory, "automobile trouble"),
        "memory/2023-11-01.md#L1"
    );
    assert_eq!(first(&mut memory, "max results"), "memory/code.md#L1");
    assert_eq!(
        first(&mut memory, "user name function"),
        "memory/code.md#L2"
    );
    assert_eq!(first(&mut memory, "抹茶"), "memory/jp.md#L1");
    assert_eq!(first(&mut memory, "大阪"), "memory/jp.md#L2");
}

#[test]
fn quotes_dates_and_old_facts() {
    let home = notes();
    let mut memory = home.synced();
    assert_eq!(
        found(&mut memory, "\"was bought\" car")[0],
        "memory/2021-06-01.md#L1"
    );
    assert_eq!(
        found(&mut memory, "what about the car on 2021-06-01")[0],
        "memory/2021-06-01.md#L1"
    );
    // Recency breaks ties; it does not bury what is old.
    assert_eq!(
        found(&mut memory, "who sold us the car: Carlos?")[0],
        "memory/2021-06-01.md#L1"
    );
}

#[test]
fn newer_notes_win_ties_whatever_the_clock_says() {
    let mut home = MemoryHome::new(&[
        ("memory/2023-01-01.md", "- weight 80 kg\n"),
        ("memory/2023-11-10.md", "- weight 79 kg\n"),
    ]);
    assert_eq!(
        found(&mut home.synced(), "weight kg")[0],
        "memory/2023-11-10.md#L1"
    );
    for seconds in [0, 4_000_000_000] {
        home.host.clock = Arc::new(FixedClock(UNIX_EPOCH + Duration::from_secs(seconds)));
        let mut memory = home.memory();
        sync(&mut memory);
        assert_eq!(found(&mut memory, "weight kg").len(), 2, "{seconds}");
    }
}

#[test]
fn results_explain_themselves() {
    let home = notes();
    let mut memory = home.synced();
    let answer = memory.search(&ask("dentist in Lisbon")).unwrap();
    let best = &answer.excerpts[0];
    assert_eq!(best.score, 1.0);
    assert!(
        best.explain.bm25 > 0.0 && best.explain.cosine > 0.0,
        "{:?}",
        best.explain
    );
    assert_eq!((best.explain.keyword, best.explain.first_rank), (1.0, 1));
    assert!(best.explain.coverage > 0.99);
    assert_eq!(answer.answer.confidence, HitConfidence::High);
    let nonsense = memory.search(&ask("zxqv")).unwrap();
    assert_ne!(nonsense.answer.confidence, HitConfidence::High);
}

#[test]
fn near_copies_are_shown_once() {
    let line = "- the door code of the office is on the yellow card\n";
    let mut home = MemoryHome::new(&[
        ("memory/a.md", line),
        ("memory/b.md", line),
        ("memory/c.md", "- code on the door of a submarine\n"),
    ]);
    let places = found(&mut home.synced(), "door code office");
    assert_eq!(
        places
            .iter()
            .filter(|p| p.contains("a.md") || p.contains("b.md"))
            .count(),
        1
    );
    home.settings.query.duplicates = DuplicateHits::Keep;
    assert_eq!(found(&mut home.memory(), "door code office").len(), 3);
    home.settings.query.duplicates = DuplicateHits::Mmr { lambda: 0.3 };
    assert_eq!(
        found(&mut home.memory(), "door code office")[1],
        "memory/c.md#L1"
    );
}

#[test]
fn compat_mode_wants_every_word_and_cuts() {
    let mut home = notes();
    home.settings.query.mode = QueryMode::Compat;
    home.settings.query.vector_weight = Some(0.0);
    home.settings.query.text_weight = Some(1.0);
    home.settings.query.min_score = Some(0.01);
    let mut memory = home.synced();
    assert_eq!(found(&mut memory, "car Porto"), ["memory/2023-11-01.md#L1"]);
    assert!(found(&mut memory, "car Porto dentist").is_empty());
    let hit = memory.search(&ask("Porto")).unwrap().answer.hits[0].clone();
    assert!((hit.score - hit.explain.bm25 / (1.0 + hit.explain.bm25)).abs() < 1e-6);
    // The reference's own cut is 0.35.
    home.settings.query.min_score = None;
    home.settings.query.vector_weight = None;
    home.settings.query.text_weight = None;
    let answer = home.memory().search(&ask("dentist Lisbon")).unwrap().answer;
    assert!(
        answer.hits.iter().all(|hit| hit.score >= 0.35),
        "{answer:?}"
    );
    for hit in &answer.hits {
        let expected = 0.7 * hit.explain.cosine + 0.3 * hit.explain.keyword;
        assert!((hit.score - expected).abs() < 1e-5);
    }
}

/// A provider that can be told to fail and counts what it is asked.
struct Remote {
    fails: bool,
    asked: std::sync::atomic::AtomicUsize,
}

impl Embedder for Remote {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "remote".into(),
            model: "tiny".into(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::PerBatch {
            texts: 2,
            price: EmbedPrice::About(1.0),
            tokens_per_second: 100.0,
        }
    }

    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        if self.fails {
            return Err(EmbedError {
                provider: "remote".into(),
                reason: "no key".into(),
                retry: RetryAdvice::Never,
            });
        }
        if role == EmbedRole::Document {
            self.asked
                .fetch_add(texts.len(), std::sync::atomic::Ordering::Relaxed);
        }
        Ok(texts
            .iter()
            .map(|t| vec![t.text.len() as f32, t.text.matches('a').count() as f32, 1.0])
            .collect())
    }
}

fn with<'a>(home: &'a MemoryHome, embedder: &'a dyn Embedder) -> Memory<'a> {
    Memory::open(OpenMemory {
        host: &home.host,
        index_file: home.index_file(),
        places: MemoryPlaces {
            workspace: home.workspace(),
            sessions: None,
            ..Default::default()
        },
        settings: home.settings.clone(),
        embedder: Some(embedder),
    })
    .unwrap()
}

#[test]
fn a_provider_that_fails_is_named_while_words_go_on() {
    let home = notes();
    let remote = Remote {
        fails: true,
        asked: 0.into(),
    };
    let mut memory = with(&home, &remote);
    let report = sync(&mut memory);
    assert!(
        report.problems[0].contains("no key"),
        "{:?}",
        report.problems
    );
    let answer = memory.search(&ask("dentist")).unwrap();
    assert!(answer.excerpts[0].citation().starts_with("MEMORY.md#L2"));
    assert!(matches!(answer.answer.vectors, VectorState::Failed { .. }));
}

#[test]
fn vectors_are_never_paid_for_twice() {
    let home = notes();
    let remote = Remote {
        fails: false,
        asked: 0.into(),
    };
    let asked = || remote.asked.load(std::sync::atomic::Ordering::Relaxed);
    // The local index is there first; another model adds to it.
    drop(home.synced());
    let mut memory = with(&home, &remote);
    let quote = crate::vectors::quote(memory.store(), &remote).unwrap();
    assert_eq!(quote.chunks, 9);
    assert!(quote.price != EmbedPrice::Free && quote.seconds > 0.0);
    sync(&mut memory);
    assert_eq!(asked(), 9);
    assert!(matches!(
        memory.search(&ask("car")).unwrap().answer.vectors,
        VectorState::Used { .. }
    ));
    home.write("memory/new.md", "- something new\n");
    sync(&mut memory);
    assert_eq!(asked(), 10);
    memory
        .sync(crate::index::SyncDepth::Rebuild, &mut |_| {
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(asked(), 10);
    // Back to the local table: its vectors are still there, or made in no time.
    drop(memory);
    let mut memory = home.synced();
    let state = memory.search(&ask("car")).unwrap().answer.vectors;
    assert!(matches!(state, VectorState::Used { .. }), "{state:?}");
}

#[test]
fn private_notes_do_not_exist_for_a_shared_audience() {
    let mut home = MemoryHome::new(&[
        (
            "MEMORY.md",
            "---\naudience: shared\n---\n- the alarm code is 4711\n",
        ),
        ("memory/2023-11-01.md", "- the alarm code was changed\n"),
        (
            "memory/house.md",
            "---\naudience: shared\n---\n- the alarm rings at seven\n",
        ),
    ]);
    let shared = MemoryQuestion {
        audience: Audience::Shared,
        ..ask("alarm code")
    };
    for mode in [
        QueryMode::Best,
        QueryMode::Compat,
        QueryMode::Keyword,
        QueryMode::Vector,
    ] {
        home.settings.query.mode = mode;
        home.settings.query.min_score = Some(0.0);
        let mut memory = home.synced();
        let all = memory.search(&ask("alarm code")).unwrap();
        assert!(all.answer.hits.len() > 1, "{mode:?}");
        let found = memory.search(&shared).unwrap();
        for hit in &found.answer.hits {
            assert_eq!(hit.label, "memory/house.md", "{mode:?}");
        }
        // Not even their number is told.
        assert_eq!((all.answer.searched, found.answer.searched), (5, 2));
        assert_eq!(memory.search(&ask("alarm code")).unwrap(), all);
    }
    home.settings.query.mode = QueryMode::Best;
    let found = home.memory().search(&shared).unwrap();
    assert!(found.excerpts[0].text.contains("rings at seven"));
}

#[test]
fn importance_breaks_ties_and_explains_itself() {
    let home = MemoryHome::new(&[
        (
            "memory/a.md",
            "- the spare key is with Ann\n- lunch at noon\n",
        ),
        (
            "memory/b.md",
            "<!-- importance: 0.8 -->\n- the spare key is with Bob\n",
        ),
        ("memory/c.md", "- !important always lock the garage\n"),
    ]);
    let mut memory = home.synced();
    let found = memory.search(&ask("who has the spare key")).unwrap();
    let best = &found.answer.hits[0];
    assert_eq!((best.label.as_str(), best.start_line), ("memory/b.md", 2));
    assert!((best.explain.points.importance - 0.04).abs() < 1e-6);
    // What matters most does not push aside what was asked for.
    assert_eq!(found_first(&mut memory, "when is lunch"), "memory/a.md");
}

/// No stemmer but the English one is there; whole words, pairs of characters and accents that
/// may be left out carry the rest.
#[test]
fn other_languages_find_what_they_should() {
    let home = MemoryHome::new(&[
        (
            "memory/de.md",
            "- Der Zahnarzttermin ist am Freitag in München\n- Die Straße vor dem Haus wird gesperrt\n- Der Schlüssel liegt unter der Fußmatte\n",
        ),
        (
            "memory/fr.md",
            "- Le rendez-vous chez le médecin est à Orléans\n- L'école ferme à midi le mercredi\n- J'ai prêté la clé à Éloïse\n",
        ),
        (
            "memory/zh.md",
            "- 下周三去北京出差\n- 妈妈的生日是五月八日\n- 密码写在红色笔记本里\n",
        ),
        (
            "memory/ja.md",
            "- 来週の金曜日に歯医者の予約がある\n- パスポートは机の引き出しに入っている\n- 犬の名前はポチ\n",
        ),
        (
            "memory/ko.md",
            "- 다음 주 화요일에 치과 예약이 있다\n- 여권은 책상 서랍에 있다\n- 강아지 이름은 초코\n",
        ),
        (
            "memory/mixed.md",
            "- 我的 GitHub 用户名是 octo_cat\n- Treffen mit 田中さん im Café\n",
        ),
    ]);
    let mut memory = home.synced();
    let mut line = |question: &str| {
        let hit = memory.search(&ask(question)).unwrap().answer.hits[0].clone();
        format!("{}:{}", &hit.label[7..9], hit.start_line)
    };
    for (question, expected) in [
        ("Wann ist der Zahnarzttermin?", "de:1"),
        ("strasse gesperrt", "de:2"),
        ("Wo liegt der Schluessel? Fußmatte", "de:3"),
        ("munchen freitag", "de:1"),
        ("rendez-vous médecin", "fr:1"),
        ("ecole mercredi", "fr:2"),
        ("clé Eloise", "fr:3"),
        ("什么时候去北京", "zh:1"),
        ("妈妈生日", "zh:2"),
        ("密码在哪里", "zh:3"),
        ("歯医者の予約はいつ", "ja:1"),
        ("パスポートはどこ", "ja:2"),
        ("犬の名前", "ja:3"),
        ("치과 예약", "ko:1"),
        ("여권 어디", "ko:2"),
        ("강아지 이름이 뭐야", "ko:3"),
        ("github username 用户名", "mi:1"),
        ("田中 cafe", "mi:2"),
    ] {
        assert_eq!(line(question), expected, "{question}");
    }
}

fn found_first(memory: &mut Memory<'_>, question: &str) -> String {
    memory.search(&ask(question)).unwrap().answer.hits[0]
        .label
        .clone()
}

#[test]
fn the_best_pages_say_what_the_subject_is() {
    let filler = |seed: usize| -> String {
        (0..60)
            .map(|at| format!("filler{} ", (seed * 61 + at * 7) % 997))
            .collect()
    };
    let mut home = MemoryHome::new(&[]);
    for (name, about) in [
        (
            "a",
            "supersonic wing flutter panel heating analysis gadolinium",
        ),
        (
            "b",
            "supersonic wing flutter model tests heating gadolinium",
        ),
        (
            "c",
            "supersonic wing flutter of heated structures gadolinium",
        ),
        ("d", "supersonic wing flutter of heated structures"),
        ("e", "library opening hours and fees"),
    ] {
        home.write(
            &format!("memory/{name}.md"),
            &format!(
                "{about} {}\n",
                filler(name.len() + usize::from(name.as_bytes()[0]))
            ),
        );
    }
    let question = "what governs flutter of heated supersonic wing structures under aerodynamic load and stress";
    let mut memory = home.synced();
    let hits = memory.search(&ask(question)).unwrap().answer.hits;
    let agreed = |name: &str| {
        let hit = hits
            .iter()
            .find(|hit| hit.label == format!("memory/{name}.md"));
        hit.map_or(0.0, |hit| hit.explain.points.agreed)
    };
    // `c` and `d` answer the question alike; `c` has a word the others share that was not asked for.
    assert!(agreed("c") > agreed("d"), "{} {}", agreed("c"), agreed("d"));
    assert!(agreed("d") > agreed("e"));
    // A short question asks for a fact, and entries are no pages.
    let short = memory.search(&ask("wing flutter")).unwrap().answer.hits;
    assert!(short.iter().all(|hit| hit.explain.points.agreed == 0.0));
    home = notes();
    let hits = home.synced().search(&ask(question)).unwrap().answer.hits;
    assert!(hits.iter().all(|hit| hit.explain.points.agreed == 0.0));
}
