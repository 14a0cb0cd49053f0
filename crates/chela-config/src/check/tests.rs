use proptest::prelude::*;
use serde_json::{Value, json};

use super::{check, prune};
use crate::migrate::migrate;
use crate::model::Config;
use crate::node::{ConfigNode, NodeSpan};
use crate::shape::{FieldShape, HasShape, ObjectShape, ValueShape};

fn told(value: &Value) -> Vec<String> {
    check(&ConfigNode::from_json(value, NodeSpan::default()))
        .findings
        .into_iter()
        .map(|finding| finding.strict(None).to_string())
        .collect()
}

#[test]
fn unknown_keys_are_named_with_what_was_meant() {
    assert_eq!(
        told(&json!({ "agents": { "lst": [] } })),
        ["agents.lst: unknown key (did you mean `agents.list`?)"]
    );
    assert_eq!(
        told(&json!({ "agents": { "bootstrapMaxChars": 1 } })),
        [
            "agents.bootstrapMaxChars: unknown key (there is a key of this name at `agents.defaults.bootstrapMaxChars`)"
        ]
    );
    assert_eq!(told(&json!({ "zebra": 1 })), ["zebra: unknown key"]);
}

#[test]
fn choices_are_explained_by_the_branch_that_was_meant() {
    let told = |model: Value| told(&json!({ "agents": { "defaults": { "model": model } } }));
    assert_eq!(
        told(json!(5)),
        ["agents.defaults.model: is a number, expected text, or an object"]
    );
    assert_eq!(
        told(json!({ "primary": "a/b", "fallbacks": "c/d" })),
        ["agents.defaults.model.fallbacks: is a string, expected a list of text"]
    );
    assert_eq!(
        told(json!({ "primry": "a/b" })),
        [
            "agents.defaults.model.primry: unknown key (did you mean `agents.defaults.model.primary`?)"
        ]
    );
    assert_eq!(
        self::told(&json!({ "commands": { "native": "maybe" } })),
        ["commands.native: is `maybe`, expected true or false, or `auto`"]
    );
}

#[test]
fn keys_for_all_agents_are_refused_for_one() {
    for key in [
        "imageModel",
        "thinkingDefault",
        "verboseDefault",
        "elevatedDefault",
        "contextTokens",
        "timeoutSeconds",
        "maxConcurrent",
        "skipBootstrap",
    ] {
        let config = json!({ "agents": { "list": [{ "id": "a", key: 1 }] } });
        assert_eq!(
            told(&config),
            [format!(
                "agents.list[0].{key}: applies to all agents and cannot be set for one (set \
                    `agents.defaults.{key}` instead)"
            )]
        );
    }
    let thinking =
        json!({ "agents": { "list": [{ "id": "a", "subagents": { "thinking": "low" } }] } });
    assert_eq!(told(&thinking).len(), 1);
    assert!(told(&thinking)[0].contains("`agents.defaults.subagents.thinking`"));
}

#[test]
fn a_required_key_takes_its_object_with_it() {
    let mut root = ConfigNode::from_json(
        &json!({ "bindings": [{ "match": { "channel": "x" } }, { "agentId": "a", "match": { "channel": 5 } }, { "agentId": "a", "match": { "channel": "y" } }] }),
        NodeSpan::default(),
    );
    let checked = check(&root);
    prune(&mut root, &checked.drops);
    assert_eq!(
        root.to_json(),
        json!({ "bindings": [{ "agentId": "a", "match": { "channel": "y" } }] })
    );
}

#[test]
fn room_for_others_and_remarks_is_left_alone() {
    let config = json!({ "x-mine": { "a": 1 }, "_comment": "hi", "agents": { "//": 1, "defaults": { "x-y": [] } } });
    assert!(told(&config).is_empty());
}

/// Values that look like configs: known keys with values of any kind.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z/0-9:${} ]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "30m", "auto", "off", "main", "always", "10mb", "08:00", "deny"
        ])
        .prop_map(Value::from),
    ];
    let keys = prop::sample::select(every_key());
    leaf.prop_recursive(6, 80, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A value made along the shape, wrong here and there.
fn shaped(shape: &'static ValueShape, depth: u32) -> BoxedStrategy<Value> {
    let right = match shape {
        ValueShape::Object(object) if depth > 0 => object_value(object, depth).boxed(),
        ValueShape::List(item) if depth > 0 => prop::collection::vec(shaped(item, depth - 1), 0..3)
            .prop_map(Value::from)
            .boxed(),
        ValueShape::Map(entry) if depth > 0 => {
            prop::collection::vec(("[a-z]{1,4}", shaped(entry, depth - 1)), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect()))
                .boxed()
        }
        ValueShape::OneOf(branches) => {
            let branches: Vec<_> = branches
                .iter()
                .map(|branch| shaped(branch, depth))
                .collect();
            proptest::strategy::Union::new(branches).boxed()
        }
        ValueShape::Secret(inner) => shaped(inner, depth),
        ValueShape::Words(words) => {
            let texts: Vec<&str> = words.words.iter().map(|word| word.text).collect();
            prop::sample::select(texts).prop_map(Value::from).boxed()
        }
        ValueShape::Bool => any::<bool>().prop_map(Value::from).boxed(),
        ValueShape::Whole { .. } | ValueShape::Number => {
            (0..100_000i64).prop_map(Value::from).boxed()
        }
        _ => "[a-z0-9]{0,6}".prop_map(Value::from).boxed(),
    };
    prop_oneof![9 => right, 1 => anything_small()].boxed()
}

fn anything_small() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!("")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(true)),
        Just(json!([null, {}, "x", 3])),
    ]
}

fn object_value(object: &'static ObjectShape, depth: u32) -> impl Strategy<Value = Value> + use<> {
    let fields: Vec<&'static FieldShape> = object.fields.iter().collect();
    let members = prop::sample::subsequence(fields, 0..=object.fields.len().min(4)).prop_flat_map(
        move |fields| {
            fields
                .into_iter()
                .map(|field| (Just(field.key.to_owned()), shaped(field.shape, depth - 1)))
                .collect::<Vec<_>>()
        },
    );
    members.prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn every_key() -> Vec<String> {
    let mut keys = vec![
        "agent".to_owned(),
        "routing".into(),
        "identity".into(),
        "entries".into(),
        "*".into(),
        "telegram".into(),
    ];
    let mut open = vec![Config::SHAPE];
    while let Some(shape) = open.pop() {
        match shape {
            ValueShape::Object(object) => {
                for field in object.fields {
                    keys.push(field.key.to_owned());
                    open.push(field.shape);
                }
            }
            ValueShape::List(inner) | ValueShape::Map(inner) | ValueShape::Secret(inner) => {
                open.push(inner)
            }
            ValueShape::OneOf(branches) => open.extend(branches.iter()),
            _ => {}
        }
    }
    keys.sort();
    keys.dedup();
    keys
}

/// What a start does; the result must always be readable, and clean the second time.
fn survives(value: &Value) {
    let mut root = ConfigNode::from_json(value, NodeSpan::default());
    migrate(&mut root);
    let checked = check(&root);
    prune(&mut root, &checked.drops);
    if let Err(error) = root.read::<Config>() {
        panic!("{error} in {}", root.to_json());
    }
    let again = check(&root);
    assert!(
        again.drops.is_empty(),
        "{:?} in {}",
        again.drops,
        root.to_json()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_is_left_can_be_read(value in anything()) {
        survives(&value);
    }

    #[test]
    fn whatever_is_left_of_a_likely_config_can_be_read(value in shaped(Config::SHAPE, 6)) {
        survives(&value);
    }
}
