use proptest::prelude::*;

use super::{FrameReader, StreamFraming, TooLong};

/// The documents of a stream that arrives cut at these places.
fn documents(framing: StreamFraming, bytes: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut frames = FrameReader::new(framing);
    let mut found = Vec::new();
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    for pair in cuts.windows(2) {
        frames
            .feed::<TooLong>(&bytes[pair[0]..pair[1]], &mut |data| {
                found.push(String::from_utf8_lossy(data).into_owned());
                Ok(())
            })
            .unwrap();
    }
    found.extend(
        frames
            .rest()
            .map(|rest| String::from_utf8_lossy(&rest).into_owned()),
    );
    found
}

#[test]
fn every_line_ending_and_comment_is_understood() {
    for end in ["\n", "\r\n", "\r"] {
        let stream = [
            ": ping",
            "",
            "event: message",
            "data: {\"a\":1}",
            "",
            "data:{\"b\":",
            "data: 2}",
            "id: 7",
            "",
            "retry: 5",
            "",
            "data: [DONE]",
            "",
        ]
        .join(end)
            + end;
        assert_eq!(
            documents(StreamFraming::Sse, stream.as_bytes(), &[]),
            ["{\"a\":1}", "{\"b\":\n2}", "[DONE]"],
            "{end:?}"
        );
    }
}

#[test]
fn a_mark_at_the_start_and_a_missing_end_do_not_matter() {
    let stream = "\u{feff}data: {\"a\":\"é\"}\n\ndata: {\"b\":2}";
    assert_eq!(
        documents(StreamFraming::Sse, stream.as_bytes(), &[]),
        ["{\"a\":\"é\"}", "{\"b\":2}"]
    );
    assert_eq!(
        documents(StreamFraming::Sse, b"{\"error\":\"plain\"}\n", &[]),
        ["{\"error\":\"plain\"}"]
    );
    assert_eq!(
        documents(StreamFraming::Lines, b"{\"a\":1}\r\n\n{\"b\":2}", &[]),
        ["{\"a\":1}", "{\"b\":2}"]
    );
}

#[test]
fn a_line_without_end_is_refused() {
    let mut frames = FrameReader::new(StreamFraming::Lines);
    let block = vec![b'x'; 1 << 20];
    let mut fed = Ok(());
    for _ in 0..64 {
        fed = frames.feed::<TooLong>(&block, &mut |_| Ok(()));
        if fed.is_err() {
            break;
        }
    }
    assert_eq!(fed, Err(TooLong));
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("data: {\"text\":\"héllo 🦀\"}".to_owned()),
        Just("data:x".to_owned()),
        Just("data".to_owned()),
        Just(": ping".to_owned()),
        Just("event: e".to_owned()),
        Just(String::new()),
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("\r".to_owned()),
        Just("\n\n".to_owned()),
        Just("\r\n\r\n".to_owned()),
    ]
}

proptest! {
    #[test]
    fn cuts_change_nothing(
        pieces in prop::collection::vec(piece(), 0..24),
        cuts in prop::collection::vec(0usize..4096, 0..12),
        sse in any::<bool>(),
    ) {
        let stream = pieces.concat();
        let framing = if sse { StreamFraming::Sse } else { StreamFraming::Lines };
        prop_assert_eq!(
            documents(framing, stream.as_bytes(), &cuts),
            documents(framing, stream.as_bytes(), &[])
        );
    }
}
