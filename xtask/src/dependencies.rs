//! Every direct dependency has a line in `docs/DEPENDENCIES.md` that says what it is for.

use std::collections::BTreeSet;

#[test]
fn each_direct_dependency_is_explained_and_used() {
    let page = std::fs::read_to_string("../docs/DEPENDENCIES.md").expect("docs/DEPENDENCIES.md");
    let explained: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let used = crate::rooms::foreign_dependencies();
    let missing: Vec<_> = used
        .iter()
        .filter(|name| !explained.contains(name.as_str()))
        .collect();
    let stale: Vec<_> = explained
        .iter()
        .filter(|name| !used.contains(**name))
        .collect();
    assert!(
        missing.is_empty(),
        "no line in docs/DEPENDENCIES.md: {missing:?}"
    );
    assert!(
        stale.is_empty(),
        "in docs/DEPENDENCIES.md but not used: {stale:?}"
    );
}
