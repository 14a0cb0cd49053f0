//! Arguments against their schema.

use chela_core::suggest::nearest;
use serde_json::{Map, Value, json};

use super::model_schema::{ALIASES, CHIEF};

/// What is wrong with an argument, and what a good call looks like.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentComplaint {
    /// The argument, such as `edits[0].oldText`.
    argument: String,
    problem: String,
    example: Value,
}

impl ArgumentComplaint {
    /// Written for the model that made the call.
    pub fn to_text(&self, tool: &str) -> String {
        format!(
            "{tool}: argument `{}` {}. Example of a valid call: {}",
            self.argument, self.problem, self.example
        )
    }
}

/// Checks arguments against the schema of a tool and gives them back as the schema wants them.
pub fn check(
    parameters: &Value,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>, ArgumentComplaint> {
    object(parameters, arguments, "").map_err(|(argument, problem)| ArgumentComplaint {
        example: example_with(parameters, &argument),
        argument,
        problem,
    })
}

type Problem = (String, String);

fn object(
    schema: &Value,
    given: &Map<String, Value>,
    at: &str,
) -> Result<Map<String, Value>, Problem> {
    let properties = schema["properties"].as_object();
    let mut fitted = Map::new();
    for (name, value) in given {
        let name = own_name(name, given, properties);
        let path = join(at, name);
        let known = properties.and_then(|all| all.get(name));
        match (known, &schema["additionalProperties"]) {
            // Models say `null` for what they leave out.
            (Some(_), _) if value.is_null() => {}
            (Some(inner), _) => {
                fitted.insert(name.to_owned(), fit(inner, value, &path)?);
            }
            (None, Value::Bool(false)) => {
                return Err((path, unknown(name, properties)));
            }
            (None, extra @ Value::Object(_)) => {
                fitted.insert(name.to_owned(), fit(extra, value, &path)?);
            }
            (None, _) => {
                fitted.insert(name.to_owned(), value.clone());
            }
        }
    }
    let required = schema["required"].as_array();
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fitted.contains_key(name) {
            let wanted = properties
                .and_then(|all| all.get(name))
                .map_or_else(String::new, |inner| format!(": expected {}", wanted(inner)));
            return Err((join(at, name), format!("is missing{wanted}")));
        }
    }
    Ok(fitted)
}

/// The argument that is meant by a name: another name of it counts where it is not there itself.
fn own_name<'n>(
    given: &'n str,
    all: &Map<String, Value>,
    properties: Option<&'n Map<String, Value>>,
) -> &'n str {
    let is_alias = |schema: &Value| {
        let mut aliases = schema[ALIASES].as_array().into_iter().flatten();
        aliases.any(|alias| alias == given)
    };
    let Some(properties) = properties.filter(|known| !known.contains_key(given)) else {
        return given;
    };
    properties
        .iter()
        .find(|(name, schema)| is_alias(schema) && !all.contains_key(*name))
        .map_or(given, |(name, _)| name)
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let names: Vec<&str> = properties
        .into_iter()
        .flat_map(|all| all.keys().map(String::as_str))
        .collect();
    match (nearest(name, names.iter().copied()), names.is_empty()) {
        (Some(near), _) => format!("does not exist (did you mean `{near}`?)"),
        (None, true) => "does not exist; the tool takes no arguments".to_owned(),
        (None, false) => format!("does not exist; the arguments are {}", names.join(", ")),
    }
}

fn fit(schema: &Value, value: &Value, at: &str) -> Result<Value, Problem> {
    let fitted = match schema["type"].as_str() {
        Some("string") => text(value),
        Some("integer") => integer(value),
        Some("number") => number(value),
        Some("boolean") => flag(value),
        Some("array") => return list(schema, value, at),
        Some("object") => match parsed(value) {
            Some(Value::Object(inner)) => return object(schema, &inner, at).map(Value::Object),
            _ => None,
        },
        _ => Some(value.clone()),
    };
    fitted.filter(|value| within(schema, value)).ok_or_else(|| {
        let problem = format!("is {}; expected {}", shown(value), wanted(schema));
        (at.to_owned(), problem)
    })
}

