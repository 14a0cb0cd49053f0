//! Values with a form of their own: durations, sizes, times, colours.

use crate::model::{BareUnit, parse_bytes, parse_duration, parse_time_of_day};
use crate::node::{ConfigNode, NodeKind};
use crate::shape::TextForm;

/// What is wrong with a value of the right kind.
pub fn form_problem(form: TextForm, node: &ConfigNode) -> Option<String> {
    let negative =
        matches!(&node.kind, NodeKind::Number(number) if number.as_f64().is_some_and(|n| n < 0.0));
    let text = node.as_str();
    let (good, what) = match form {
        TextForm::Duration => (
            !negative && text.is_none_or(|text| parse_duration(text, BareUnit::Minutes).is_some()),
            "a duration: write `30m`, `1h30m`, `45s`, `500ms` or `7d`",
        ),
        TextForm::ByteSize => (
            !negative
                && text.is_none_or(|text| parse_bytes(text).is_some())
                && !matches!(&node.kind, NodeKind::Number(number) if number.as_u64().is_none()),
            "a size: write `512kb`, `10mb`, `2gb` or a number of bytes",
        ),
        TextForm::TimeOfDay => (
            text.is_some_and(|text| parse_time_of_day(text).is_some()),
            "a time: write `HH:MM`, from `00:00` to `24:00`",
        ),
        TextForm::HexColor => (
            text.is_some_and(|text| {
                let digits = text.strip_prefix('#').unwrap_or(text);
                digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            }),
            "a colour: write `#RRGGBB`",
        ),
        TextForm::Id => (
            !matches!(&node.kind, NodeKind::Number(number) if number.is_f64()),
            "an id: write it as text",
        ),
        TextForm::Scalar => (true, ""),
    };
    (!good).then(|| format!("is not {what}"))
}
