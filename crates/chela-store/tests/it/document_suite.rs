//! What a store of one document has to do.

use chela_store::{DocumentStore, FileDocumentStore, StoreError, block_on};

#[test]
fn a_document_is_replaced_as_a_whole_by_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state").join("kept.json");
    let store = FileDocumentStore::at(&path);
    assert_eq!(block_on(store.read()).unwrap(), None);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let store: &dyn DocumentStore = &FileDocumentStore::at(&path);
                for _ in 0..10 {
                    let mut held = block_on(store.hold()).unwrap();
                    let text = block_on(held.read()).unwrap().unwrap_or_default();
                    block_on(held.replace(&format!("{text}x"))).unwrap();
                }
            });
        }
    });
    assert_eq!(block_on(store.read()).unwrap(), Some("x".repeat(40)));
}

#[test]
fn one_that_cannot_be_read_can_be_moved_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.json");
    std::fs::write(&path, b"\xff\xfe").unwrap();
    let store = FileDocumentStore::at(&path);
    assert!(matches!(
        block_on(store.read()),
        Err(StoreError::File { .. })
    ));
    let mut held = block_on(store.hold()).unwrap();
    let aside = block_on(held.move_aside("broken-7")).unwrap();
    assert_eq!(aside, folder.path().join("kept.json.broken-7"));
    assert_eq!(block_on(held.read()).unwrap(), None);
}
