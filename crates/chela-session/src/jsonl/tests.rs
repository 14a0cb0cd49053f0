use super::super::tests_support::{SessionsFixture, assistant, calls, result, user};
use super::super::{CompactionEntry, EntryBody, EntryId};
use chela_store::block_on;

#[test]
fn an_export_reads_back_as_the_same_tree() {
    let fixture = SessionsFixture::new();
    let sessions = &fixture.sessions;
    let session = fixture.session("agent:main:main");
    block_on(sessions.rename(&session, Some("Trip"))).unwrap();
    block_on(sessions.append_all(
        &session,
        &[user("one"), assistant("1"), user("two"), calls(&["a"])],
    ))
    .unwrap();
    block_on(sessions.begin_call(&session, "a", chela_store::WriteDurability::Disk)).unwrap();
    let kept = CompactionEntry {
        summary: "cats".into(),
        first_kept: EntryId::parse("00000003").unwrap(),
        tokens_before: 9,
        details: serde_json::Value::Null,
    };
    block_on(sessions.append_all(
        &session,
        &[
            result("a", "x"),
            EntryBody::Compaction(kept),
            EntryBody::TurnEnded { how: "done".into() },
        ],
    ))
    .unwrap();
    block_on(sessions.append(&session, user("three"))).unwrap();
    block_on(sessions.undo(&session)).unwrap();
    let export = |fixture: &SessionsFixture, session| {
        let mut out = Vec::new();
        block_on(fixture.sessions.export_jsonl(session, &mut out)).unwrap();
        String::from_utf8(out).unwrap()
    };
    let text = export(&fixture, &session).replace(&*fixture.dir.path().to_string_lossy(), "~");
    insta::assert_snapshot!(text, @r#"
    {"type":"session","version":3,"id":"18d021fa-a553-4ad0-a49e-012f0bdc0307","timestamp":"2023-11-14T22:13:20.000Z","cwd":"~","key":"agent:main:main","label":"Trip","leaf":"00000008"}
    {"type":"message","id":"00000001","parentId":null,"timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"user","content":[{"type":"text","text":"one"}]}}
    {"type":"message","id":"00000002","parentId":"00000001","timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":[{"type":"text","text":"1"}]}}
    {"type":"message","id":"00000003","parentId":"00000002","timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"user","content":[{"type":"text","text":"two"}]}}
    {"type":"message","id":"00000004","parentId":"00000003","timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"a","name":"exec","arguments":{}}]}}
    {"type":"custom","id":"00000005","parentId":"00000004","timestamp":"2023-11-14T22:13:20.000Z","customType":"chela.toolStarted","data":{"callId":"a"}}
    {"type":"message","id":"00000006","parentId":"00000005","timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"toolResult","callId":"a","tool":"exec","content":[{"type":"text","text":"x"}]}}
    {"type":"compaction","id":"00000007","parentId":"00000006","timestamp":"2023-11-14T22:13:20.000Z","summary":"cats","firstKeptEntryId":"00000003","tokensBefore":9}
    {"type":"custom","id":"00000008","parentId":"00000007","timestamp":"2023-11-14T22:13:20.000Z","customType":"chela.turnEnded","data":{"how":"done"}}
    {"type":"message","id":"00000009","parentId":"00000008","timestamp":"2023-11-14T22:13:20.000Z","message":{"role":"user","content":[{"type":"text","text":"three"}]}}
    "#);

    let other = SessionsFixture::new();
    let back = block_on(other.sessions.import_jsonl(
        text.as_bytes(),
        None,
        crate::ImportOrigin::ThisHome,
    ))
    .unwrap();
    assert_eq!((back.entries, back.past, back.skipped.len()), (9, false, 0));
    assert_eq!(back.session.id, session.id);
    assert_eq!(
        block_on(other.sessions.context(&back.session)).unwrap(),
        block_on(sessions.context(&session)).unwrap()
    );
    let again = export(&other, &back.session).replace(&*other.dir.path().to_string_lossy(), "~");
    assert_eq!(again, text);
}
