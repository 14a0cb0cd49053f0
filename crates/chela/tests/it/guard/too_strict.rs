//! An address with a key in it that the owner typed is used; any other is asked about.

use super::web_scene::{asked, fetch, obeying, pages, script, told};

const KEYS: [&str; 3] = [
    "token=q8Zr4Lm2Xw9Kp7Td5Vb3",
    "key=Hs7Dk2Lq9Wm4Zx8Cv6Bn",
    "X-Amz-Signature=9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c5b4a3928",
];

#[test]
fn the_owners_own_address_with_a_key_is_used_without_a_question() {
    for key in KEYS {
        let web = pages(&[("/", "the file")]);
        let url = format!("http://localhost:{}/file?{key}", web.port());
        let scene = obeying(&[fetch(&url)], "done");
        scene.chat(&format!("Summarise {url}")).answered();
        assert_eq!(asked(&web), [format!("/file?{key}")]);
        let exported = scene.exported();
        assert!(!format!("{exported:?}").contains(key), "no record keeps it");
    }
}

#[test]
fn what_the_model_was_shown_of_it_stands_for_it() {
    let web = pages(&[("/", "the file")]);
    let url = format!("http://localhost:{}/file?{}", web.port(), KEYS[0]);
    let scene = obeying(&[], "hello");
    let message = format!("Summarise {url}");
    scene.chat(&message).answered();
    let shown = scene.endpoint.calls().pop().unwrap().body;
    let from = shown.find("http://localhost:").unwrap();
    let (shown, _) = shown[from..].split_once(['"', '\\']).unwrap();
    assert!(shown.contains("[secret:"), "{shown}");
    scene.endpoint.play(script(&[fetch(shown)], "done"));
    scene.chat(&message).answered();
    assert_eq!(asked(&web), [format!("/file?{}", KEYS[0])]);
}

#[test]
fn an_address_with_a_key_nobody_typed_is_asked_about() {
    let web = pages(&[("/", "the file")]);
    for key in KEYS {
        let url = format!("http://localhost:{}/file?{key}", web.port());
        let scene = obeying(&[fetch(&url)], "done");
        scene
            .chat(&format!("Look at http://localhost:{}/", web.port()))
            .answered();
        let told = told(&scene).remove(0);
        assert!(
            told.contains("looks like a key") && told.contains("needs the owner's yes"),
            "{told}"
        );
    }
    assert_eq!(asked(&web), [""; 0]);
}
