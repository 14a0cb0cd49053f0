//! Keys and signatures of ssh: no bytes make the readers crash, and a key that is read is written
//! the same way again.

#![no_main]

use chela_skills::{PublicKey, TrustedPublishers, SecretKey, verify_list};
use libfuzzer_sys::fuzz_target;

/// Base64, so that the bytes behind it are reached.
fn encoded(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let at = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            let value = (bits >> (18 - 6 * letter)) & 63;
            text.push(match letter <= three.len() {
                true => char::from(LETTERS[value as usize]),
                false => '=',
            });
        }
    }
    text
}

fn armored(bytes: &[u8], what: &str) -> String {
    let mut text = format!("-----BEGIN {what}-----\n");
    for line in encoded(bytes).as_bytes().chunks(70) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + &format!("-----END {what}-----\n")
}

fuzz_target!(|input: (&str, &[u8])| {
    let (text, bytes) = input;
    let _ = verify_list(text, text);
    let _ = SecretKey::parse(text);
    let _ = TrustedPublishers::parse(&[text.to_owned()]);
    for line in [
        text.to_owned(),
        format!("ssh-ed25519 {} {text}", encoded(bytes)),
    ] {
        if let Ok(key) = PublicKey::parse(&line) {
            let again = PublicKey::parse(&key.to_string());
            assert!(again.is_ok_and(|again| again.is_same(&key)));
        }
    }
    let _ = SecretKey::parse(&armored(bytes, "OPENSSH PRIVATE KEY"));
    let with_magic = |magic: &[u8]| [magic, bytes].concat();
    let _ = SecretKey::parse(&armored(
        &with_magic(b"openssh-key-v1\0"),
        "OPENSSH PRIVATE KEY",
    ));
    let signature = armored(&with_magic(b"SSHSIG\0\0\0\x01"), "SSH SIGNATURE");
    let _ = verify_list(text, &signature);
});
