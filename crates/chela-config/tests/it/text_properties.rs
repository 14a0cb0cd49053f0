//! What holds for every text and every edit.

use chela_config::text;
use chela_config::text::edit::{merge_patch, replace_all, set, unset};
use chela_config::{FileId, KeyPath, PathSegment};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn read(source: &str) -> Value {
    let parsed = text::parse(source, FileId(0));
    match parsed.root {
        Some(root) => root.to_json(),
        None => panic!("does not parse: {:?}\n{source}", parsed.problems),
    }
}

/// The comments of a text, in order. Every comment made below is unique and says so.
fn comments(source: &str) -> Vec<&str> {
    let found = source.match_indices("#c").map(|(at, _)| {
        let digits = source[at + 2..]
            .bytes()
            .take_while(u8::is_ascii_digit)
            .count();
        &source[at..at + 2 + digits]
    });
    found.collect()
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-f]",
        1 => prop::sample::select(vec!["", "a b", "x-y", "ключ", "\"q\"", "it's", "$v", "0", "a/b.c"]).prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| serde_json::Number::from_f64(number)
            .map(Value::Number)),
        "[ !\"$-~é\n\r\t\u{0}\u{2028}\u{feff}😀]{0,12}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    prop::collection::vec((key(), value()), 0..5)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

/// Where the text of a value gets its looks from; a stream of small choices.
struct Looks {
    choices: Vec<u8>,
    next: usize,
    comments: usize,
    newline: &'static str,
}

impl Looks {
    fn choose(&mut self, of: u8) -> u8 {
        self.next += 1;
        self.choices[self.next % self.choices.len()]
            .wrapping_add((self.next / self.choices.len()) as u8)
            % of
    }

    /// White space and comments, as wild as they come.
    fn gap(&mut self, out: &mut String) {
        for _ in 0..self.choose(3) {
            match self.choose(7) {
                0 => out.push(' '),
                1 => out.push_str("\t "),
                2 | 3 => out.push_str(self.newline),
                4 => {
                    self.comments += 1;
                    out.push_str(&format!("/*#c{} */", self.comments));
                }
                5 => {
                    self.comments += 1;
                    out.push_str(&format!("/* #c{}{} */", self.comments, self.newline));
                }
                _ => {
                    self.comments += 1;
                    out.push_str(&format!("// #c{}{}", self.comments, self.newline));
                }
            }
        }
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let quote = if self.choose(2) == 0 { '"' } else { '\'' };
        let json = Value::from(text).to_string();
        let inner = &json[1..json.len() - 1];
        let inner = if quote == '\'' {
            inner.replace("\\\"", "\"").replace('\'', "\\'")
        } else {
            inner.to_owned()
        };
        out.push(quote);
        out.push_str(&inner);
        out.push(quote);
    }

    fn key(&mut self, key: &str, out: &mut String) {
        let plain = !key.is_empty() && key.chars().all(|c| c.is_alphabetic());
        if plain && self.choose(2) == 0 {
            out.push_str(key)
        } else {
            self.text(key, out)
        }
    }

    fn write(&mut self, value: &Value, out: &mut String) {
        match value {
            Value::String(text) => self.text(text, out),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.gap(out);
                    self.write(item, out);
                    self.gap(out);
                    self.comma(index + 1 == items.len(), out);
                }
                self.gap(out);
                out.push(']');
            }
            Value::Object(map) => {
                out.push('{');
                for (index, (key, item)) in map.iter().enumerate() {
                    self.gap(out);
                    if self.choose(8) == 0 {
                        // The same key before; it does not count.
                        self.key(key, out);
                        out.push_str(": [0],");
                        self.gap(out);
                    }
                    self.key(key, out);
                    self.gap(out);
                    out.push(':');
                    self.gap(out);
                    self.write(item, out);
                    self.gap(out);
                    self.comma(index + 1 == map.len(), out);
                }
                self.gap(out);
                out.push('}');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }

    fn comma(&mut self, last: bool, out: &mut String) {
        if !last || self.choose(2) == 0 {
            out.push(',');
        }
    }
}

/// A config and some way to write it down.
fn document() -> impl Strategy<Value = (Value, String)> {
    let looks = (prop::collection::vec(any::<u8>(), 1..200), any::<bool>());
    (object(), looks).prop_map(|(value, (choices, crlf))| {
        let newline = if crlf { "\r\n" } else { "\n" };
        let mut looks = Looks {
            choices,
            next: 0,
            comments: 0,
            newline,
        };
        let mut source = String::new();
        looks.gap(&mut source);
        looks.write(&value, &mut source);
        looks.gap(&mut source);
        (value, source)
    })
}

/// Paths to everything in a value.
fn paths(value: &Value, here: &KeyPath, all: &mut Vec<KeyPath>) {
    all.push(here.clone());
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| paths(item, &here.index(at), all)),
        Value::Object(map) => map
            .iter()
            .for_each(|(key, item)| paths(item, &here.key(key.as_str()), all)),
        _ => {}
    }
}

