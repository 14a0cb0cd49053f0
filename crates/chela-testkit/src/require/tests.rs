use super::{look, wait_until};

const THERE: Result<u8, &str> = Ok(7);
const MISSING: Result<u8, &str> = Err("not installed");

#[test]
fn what_is_missing_fails_only_where_it_is_required() {
    for asked in ["", "all", "landlock"] {
        assert_eq!(look(asked, "bubblewrap", THERE), Ok(Ok(7)), "{asked}");
    }
    let note = "left out without bubblewrap: not installed".to_owned();
    for asked in ["", " ", "landlock", "landlock,ssh-keygen"] {
        assert_eq!(
            look(asked, "bubblewrap", MISSING),
            Ok(Err(note.clone())),
            "{asked}"
        );
    }
    let failure = "CHELA_REQUIRE names bubblewrap, and it is missing: not installed".to_owned();
    for asked in ["all", "bubblewrap", "landlock, bubblewrap"] {
        assert_eq!(
            look(asked, "bubblewrap", MISSING),
            Err(failure.clone()),
            "{asked}"
        );
    }
}

#[test]
fn a_name_nobody_knows_is_a_mistake() {
    for (asked, part) in [("bwrap", "bubblewrap"), ("", "bwrap")] {
        let told = look(asked, part, THERE).expect_err("a mistake");
        assert!(told.contains("cannot name `bwrap`"), "{told}");
    }
}

#[test]
fn waiting_ends_with_what_was_waited_for() {
    let mut looks = 0;
    wait_until("the third look", || {
        looks += 1;
        looks == 3
    });
    assert_eq!(looks, 3);
}
