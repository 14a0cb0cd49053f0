//! A line as it would act: lower case, and without the tricks that keep a word from being seen.

use std::collections::HashMap;

/// Lower case, without invisible characters, and without the tricks that split a command word:
/// `c""url`, `cu''rl`, `w\get`, `${IFS}`.
pub(super) fn clean(raw: &str) -> String {
    let mut text: String = raw
        .chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
            '\u{a0}' | '\u{3000}' | '\t' => ' ',
            '“' | '”' => '"',
            '‘' | '’' => '\'',
            c => c,
        })
        .collect();
    for (trick, plain) in [("${ifs}", " "), ("$ifs$9", " "), ("$ifs", " ")] {
        if text.contains(trick) {
            text = text.replace(trick, plain);
        }
    }
    if text.contains("\"\"") || text.contains("''") || text.contains('\\') {
        text = unsplit(&text);
    }
    if !text.is_ascii() {
        text = latin(&text);
    }
    if text.contains("\"+") || text.contains("'+") || text.contains("\" ") || text.contains("' ") {
        text = unjoined(&text);
    }
    text
}

/// Takes empty quotes and needless backslashes out of the middle of words.
fn unsplit(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    let letter = |at: usize| chars.get(at).is_some_and(|c| c.is_ascii_alphabetic());
    while let Some(this) = chars.get(at) {
        let before = at > 0 && letter(at - 1);
        let pair = matches!(this, '"' | '\'') && chars.get(at + 1) == Some(this);
        if before && pair && letter(at + 2) {
            at += 2;
            continue;
        }
        // `w\get`: two letters follow, unlike an escape such as `\n`.
        if before
            && *this == '\\'
            && letter(at + 1)
            && letter(at + 2)
            && !matches!(
                chars.get(at + 1),
                Some('n' | 't' | 'r' | 'x' | 'u' | 's' | 'b' | 'w' | 'd')
            )
        {
            at += 1;
            continue;
        }
        plain.push(*this);
        at += 1;
    }
    plain
}

pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

/// A letter of another script as the Latin one it looks like.
pub(super) fn look_alike(c: char) -> char {
    match c {
        'а' | 'α' => 'a',
        'е' | 'ε' => 'e',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'с' => 'c',
        'у' => 'y',
        'х' => 'x',
        'і' | 'ι' => 'i',
        'ѕ' => 's',
        'һ' => 'h',
        'к' | 'κ' => 'k',
        'т' | 'τ' => 't',
        'ԁ' => 'd',
        'ԛ' => 'q',
        'ԝ' => 'w',
        'ɡ' => 'g',
        'ո' => 'n',
        'ν' => 'v',
        'ӏ' => 'l',
        'м' => 'm',
        'в' => 'b',
        'ј' => 'j',
        c => c,
    }
}

/// Words of Latin letters with a few foreign ones among them, in Latin letters only. Whole words
/// of another script stay: those are somebody's language.
fn latin(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut word: Vec<char> = Vec::new();
    for c in text.chars().chain(std::iter::once(' ')) {
        if c.is_alphabetic() {
            word.push(c);
            continue;
        }
        let mixed = is_mixed(&word);
        plain.extend(
            word.drain(..)
                .map(|letter| if mixed { look_alike(letter) } else { letter }),
        );
        plain.push(c);
    }
    plain.pop();
    plain
}

/// Whether a word is Latin but for letters that only look so.
fn is_mixed(word: &[char]) -> bool {
    let latin = word.iter().filter(|c| c.is_ascii_alphabetic()).count();
    let posing = word.iter().filter(|c| look_alike(**c) != **c).count();
    latin > 0 && posing > 0 && latin + posing == word.len()
}

/// Whether a line has a word that is written in two scripts to look like another.
pub(super) fn has_mixed_word(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    text.split(|c: char| !c.is_alphabetic())
        .any(|word| word.len() > 3 && is_mixed(&word.to_lowercase().chars().collect::<Vec<_>>()))
}

/// Joins what a program only splits for the eye: `"cu" + "rl"` and `'cu' . 'rl'`.
fn unjoined(text: &str) -> String {
    let mut plain = text.to_owned();
    for quote in ['"', '\''] {
        for plus in ["+", " + ", " +", "+ ", " . ", " .. ", " & "] {
            let seam = format!("{quote}{plus}{quote}");
            if plain.contains(&seam) {
                plain = plain.replace(&seam, "");
            }
        }
    }
    plain
}

/// Short texts that a script keeps in variables: what `$a$b` and `$HOST/x` stand for.
#[derive(Debug, Default)]
pub(super) struct ScriptVariables {
    values: HashMap<String, String>,
}

/// More than this is no word and no address.
const MAX_VALUE: usize = 160;

impl ScriptVariables {
    /// Takes note of `name=value` in a line of a script, in lower case.
    pub(super) fn note(&mut self, line: &str) {
        for part in line.split([';', '&']) {
            let part = part.trim();
            let part = [
                "export ",
                "local ",
                "readonly ",
                "set ",
                "const ",
                "let ",
                "var ",
            ]
            .iter()
            .find_map(|word| part.strip_prefix(word))
            .unwrap_or(part);
            let Some((name, value)) = part.split_once('=') else {
                continue;
            };
            let name = name.trim_start_matches('$').trim_end();
            let value = value.trim();
            let value = unquoted(value).unwrap_or(value);
            let is_name = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit());
            let is_value = !value.is_empty()
                && value.len() <= MAX_VALUE
                && !value.contains(|c: char| {
                    c.is_whitespace() || matches!(c, '$' | '(' | ')' | '`' | '"' | '\'' | '|')
                });
            if is_name && is_value {
                self.values.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// The line with every known `$name` and `${name}` replaced, if there is one.
    pub(super) fn put_in(&self, line: &str) -> Option<String> {
        if self.values.is_empty() || !line.contains('$') {
            return None;
        }
        let mut plain = String::with_capacity(line.len());
        let mut rest = line;
        let mut changed = false;
        while let Some(at) = rest.find('$') {
            plain.push_str(rest.get(..at).unwrap_or_default());
            rest = rest.get(at + 1..).unwrap_or_default();
            let (name, after) = match rest.strip_prefix('{') {
                Some(inner) => match inner.split_once('}') {
                    Some((name, after)) => (name, after),
                    None => ("", rest),
                },
                None => {
                    let end = rest
                        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                        .unwrap_or(rest.len());
                    rest.split_at(end)
                }
            };
            match self.values.get(name) {
                Some(value) => {
                    plain.push_str(value);
                    rest = after;
                    changed = true;
                }
                None => plain.push('$'),
            }
        }
        plain.push_str(rest);
        changed.then_some(plain)
    }
}

fn unquoted(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value.get(1..)?.split_once(quote).map(|(inner, _)| inner)
}
