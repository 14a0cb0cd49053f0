use proptest::prelude::*;

use super::shape::tests_table;
use super::{KnownBy, KnownSecret, Redactor, SecretForm};
use crate::{Entropy, FixedEntropy};

/// Letters that look random; nothing here is written out, so that no scanner takes this file for
/// a leak.
fn letters(alphabet: &str, count: usize, seed: u64) -> String {
    let mut bytes = vec![0; count];
    FixedEntropy(seed * 7919 + 13).fill(&mut bytes);
    let all: Vec<char> = alphabet.chars().collect();
    bytes
        .iter()
        .enumerate()
        // Every third a digit, so that no token is without.
        .map(|(at, byte)| match at % 3 {
            0 => char::from(b'0' + byte % 10),
            _ => all[usize::from(*byte) % all.len()],
        })
        .collect()
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// One of each kind that has a shape of its own.
fn specials() -> Vec<(&'static str, String)> {
    let body = |count, seed| letters(ALNUM, count, seed);
    let begin = "-----BEGIN";
    vec![
        (
            "web-token",
            format!("eyJ{}.eyJ{}.{}", body(20, 1), body(30, 2), body(43, 3)),
        ),
        (
            "telegram-token",
            format!("{}:AA{}", "123456789", body(33, 4)),
        ),
        (
            "discord-token",
            format!("M{}.{}.{}", body(23, 5), body(6, 6), body(38, 7)),
        ),
        (
            "private-key",
            format!(
                "{begin} OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----",
                body(70, 8)
            ),
        ),
    ]
}

#[test]
fn every_shape_of_the_table_is_found_whole() {
    let redactor = Redactor::default();
    let mut tokens: Vec<(&str, String)> = tests_table()
        .into_iter()
        .enumerate()
        .map(|(at, (kind, start, alphabet, least))| {
            let body = letters(alphabet, least, at as u64 + 1);
            (kind, format!("{start}{body}"))
        })
        .collect();
    tokens.extend(specials());
    assert!(tokens.len() > 90);
    for (kind, token) in &tokens {
        let stand_in = format!("[secret:{kind}]");
        for (text, clean) in [
            (token.clone(), stand_in.clone()),
            (format!("see {token}."), format!("see {stand_in}.")),
            (format!("a\n{token}\nb"), format!("a\n{stand_in}\nb")),
            (format!("({token})"), format!("({stand_in})")),
        ] {
            assert_eq!(redactor.redact(&text), clean, "{kind}");
        }
        let json = SecretForm::Json.write(&format!("x\n{token}\n"));
        assert_eq!(
            redactor.redact(&json),
            format!("x\\n{stand_in}\\n"),
            "{kind} in JSON"
        );
        let inside = format!("word{token}");
        if !token.starts_with(['-', '/']) && *kind != "slack-webhook" && *kind != "telegram-token" {
            assert!(!redactor.redact(&inside).contains("word[secret"), "{kind}");
        }
    }
}

#[test]
fn values_with_telling_names_are_found() {
    let redactor = Redactor::default();
    let value = letters(ALNUM, 24, 77);
    for text in [
        format!("OPENAI_API_KEY={value}"),
        format!("export DB_PASSWORD='{value}'"),
        format!("\"clientSecret\": \"{value}\","),
        format!("{{\\\"apiKey\\\": \\\"{value}\\\"}}"),
        format!("aws_secret_access_key = {value}"),
        format!("**Password:** `{value}`"),
        format!("Authorization: Bearer {value}"),
        format!("curl -H 'authorization: Basic {value}=='"),
        format!("https://api.example.org/?access_token={value}&x=1"),
        format!("postgres://app:{value}@db.internal:5432/app"),
        format!("AccountKey={value}=="),
        "password: hunter2".to_owned(),
    ] {
        let clean = redactor.redact(&text);
        assert!(clean.contains("[secret:"), "{text} -> {clean}");
        assert!(!clean.contains(&value) && !clean.contains("hunter2"));
        assert_eq!(redactor.redact(&clean), clean, "twice is once");
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    let redactor = Redactor::default();
    for text in [
        "password: ask the owner",
        "let token = next_token(input)?;",
        "api_key = config.providers.openai.api_key",
        "const API_KEY: &str = \"OPENAI_API_KEY\";",
        "The key: value pairs, the token: a word.",
        "cache_key=3f2a4c0012345678abcdef",
        "nextPageToken: CAUQAA1234567890",
        "session_key = agent:main:telegram:group:123456789",
        "export OPENAI_API_KEY=$(pass show openai)",
        "OPENAI_API_KEY=your-key-goes-here-123",
        "git clone https://github.com/user/project.git@v1.2.3",
        "postgres://user:password@localhost/db",
        "version 1.23456.789 at 10:30:00, task-12345678901234567890123456789012",
        "SK1234 is a flight, AKIA is a name, ghp_ is a beginning.",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "basic authentication is not enough; bearer tokens are",
        "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
    for source in [
        include_str!("../sanitize.rs"),
        include_str!("../session_key.rs"),
        include_str!("../secret.rs"),
        include_str!("assigned.rs"),
        include_str!("../../../../docs/ARCHITECTURE.md"),
        include_str!("../../../../Cargo.toml"),
    ] {
        let hits = redactor.find(source.as_bytes());
        let shown: Vec<&str> = hits.iter().map(|hit| &source[hit.range.clone()]).collect();
        assert!(hits.is_empty(), "{shown:?}");
    }
}

fn secret(name: &str, value: &str) -> KnownSecret {
    KnownSecret {
        name: name.into(),
        value: value.into(),
    }
}

#[test]
fn the_same_value_has_the_same_digits_and_another_key_other_ones() {
    let redactor = |key: &str| {
        let known = vec![secret("models.providers.kit.apiKey", "correct horse 7")];
        Redactor::new(Some(key.to_owned()), known)
    };
    let one = redactor("one");
    let clean = one.redact("correct horse 7").into_owned();
    assert!(clean.starts_with("[secret:models.providers.kit.apiKey:"));
    let reversed: String = "correct horse 7".chars().rev().collect();
    assert_eq!(one.redact(&reversed), clean, "whatever the form");
    assert_eq!(one.redact(&clean), clean);
    assert_ne!(redactor("two").redact("correct horse 7"), clean);
    assert_eq!(format!("{:?}", secret("a", "b")), "Secret(a)");
}

#[test]
fn what_is_learned_is_known_from_then_on() {
    let redactor = Redactor::default();
    assert_eq!(redactor.redact("tell swordfish-9"), "tell swordfish-9");
    redactor.learn(secret("vault", "swordfish-9"));
    redactor.learn(secret("vault", "swordfish-9"));
    assert_eq!(redactor.redact("tell swordfish-9"), "tell [secret:vault]");
    assert_eq!(redactor.value_of("vault").as_deref(), Some("swordfish-9"));
    // The part of a token around a known value is as secret as the value.
    let token = format!(
        "ghp_{}swordfish9{}",
        letters(ALNUM, 12, 3),
        letters(ALNUM, 16, 4)
    );
    redactor.learn(secret("inner", "swordfish9"));
    let clean = redactor.redact(&token).into_owned();
    assert_eq!(
        clean,
        "[secret:github-token][secret:inner][secret:github-token]"
    );
}

#[test]
fn values_are_found_in_every_form() {
    let value = "S3cret \"value\"/with+marks";
    let redactor = Redactor::new(None, vec![secret("v", value)]);
    for form in SecretForm::ALL {
        let text = format!("<<{}>>", form.write(value));
        let hits = redactor.find(text.as_bytes());
        assert_eq!(hits.len(), 1, "{form:?}: {text}");
        let KnownBy::Value(found) = hits[0].by else {
            panic!("by shape");
        };
        assert_eq!(found.write(value), text[hits[0].range.clone()]);
    }
}

#[test]
fn json_stays_json() {
    let redactor = Redactor::new(None, vec![secret("v", "nabcdefg"), secret("n", "12345678")]);
    let key = "-----BEGIN PRIVATE KEY-----\\nMIIEabc123\\";
    let text = format!(
        r#"{{"a":"x\nabcdefg","b":"{key}"","c":"password","password":"hunter22","n":12345678,"d":"nabcdefg"}}"#
    );
    let clean = redactor.redact_json(&text);
    assert_eq!(
        clean,
        r#"{"a":"x\nabcdefg","b":"[secret:private-key]\"","c":"password","password":"[secret:assigned]","n":12345678,"d":"[secret:v]"}"#
    );
}

proptest! {
    #[test]
    fn nothing_known_is_left_and_twice_is_once(
        before in "[ -~\n]{0,40}",
        value in "[A-Za-z0-9+/_\"\\\\-]{8,24}",
        after in "[ -~\n]{0,40}",
        form in 0..SecretForm::ALL.len(),
    ) {
        let redactor = Redactor::new(Some("k".into()), vec![secret("v", &value)]);
        let written = SecretForm::ALL[form].write(&value);
        let text = format!("{before}{written}{after}");
        let clean = redactor.redact(&text).into_owned();
        prop_assert!(!clean.contains(&value) || "[secret:v:".contains(&value));
        prop_assert!(!clean.contains(&written));
        prop_assert_eq!(redactor.redact(&clean), clean.clone());
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let redactor = Redactor::new(None, vec![secret("v", "abcdefgh1")]);
        let hits = redactor.find(&bytes);
        prop_assert!(hits.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        prop_assert!(hits.iter().all(|hit| hit.range.end <= bytes.len() && !hit.range.is_empty()));
    }

    #[test]
    fn text_stays_text(text in "(\\PC|ghp_|eyJ|://|password: |:AA|-----BEGIN PRIVATE KEY-----|\\.){0,30}") {
        let redactor = Redactor::default();
        let clean = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&clean).into_owned(), clean);
    }
}

#[test]
fn keys_in_addresses_are_hidden() {
    let value = letters(ALNUM, 24, 71);
    let redactor = Redactor::default();
    for address in [
        format!("https://a.example/v1?key={value}"),
        format!("https://a.example/v1?x=1&sig={value}"),
        format!("https://a.example/?access_token={value}"),
        format!("https://me:{value}@a.example/x"),
    ] {
        let clean = redactor.redact(&address);
        let stood =
            clean.contains("[secret:assigned]") || clean.contains("[secret:address-password]@");
        assert!(stood && !clean.contains(&value), "{clean}");
    }
    // An endpoint gets the signature of a thought back as it came.
    let signed = format!("{{\"signature\":\"{value}\"}}");
    assert_eq!(redactor.redact(&signed), signed);
}
