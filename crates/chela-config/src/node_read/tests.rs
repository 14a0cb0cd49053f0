use serde_json::json;

use super::*;
use crate::model::{
    Config, DurationText, IdText, MemorySource, OneOrMany, OrAuto, OrOff, SecretSetting,
};
use crate::shape::{CamelKey, HasShape};

fn read<T: FromNode>(value: &Value) -> Result<T, String> {
    read_json(value).map_err(|error: ReadError| error.to_string())
}

#[test]
fn keys_are_found_by_their_names_in_the_file() {
    let config: Config = read(&json!({
        "$schema": "x",
        "memory": { "search": { "extraPaths": ["a", { "path": "b" }], "sources": ["sessions"] } },
        "gateway": { "port": 80 },
    }))
    .unwrap();
    assert_eq!(config.schema.as_deref(), Some("x"));
    let search = config.memory.search.unwrap();
    assert_eq!(search.sources, Some(vec![MemorySource::Sessions]));
    assert_eq!(search.extra_paths.len(), 2);
    assert!(search.enabled, "a key that is not set has its default");
    assert_eq!(CamelKey::new("max_spawn_depth").as_str(), "maxSpawnDepth");
    assert_eq!(CamelKey::new("a").as_str(), "a");
}

#[test]
fn every_key_of_the_shape_is_read_into_the_field_of_its_name() {
    // Fields are handed out by their order, so one that was skipped would shift all after it.
    let ValueShape::Object(object) = Config::SHAPE else {
        panic!("the config is an object");
    };
    let default = format!("{:#?}", Config::default());
    for field in object
        .fields
        .iter()
        .filter(|field| field.shape.as_object().is_none())
    {
        let ValueShape::Map(_) = field.shape else {
            continue;
        };
        let read: Config = read(&json!({ field.key: { "x": {} } })).unwrap();
        let shown = format!("{read:#?}");
        let changed = shown
            .lines()
            .zip(default.lines())
            .find(|(now, before)| now != before)
            .map(|(now, _)| now.trim().to_owned());
        let name = changed.unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        assert_eq!(CamelKey::new(name).as_str(), field.key);
    }
}

#[test]
fn null_means_not_set_everywhere() {
    let config: Config = read(&json!({
        "gateway": null,
        "memory": { "search": null },
        "meta": { "lastTouchedVersion": null, "mine": { "a": null, "b": [null] }, "no": null },
    }))
    .unwrap();
    assert_eq!(config.gateway, Config::default().gateway);
    assert_eq!(config.memory.search, None);
    assert_eq!(
        Value::Object(config.meta.other),
        json!({ "mine": { "b": [null] } })
    );
}

#[test]
fn what_has_two_forms_is_read_in_the_first_that_fits() {
    assert_eq!(read(&json!("5m")), Ok(DurationText::from("5m")));
    assert_eq!(read(&json!(5)), Ok(DurationText::Number(5.0)));
    assert_eq!(read(&json!(-5)), Ok(IdText("-5".into())));
    assert_eq!(read(&json!(u64::MAX)), Ok(IdText(u64::MAX.to_string())));
    assert!(read::<IdText>(&json!(1.5)).is_err());
    assert_eq!(
        read(&json!(false)),
        Ok(OrOff::<u64>::Off(crate::model::FalseLiteral))
    );
    assert_eq!(read(&json!(3)), Ok(OrOff::<u64>::On(3)));
    assert!(read::<OrOff<u64>>(&json!(true)).is_err());
    assert_eq!(
        read(&json!("auto")),
        Ok(OrAuto::<bool>::Auto(crate::model::AutoLiteral::Auto))
    );
    assert_eq!(
        read(&json!(["a"])),
        Ok(OneOrMany::Many(vec!["a".to_owned()]))
    );
    let secret: SecretSetting = read(&json!({ "source": "env", "id": "KEY" })).unwrap();
    assert!(matches!(secret, SecretSetting::Reference(reference) if reference.id == "KEY"));
}

#[test]
fn a_word_in_another_file_is_read_and_written_as_in_the_config() {
    let written = serde_json::to_string(&MemorySource::Sessions).unwrap();
    assert_eq!(written, r#""sessions""#);
    assert_eq!(
        serde_json::from_str::<MemorySource>(&written).unwrap(),
        MemorySource::Sessions
    );
    let error = serde_json::from_str::<MemorySource>(r#""all""#).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown variant `all`, expected `memory` or `sessions` at line 1 column 5"
    );
}

#[test]
fn a_value_of_another_kind_is_refused_and_not_shown() {
    assert_eq!(
        read::<u8>(&json!(256)),
        Err("a number where a whole number (u8) is expected".into())
    );
    assert_eq!(
        read::<u64>(&json!(-1)),
        Err("a number where a whole number (u64) is expected".into())
    );
    assert_eq!(
        read::<String>(&json!(1)),
        Err("a number where a string is expected".into())
    );
    assert_eq!(
        read::<MemorySource>(&json!("s3cr3t")),
        Err("a string where one of some words is expected".into())
    );
    assert_eq!(
        read::<Config>(&json!({ "gateway": [] })).map(drop),
        Err("a list where an object is expected".into())
    );
}
