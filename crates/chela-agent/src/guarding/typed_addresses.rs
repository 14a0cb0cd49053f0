//! Addresses with a key in them that the owner typed.
//!
//! No record keeps the key, and no model reads it: both have its stand-in. What the owner typed is
//! used all the same, as long as this process lives, for exactly the address it was typed in.

use std::sync::{Mutex, MutexGuard};

use chela_core::lock;
use chela_core::secret::Redactor;
use chela_guard::WebAddress;
use chela_guard::flow::links_in;
use chela_tools::{SinkKind, Toolbox};
use serde_json::{Map, Value};

/// More than anybody types in one session; the oldest go first.
const MOST: usize = 64;

#[derive(Default)]
pub(crate) struct TypedAddresses(Mutex<Vec<TypedAddress>>);

struct TypedAddress {
    /// As the records and the model have it.
    shown: String,
    address: WebAddress,
}

impl TypedAddresses {
    /// Keeps the addresses of a message that lose something when it is recorded.
    pub fn note(&self, message: &str, redactor: &Redactor) {
        for link in links_in(message) {
            let written = message.get(link.range.clone()).unwrap_or_default();
            let shown = redactor.redact(written);
            if shown == written {
                continue;
            }
            let mut typed = self.typed();
            for address in link.readings.iter().chain(&link.longer) {
                typed.push(TypedAddress {
                    shown: shown.clone().into_owned(),
                    address: address.clone(),
                });
            }
            let over = typed.len().saturating_sub(MOST);
            typed.drain(..over);
        }
    }

    pub fn all(&self) -> Vec<WebAddress> {
        self.typed().iter().map(|one| one.address.clone()).collect()
    }

    /// The arguments of a call with the typed address where the model wrote what it was shown of
    /// it, whole and nothing else.
    pub fn put_back(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        toolbox: &Toolbox,
    ) -> Map<String, Value> {
        let mut arguments = arguments.clone();
        let typed = self.typed();
        let Some(tool) = toolbox.get(tool).filter(|_| !typed.is_empty()) else {
            return arguments;
        };
        for sink in tool.spec().sinks.iter() {
            if sink.kind != SinkKind::Url {
                continue;
            }
            if let Some(Value::String(text)) = arguments.get_mut(sink.argument.as_ref())
                && let Some(found) = typed.iter().find(|one| one.shown == *text)
            {
                *text = found.address.to_string();
            }
        }
        arguments
    }

    fn typed(&self) -> MutexGuard<'_, Vec<TypedAddress>> {
        lock(&self.0)
    }
}
