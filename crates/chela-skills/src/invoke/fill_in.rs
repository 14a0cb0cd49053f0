//! What a person wrote behind a command, put where the skill asks for it.
//!
//! `$ARGUMENTS` is all of it, `$ARGUMENTS[0]` its first word. `$1` is the first word as well, unless
//! the text counts from `$0`. Words in quotes are one.

/// The text with its places filled in, and whether there were any.
pub fn fill_in(text: &str, args: &str) -> (String, bool) {
    let words = words(args);
    let first = usize::from(!has_zero(text));
    let mut filled = String::with_capacity(text.len() + args.len());
    let mut asked = false;
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let mark = from.get(1..).unwrap_or_default();
        if before.ends_with('\\') {
            filled.pop();
            filled.push('$');
            rest = mark;
            continue;
        }
        match place(mark, first) {
            Some((what, after)) => {
                asked = true;
                match what {
                    Place::All => filled.push_str(args.trim()),
                    Place::Word(at) => filled.push_str(words.get(at).map_or("", String::as_str)),
                }
                rest = after;
            }
            None => {
                filled.push('$');
                rest = mark;
            }
        }
    }
    filled.push_str(rest);
    (filled, asked)
}

enum Place {
    All,
    Word(usize),
}

/// What stands behind a dollar sign, and what comes after it.
fn place(mark: &str, first: usize) -> Option<(Place, &str)> {
    if let Some(rest) = mark.strip_prefix("ARGUMENTS") {
        let index = rest.strip_prefix('[').and_then(|rest| {
            let (digits, after) = rest.split_once(']')?;
            Some((digits.parse().ok()?, after))
        });
        return match index {
            Some((at, after)) => Some((Place::Word(at), after)),
            // `$ARGUMENTS_FILE` is a name of its own.
            None if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => None,
            None => Some((Place::All, rest)),
        };
    }
    let digit = mark.chars().next()?.to_digit(10)?;
    let after = mark.get(1..)?;
    if goes_on(after) {
        return None;
    }
    let at = usize::try_from(digit).ok()?.checked_sub(first)?;
    Some((Place::Word(at), after))
}

fn has_zero(text: &str) -> bool {
    text.match_indices("$0")
        .any(|(at, _)| !goes_on(text.get(at + 2..).unwrap_or_default()))
}

/// `$100` and `$1.50` are money, `$1st` is a name.
fn goes_on(after: &str) -> bool {
    let digits = after.strip_prefix('.').unwrap_or(after);
    after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        || (digits.len() < after.len() && digits.starts_with(|c: char| c.is_ascii_digit()))
}

fn words(args: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    let mut quote = None;
    for c in args.chars() {
        match (c, quote) {
            (c, Some(mark)) if c == mark => quote = None,
            ('"' | '\'', None) if open.is_none() => {
                quote = Some(c);
                open = Some(String::new());
            }
            (c, None) if c.is_whitespace() => words.extend(open.take()),
            (c, _) => open.get_or_insert_default().push(c),
        }
    }
    words.extend(open);
    words
}

#[cfg(test)]
mod tests {
    use super::fill_in;

    #[test]
    fn places_are_filled_with_what_was_typed() {
        let filled = |text, args| fill_in(text, args).0;
        assert_eq!(
            filled(
                "Fix $ARGUMENTS now. First: $1, then $2.",
                "12 \"very soon\" x"
            ),
            "Fix 12 \"very soon\" x now. First: 12, then very soon."
        );
        assert_eq!(filled("From $0 to $1", "a b"), "From a to b");
        assert_eq!(filled("$ARGUMENTS[1]/$ARGUMENTS[0]", "a b"), "b/a");
        assert_eq!(filled("[$3]", "a"), "[]");
        for literal in [
            "costs $100",
            "$1.50",
            "$ARGUMENTS_FILE",
            "$HOME",
            "$",
            "it's $",
            "$12",
        ] {
            assert_eq!(
                fill_in(literal, "a b"),
                (literal.to_owned(), false),
                "{literal}"
            );
        }
        assert_eq!(filled("\\$1 and \\$ARGUMENTS", "a"), "$1 and $ARGUMENTS");
        assert_eq!(filled("it's $1", "don't stop"), "it's don't");
        // What was filled in is not filled in again.
        assert_eq!(filled("$1 $2", "$2 x"), "$2 x");
    }
}
