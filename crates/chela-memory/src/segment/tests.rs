use super::{ChunkFlags, DocFacts, IndexSegment, SegmentBuilder};
use proptest::prelude::*;

fn facts(chunk: i64) -> DocFacts {
    DocFacts {
        chunk,
        file: chunk / 3,
        section: 0,
        date: None,
        speaker: super::speaker_number("Ann Lee"),
        flags: ChunkFlags(ChunkFlags::ONLY_ASKS | ChunkFlags::SHARED),
        importance: super::NoteImportance::default(),
        language: super::Language::named("de").unwrap(),
    }
}

fn build(docs: &[Vec<String>]) -> IndexSegment {
    let mut builder = SegmentBuilder::default();
    for (at, terms) in docs.iter().enumerate() {
        builder.push(
            facts(at as i64),
            terms.len() as u32,
            terms.iter().map(String::as_str),
        );
    }
    builder.finish()
}

fn list(segment: &IndexSegment, term: &str) -> Vec<(u32, u32)> {
    segment
        .postings(term)
        .map(|postings| postings.collect())
        .unwrap_or_default()
}

proptest! {
    #[test]
    fn postings_are_what_was_put_in(docs in prop::collection::vec(prop::collection::vec("[ab]{1,2}", 0..6), 0..40)) {
        let segment = IndexSegment::from_bytes(&build(&docs).to_bytes()).unwrap();
        for term in ["a", "b", "aa", "ab", "ba", "bb"] {
            let expected: Vec<(u32, u32)> = docs.iter().enumerate().filter_map(|(at, doc)| {
                let count = doc.iter().filter(|t| *t == term).count() as u32;
                (count > 0).then_some((at as u32, count))
            }).collect();
            prop_assert_eq!(list(&segment, term), expected);
        }
    }

    #[test]
    fn merging_drops_what_is_dead_and_keeps_the_rest(
        docs in prop::collection::vec(prop::collection::vec("[ab]{1,2}", 0..6), 1..40),
        cut in 0_usize..40, dead in prop::collection::vec(any::<bool>(), 40),
    ) {
        let cut = cut.min(docs.len());
        let (first, second) = docs.split_at(cut);
        let mut builder = SegmentBuilder::default();
        builder.append(&build(first), |doc| !dead[doc]);
        builder.append(&build(second), |doc| !dead[cut + doc]);
        let live: Vec<Vec<String>> = docs.iter().enumerate().filter(|(at, _)| !dead[*at]).map(|(_, doc)| doc.clone()).collect();
        let merged = builder.finish();
        let fresh = build(&live);
        prop_assert_eq!(merged.docs.len(), live.len());
        for term in ["a", "b", "aa", "ab", "ba", "bb"] {
            prop_assert_eq!(list(&merged, term), list(&fresh, term));
        }
    }

    #[test]
    fn foreign_bytes_are_no_segment_and_no_crash(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = IndexSegment::from_bytes(&bytes);
        bytes.splice(0..0, *super::bytes::MAGIC);
        if let Some(segment) = IndexSegment::from_bytes(&bytes) {
            let _ = segment.postings("a").map(|postings| postings.count());
        }
    }
}

#[test]
fn terms_are_found_by_their_beginning() {
    let segment = build(&[vec!["maxres".into(), "max".into(), "min".into()]]);
    assert_eq!(segment.terms_with_prefix("max", 9), ["max", "maxres"]);
    assert!(segment.terms_with_prefix("z", 9).is_empty());
}

#[test]
fn what_is_known_of_a_chunk_comes_back() {
    let segment = build(&[vec!["a".into()]]);
    let back = IndexSegment::from_bytes(&segment.to_bytes()).unwrap();
    assert_eq!(back.docs, segment.docs);
    assert_eq!(
        super::speaker_number("ann"),
        super::speaker_number("Ann Lee")
    );
    assert_eq!(super::speaker_number(" "), 0);
}
