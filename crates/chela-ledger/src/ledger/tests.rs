use std::os::unix::fs::PermissionsExt;

use crate::testing::LedgerFixture;
use crate::{Ledger, LedgerError, ledger_file};
use chela_core::Host;
use chela_store::StoreError;
use chela_store::WaitHere as _;

#[test]
fn the_file_is_its_owners_alone() {
    let desk = LedgerFixture::new();
    desk.ledger
        .append(crate::AuditKind::Spawn, &serde_json::json!({}))
        .wait()
        .unwrap();
    for name in [
        "ledger.sqlite",
        "ledger.sqlite-wal",
        "ledger.head",
        "ledger.lock",
    ] {
        let path = desk.host.state_dir().join("state").join(name);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_newer_file_is_left_alone() {
    let desk = LedgerFixture::new();
    desk.sql().pragma_update(None, "user_version", 99).unwrap();
    let error = Ledger::open(&desk.host).unwrap_err();
    assert!(
        matches!(
            error,
            LedgerError::Store(StoreError::Newer { found: 99, .. })
        ),
        "{error}"
    );
    assert!(error.to_string().contains("update Chela"));
}

#[test]
fn damage_is_explained() {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    assert!(Ledger::open_existing(&host).unwrap().is_none());
    let path = ledger_file(&host);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(
        &path,
        "this is no database at all, whatever its name says".repeat(100),
    )
    .unwrap();
    let error = Ledger::open(&host).unwrap_err();
    assert!(
        matches!(error, LedgerError::Store(StoreError::Damaged { .. })),
        "{error}"
    );
    assert!(error.to_string().contains("ledger.sqlite"));
}