fn some_path(value: &Value, pick: usize) -> KeyPath {
    let mut all = Vec::new();
    paths(value, &KeyPath::root(), &mut all);
    all.swap_remove(pick % all.len())
}

fn at<'v>(value: &'v mut Value, path: &KeyPath) -> &'v mut Value {
    path.segments()
        .iter()
        .fold(value, |value, segment| match segment {
            PathSegment::Key(key) => value.get_mut(key).unwrap(),
            PathSegment::Index(index) => value.get_mut(*index).unwrap(),
        })
}

fn is_subsequence(part: &[&str], whole: &[&str]) -> bool {
    let mut whole = whole.iter();
    part.iter()
        .all(|comment| whole.any(|other| other == comment))
}

/// The reference: RFC 7396, as its pseudo code has it.
fn patched(target: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return patch.clone();
    };
    let mut map = match target {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (key, change) in changes {
        match map.shift_remove(key) {
            _ if change.is_null() => {}
            old => {
                map.insert(key.clone(), patched(old.unwrap_or(Value::Null), change));
            }
        }
    }
    Value::Object(map)
}

proptest! {
    #[test]
    fn what_is_written_is_read((value, source) in document()) {
        prop_assert_eq!(read(&source), value);
    }

    #[test]
    fn any_text_is_survived(source in "[\\[\\]{}:,\"'/*\\\\a-c0-9.+\\-eux$\\n\\r \u{2028}é]{0,60}") {
        let parsed = text::parse(&source, FileId(0));
        prop_assert!(parsed.root.is_some() || !parsed.problems.is_empty());
        prop_assert!(parsed.problems.iter().all(|problem| source.is_char_boundary(problem.at)));
        let _ = set(&source, &KeyPath::root().key("a"), &Value::Null);
    }

    #[test]
    fn setting_gives_the_value_and_leaves_the_rest(
        (value, source) in document(), pick in any::<usize>(), new in value(),
    ) {
        let path = some_path(&value, pick);
        if path.is_root() {
            return Ok(());
        }
        let edited = set(&source, &path, &new).unwrap();
        let mut want = value.clone();
        let old = std::mem::replace(at(&mut want, &path), new);
        prop_assert_eq!(read(&edited), want);
        prop_assert!(is_subsequence(&comments(&edited), &comments(&source)));
        if old.is_null() || !(old.is_object() || old.is_array()) {
            prop_assert_eq!(comments(&edited), comments(&source), "{}\n-----\n{}", source, edited);
        }
        // And back again.
        let restored = set(&edited, &path, &old).unwrap();
        prop_assert_eq!(read(&restored), value);
        prop_assert_eq!(set(&edited, &path, at(&mut read(&edited), &path)).unwrap(), edited);
    }

    #[test]
    fn new_keys_come_without_disturbing_anything(
        (value, source) in document(), pick in any::<usize>(), new in value(),
    ) {
        let path = some_path(&value, pick);
        let mut want = value.clone();
        let inner = match at(&mut want, &path) {
            Value::Object(map) => {
                map.insert("brandNew".into(), new.clone());
                path.key("brandNew")
            }
            Value::Array(items) => {
                items.push(new.clone());
                path.index(items.len() - 1)
            }
            _ => return Ok(()),
        };
        let edited = set(&source, &inner, &new).unwrap();
        prop_assert_eq!(read(&edited), want);
        prop_assert_eq!(comments(&edited), comments(&source), "{}\n-----\n{}", source, edited);
        // Taking it away again gives the old content, and keeps every comment still.
        let (back, _) = unset(&edited, &inner).unwrap();
        prop_assert_eq!(read(&back), value);
    }

    #[test]
    fn unsetting_removes_one_thing((value, source) in document(), pick in any::<usize>()) {
        let path = some_path(&value, pick);
        let Some((outer, last)) = path.split_last() else { return Ok(()) };
        let (edited, _) = unset(&source, &path).unwrap();
        let mut want = value.clone();
        match (at(&mut want, &outer), last) {
            (Value::Object(map), PathSegment::Key(key)) => { map.shift_remove(key); }
            (Value::Array(items), PathSegment::Index(index)) => { items.remove(*index); }
            _ => unreachable!(),
        }
        prop_assert_eq!(read(&edited), want);
        prop_assert!(is_subsequence(&comments(&edited), &comments(&source)));
    }

    #[test]
    fn patches_follow_the_standard((value, source) in document(), patch in object()) {
        let edited = merge_patch(&source, &KeyPath::root(), &patch).unwrap();
        prop_assert_eq!(read(&edited), patched(value, &patch));
        prop_assert!(is_subsequence(&comments(&edited), &comments(&source)));
    }

    #[test]
    fn everything_can_be_replaced((_, source) in document(), new in object()) {
        let edited = replace_all(&source, &new).unwrap();
        prop_assert_eq!(read(&edited), new);
        prop_assert!(is_subsequence(&comments(&edited), &comments(&source)));
    }
}
