//! What a server says about the login it wants.

/// A login that is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LoginChallenge {
    /// Where the server describes itself.
    pub metadata: Option<String>,
    pub scope: Option<String>,
    /// Whether a login is there and is not wide enough.
    pub is_too_narrow: bool,
}

/// What a `WWW-Authenticate` header says.
pub(crate) fn read_challenge(header: &str, is_too_narrow: bool) -> LoginChallenge {
    let value = |name: &str| parameter(header, name);
    LoginChallenge {
        metadata: value("resource_metadata"),
        scope: value("scope").filter(|scope| !scope.is_empty()),
        is_too_narrow,
    }
}

/// A parameter of a challenge, with or without quotes.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    const MOST: usize = 2_048;
    let mut rest = header.trim_start();
    // The name of the scheme comes first.
    rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
    while !rest.trim_start_matches([' ', ',', '\t']).is_empty() {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => match after.find([',', ' ']) {
                Some(at) => {
                    let (value, next) = after.split_at(at);
                    (value.to_owned(), next)
                }
                None => (after.to_owned(), ""),
            },
        };
        if name.trim().eq_ignore_ascii_case(wanted) && value.len() <= MOST {
            return Some(value);
        }
        rest = next;
    }
    None
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn challenges_are_read() {
        let header = r#"Bearer realm="a \"b\"", error="insufficient_scope", scope="files:read files:write", resource_metadata="https://a.example/.well-known/oauth-protected-resource", x=1"#;
        let value = |name| parameter(header, name);
        assert_eq!(value("scope").as_deref(), Some("files:read files:write"));
        assert_eq!(value("error").as_deref(), Some("insufficient_scope"));
        assert_eq!(value("realm").as_deref(), Some("a \"b\""));
        assert_eq!(value("x").as_deref(), Some("1"));
        assert_eq!(value("nothing"), None);
        for odd in [
            "",
            "Bearer",
            "Bearer =",
            "Bearer a=\"",
            "Bearer ,,,",
            "Bearer a",
        ] {
            assert_eq!(parameter(odd, "scope"), None, "{odd}");
        }
    }
}
