//! What a store of one document has to do.

use std::path::Path;

use chela_store::{DocumentStore, StoreError, block_on, document_at};

/// Gives the store of the document with this path.
type DocumentFactory = fn(&Path) -> Box<dyn DocumentStore>;

const DOCUMENT_STORES: [DocumentFactory; 1] = [document_at];

#[test]
fn a_document_is_replaced_as_a_whole_by_one_at_a_time() {
    for store_at in DOCUMENT_STORES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state").join("kept.json");
        assert_eq!(block_on(store_at(&path).read()).unwrap(), None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let store = store_at(&path);
                    for _ in 0..10 {
                        let mut held = block_on(store.hold()).unwrap();
                        let text = block_on(held.read()).unwrap().unwrap_or_default();
                        block_on(held.replace(&format!("{text}x"))).unwrap();
                    }
                });
            }
        });
        let kept = block_on(store_at(&path).read()).unwrap();
        assert_eq!(kept, Some("x".repeat(40)));
    }
}

#[test]
fn one_that_cannot_be_read_can_be_moved_aside() {
    for store_at in DOCUMENT_STORES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.json");
        std::fs::write(&path, b"\xff\xfe").unwrap();
        let store = store_at(&path);
        assert!(matches!(
            block_on(store.read()),
            Err(StoreError::File { .. })
        ));
        let mut held = block_on(store.hold()).unwrap();
        let aside = block_on(held.move_aside("broken-7")).unwrap();
        assert_eq!(aside, folder.path().join("kept.json.broken-7"));
        assert_eq!(block_on(held.read()).unwrap(), None);
    }
}
