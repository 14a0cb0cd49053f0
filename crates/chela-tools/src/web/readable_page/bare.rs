//! Pages that are too large or too deep to be taken apart: their words, in one pass.
//!
//! Readers of documents go down into them by recursion and look at some parts many times; a page
//! can be made that costs them minutes or the stack. This costs the same for every page.

/// A page of more elements is not taken apart.
const MOST_ELEMENTS: usize = 30_000;
/// Nor one nested deeper.
const DEEPEST: usize = 200;

/// Elements that need no end, or whose end is often left out.
const NOT_NESTING: &[&str] = &[
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
    "option", "p", "param", "source", "td", "th", "tr", "track", "wbr", "body", "head", "html",
];

/// Whether a page is such that it should be read by [`words`].
pub fn is_too_much(html: &str) -> bool {
    let (mut elements, mut depth, mut deepest) = (0, 0_usize, 0);
    for tag in tags(html) {
        if NOT_NESTING.contains(&tag.name.to_ascii_lowercase().as_str()) {
            elements += usize::from(!tag.is_end);
        } else if tag.is_end {
            depth = depth.saturating_sub(1);
        } else {
            elements += 1;
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    elements > MOST_ELEMENTS || deepest > DEEPEST
}

/// The words of a page, without scripts and styles; each element may start a line.
pub fn words(html: &str) -> String {
    let mut text = String::new();
    let mut copied = 0;
    let mut until: Option<String> = None;
    for tag in tags(html) {
        if until.is_none() {
            push(&mut text, html.get(copied..tag.start).unwrap_or_default());
        }
        let name = tag.name.to_ascii_lowercase();
        match (&until, tag.is_end) {
            (Some(hidden), true) if *hidden == name => until = None,
            (None, false) if matches!(name.as_str(), "script" | "style" | "noscript") => {
                until = Some(name);
            }
            (None, _) if !matches!(name.as_str(), "a" | "b" | "i" | "em" | "strong" | "span") => {
                text.push('\n');
            }
            _ => {}
        }
        copied = tag.end;
    }
    if until.is_none() {
        push(&mut text, html.get(copied..).unwrap_or_default());
    }
    text
}

struct Tag<'a> {
    start: usize,
    end: usize,
    name: &'a str,
    is_end: bool,
}

fn tags(html: &str) -> impl Iterator<Item = Tag<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + html.get(at..)?.find('<')?;
            let rest = html.get(start + 1..)?;
            let is_end = rest.starts_with('/');
            let name = rest.trim_start_matches('/');
            let length = name
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(name.len());
            let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!');
            if !is_tag {
                at = start + 1;
                continue;
            }
            let end = rest.find('>').map_or(html.len(), |end| start + 2 + end);
            at = end;
            return Some(Tag {
                start,
                end,
                name: name.get(..length)?,
                is_end,
            });
        }
    })
}

fn push(text: &mut String, piece: &str) {
    if !piece.contains('&') {
        text.push_str(piece);
        return;
    }
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    let mut piece = piece.to_owned();
    for (name, meant) in named {
        piece = piece.replace(name, meant);
    }
    text.push_str(&piece);
}
