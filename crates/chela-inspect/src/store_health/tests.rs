use std::path::PathBuf;

use chela_core::{Host, Severity};

use super::{DiskRoom, StoreTrouble, judge_room};

#[test]
fn little_room_is_noted_and_none_is_an_error() {
    let host = Host::fixed("/home/someone");
    let judged = |free| {
        let folder = PathBuf::from("/home/someone/.chela");
        judge_room(&host, &DiskRoom { folder, free })
    };
    assert_eq!(judged(200_000_000), None);
    let low = judged(199_999_999).unwrap();
    assert_eq!(
        (low.trouble, low.severity),
        (StoreTrouble::DiskLow, Severity::Note)
    );
    assert!(low.message.contains("199 MB left"), "{}", low.message);
    assert_eq!(judged(10_000_000).unwrap().severity, Severity::Note);
    let full = judged(9_999_999).unwrap();
    assert_eq!(
        (full.trouble, full.severity),
        (StoreTrouble::DiskFull, Severity::Error)
    );
    assert!(judged(4096).unwrap().message.contains("4 kB left"));
}
