//! Transcripts from elsewhere: whatever the lines are, nothing panics; what was read in can be
//! written out, and read in again it is the same.
#![no_main]

use chela_core::Host;
use chela_session::{ImportOrigin, Sessions};
use chela_store::block_on;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let host = Host::fixed("/nowhere");
    let Ok(sessions) = Sessions::in_memory(&host) else {
        return;
    };
    let Ok(imported) = block_on(sessions.import_jsonl(data, None, ImportOrigin::Elsewhere)) else {
        return;
    };
    let context = block_on(sessions.context(&imported.session)).unwrap();
    let mut written = Vec::new();
    block_on(sessions.export_jsonl(&imported.session, &mut written)).unwrap();

    let others = Sessions::in_memory(&host).unwrap();
    let again =
        block_on(others.import_jsonl(written.as_slice(), None, ImportOrigin::ThisHome)).unwrap();
    assert_eq!(again.skipped, [], "{}", String::from_utf8_lossy(&written));
    assert_eq!(block_on(others.context(&again.session)).unwrap(), context);
});
