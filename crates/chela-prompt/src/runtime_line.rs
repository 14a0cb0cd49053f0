//! The line that says what the agent is running on.

use std::borrow::Cow;

use chela_core::{Origin, Trust};

use crate::out::{PromptWriter, SpanSource};
use crate::view::{InputView, value};

/// `Runtime: agent=… | host=… | …`, without the fields that are not known. A small model reads only
/// what its answers depend on.
pub(crate) fn write(view: &InputView<'_>, out: &mut PromptWriter) {
    let facts = &view.input.runtime;
    let (os, arch) = (value(&facts.os), value(&facts.arch));
    let system = match (&os, &arch) {
        (Some(os), Some(arch)) => Some(Cow::Owned(format!("{os} ({arch})"))),
        _ => os.clone(),
    };
    let channel = view.channel.as_deref().map(Cow::Borrowed);
    let capabilities = channel
        .is_some()
        .then(|| match view.capabilities.as_slice() {
            [] => Cow::Borrowed("none"),
            known => Cow::Owned(known.join(",")),
        });
    let in_full = |given| value(given).filter(|_| view.is_whole());
    let fields = [
        ("agent", value(&facts.agent)),
        ("host", in_full(&facts.host)),
        ("repo", in_full(&facts.repo_root)),
        ("os", system),
        ("arch", arch.filter(|_| os.is_none())),
        ("model", value(&facts.model)),
        ("default_model", in_full(&facts.default_model)),
        ("shell", in_full(&facts.shell)),
        ("channel", channel),
        ("capabilities", capabilities),
        (
            "thinking",
            Some(value(&view.input.thinking).unwrap_or(Cow::Borrowed("off"))),
        ),
    ];
    let mut between = "Runtime: ";
    for (name, known) in fields {
        let Some(known) = known else { continue };
        for piece in [between, name, "=", &known] {
            out.push(piece);
        }
        between = " | ";
    }
    out.set_source(&SpanSource::new(&Origin::Runtime, Trust::Operator));
}
