//! Secrets by name: the model writes `${secret:NAME}`, and the value is put in where it is used.
//!
//! The value is in no message, no transcript and no command line: it goes into the environment of
//! a command or into a header of one request, and only where the config says that it may.

use std::pin::Pin;

use chela_core::suggest::nearest;

/// Where a value would be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretDestination<'a> {
    /// A variable of a command.
    Environment,
    /// A header of a request to this host.
    Header { host: &'a str },
}

/// A value, or why there is none; written for the model.
pub type SecretFuture<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// The secrets of an agent that have a name.
pub trait SecretHandles: Send + Sync {
    /// The names that may be used for commands, or for requests at all, with what they open.
    fn names(&self, kind: SecretUse) -> Vec<(String, Option<String>)>;

    /// The value of one, if it may go there.
    fn value<'a>(&'a self, name: &'a str, to: SecretDestination<'a>) -> SecretFuture<'a>;
}

/// What a secret is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretUse {
    Commands,
    Requests,
}

/// There are none.
#[derive(Debug, Clone, Copy)]
pub struct NoHandles;

impl SecretHandles for NoHandles {
    fn names(&self, _: SecretUse) -> Vec<(String, Option<String>)> {
        Vec::new()
    }

    fn value<'a>(&'a self, name: &'a str, _: SecretDestination<'a>) -> SecretFuture<'a> {
        let why = format!(
            "there is no secret `{}`",
            chela_core::sanitize::literal(name)
        );
        Box::pin(std::future::ready(Err(why)))
    }
}

/// Whether a text names a secret.
pub fn names_one(text: &str) -> bool {
    next(text).is_some()
}

/// The text with the values of the secrets it names.
pub async fn put_in(
    text: &str,
    handles: &dyn SecretHandles,
    to: SecretDestination<'_>,
) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some(named) = next(rest) {
        whole.push_str(named.before);
        whole += &handles.value(named.name, to).await?;
        rest = named.after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// One line for a tool's description: which names there are.
pub fn in_words(names: &[(String, Option<String>)]) -> String {
    let names = names.iter().map(|(name, what)| match what {
        Some(what) => format!("{name} ({what})"),
        None => name.clone(),
    });
    names.collect::<Vec<_>>().join(", ")
}

/// What to say about a name that does not exist.
pub fn unknown(name: &str, names: &[(String, Option<String>)]) -> String {
    let shown = chela_core::sanitize::literal(name).into_owned();
    let known = names.iter().map(|(name, _)| name.as_str());
    match (nearest(name, known), names.is_empty()) {
        (Some(near), _) => format!("there is no secret `{shown}` for this; did you mean `{near}`?"),
        (None, true) => format!("there is no secret `{shown}`, and none that may be used for this"),
        (None, false) => format!(
            "there is no secret `{shown}` for this; there is {}",
            in_words(names)
        ),
    }
}

struct Named<'t> {
    before: &'t str,
    name: &'t str,
    after: &'t str,
}

/// The first secret a text names: as `${secret:NAME}`, or as the stand-in `[secret:NAME:1a2b]`
/// that was shown for it.
fn next(text: &str) -> Option<Named<'_>> {
    let forms = [("${secret:", '}'), ("[secret:", ']')];
    forms
        .iter()
        .filter_map(|(opening, closing)| {
            let (before, rest) = text.split_once(opening)?;
            let (inside, after) = rest.split_once(*closing)?;
            let name = match inside.rsplit_once(':') {
                Some((name, _)) if *closing == ']' => name,
                _ => inside,
            };
            Some(Named {
                before,
                name,
                after,
            })
        })
        .min_by_key(|named| named.before.len())
}

#[cfg(test)]
mod tests {
    use super::{
        SecretDestination, SecretFuture, SecretHandles, SecretUse, names_one, put_in, unknown,
    };

    struct One;

    impl SecretHandles for One {
        fn names(&self, _: SecretUse) -> Vec<(String, Option<String>)> {
            vec![("github".to_owned(), Some("the forge".to_owned()))]
        }

        fn value<'a>(&'a self, name: &'a str, _: SecretDestination<'a>) -> SecretFuture<'a> {
            let value = match name {
                "github" => Ok("VALUE".to_owned()),
                other => Err(unknown(other, &self.names(SecretUse::Commands))),
            };
            Box::pin(std::future::ready(value))
        }
    }

    #[tokio::test]
    async fn values_are_put_in_where_they_are_named() {
        let put = async |text| put_in(text, &One, SecretDestination::Environment).await;
        assert_eq!(put("plain $HOME").await.unwrap(), "plain $HOME");
        assert_eq!(
            put("Bearer ${secret:github}!").await.unwrap(),
            "Bearer VALUE!"
        );
        assert_eq!(
            put("[secret:github:1a2b]${secret:github}").await.unwrap(),
            "VALUEVALUE"
        );
        let why = put("${secret:gihtub}").await.unwrap_err();
        assert!(why.contains("did you mean `github`?"), "{why}");
        assert!(names_one("${secret:x}") && !names_one("${secrets}"));
    }
}
