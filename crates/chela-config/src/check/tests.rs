use super::*;
#[test]
fn t() {
    let _ = check_tree(&Node::empty_object());
}