fn list(schema: &Value, value: &Value, at: &str) -> Result<Value, Problem> {
    let items = match parsed(value) {
        Some(Value::Array(items)) => items,
        // One thing where a list of such things is wanted.
        _ if value.is_string() => vec![value.clone()],
        _ => {
            let problem = format!("is {}; expected {}", shown(value), wanted(schema));
            return Err((at.to_owned(), problem));
        }
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| fit(&schema["items"], item, &format!("{at}[{index}]")))
        .collect::<Result<_, _>>()
        .map(Value::Array)
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<Value> {
    let whole = |number: f64| {
        (number.fract() == 0.0 && number.abs() < 9e15).then_some(Value::from(number as i64))
    };
    match value {
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(value.clone()),
        Value::Number(number) => number.as_f64().and_then(whole),
        Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from),
        _ => None,
    }
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Some(number.into()),
            _ => None,
        },
        _ => None,
    }
}

fn flag(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => match text.trim() {
            "true" => Some(true.into()),
            "false" => Some(false.into()),
            _ => None,
        },
        _ => None,
    }
}

/// A list or object, also when it came as JSON in a string.
fn parsed(value: &Value) -> Option<Value> {
    match value {
        Value::Array(_) | Value::Object(_) => Some(value.clone()),
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => {
            serde_json::from_str(text).ok()
        }
        _ => None,
    }
}

fn within(schema: &Value, value: &Value) -> bool {
    let least = schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY);
    let most = schema["maximum"].as_f64().unwrap_or(f64::INFINITY);
    let words = schema["enum"].as_array();
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|number| (least..=most).contains(&number)),
        Value::String(text) => {
            words.is_none_or(|words| words.iter().any(|word| word == text))
                && (schema["minLength"].is_null() || !text.is_empty())
        }
        _ => true,
    }
}

/// What the schema wants, in words.
fn wanted(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    let limits = match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        (None, Some(most)) => format!(", {most} or less"),
        (None, None) => String::new(),
    };
    match schema["type"].as_str() {
        Some("string") if !schema["minLength"].is_null() => "text that is not empty".to_owned(),
        Some("string") => "text".to_owned(),
        Some("integer") => format!("a whole number{limits}"),
        Some("number") => format!("a number{limits}"),
        Some("boolean") => "true or false".to_owned(),
        Some("array") => format!("a list of {}", plural(&schema["items"])),
        _ => "an object".to_owned(),
    }
}

fn plural(items: &Value) -> &'static str {
    match items["type"].as_str() {
        Some("string") => "texts",
        Some("integer" | "number") => "numbers",
        _ => "objects",
    }
}

/// What was given, short enough to quote.
fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let mut text = value.to_string();
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The smallest valid call that shows the argument at fault.
fn example_with(parameters: &Value, argument: &str) -> Value {
    let mut call = example(parameters);
    let name = argument.split(['.', '[']).next().unwrap_or(argument);
    if let Some(schema) = parameters["properties"].get(name)
        && call.get(name).is_none()
        && let Value::Object(call) = &mut call
    {
        call.insert(name.to_owned(), example(schema));
    }
    call
}

/// The smallest valid call.
fn example(schema: &Value) -> Value {
    if let Some(first) = schema["examples"].get(0).or(schema["enum"].get(0)) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => schema["minimum"].as_i64().unwrap_or(1).into(),
        Some("boolean") => true.into(),
        Some("array") => json!([example(&schema["items"])]),
        Some("object") => {
            let properties = &schema["properties"];
            let required = schema["required"].as_array().into_iter().flatten();
            // A tool that requires nothing still has one argument it is called with.
            let all = properties.as_object().into_iter().flatten();
            let chief = all.filter(|(_, own)| own[CHIEF] == true);
            let names = required.filter_map(Value::as_str);
            let names = names.chain(chief.map(|(name, _)| name.as_str()));
            let pairs = names.map(|name| {
                let value = example(properties.get(name).unwrap_or(&Value::Null));
                (name.to_owned(), value)
            });
            Value::Object(pairs.collect())
        }
        _ => "…".into(),
    }
}

fn join(at: &str, name: &str) -> String {
    match at {
        "" => name.to_owned(),
        _ => format!("{at}.{name}"),
    }
}
