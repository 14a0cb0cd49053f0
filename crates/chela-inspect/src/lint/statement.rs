//! The statements a file makes: its lines, less markup, code and comments.

/// One line that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatement<'a> {
    pub file: &'a str,
    /// From 1.
    pub line: u32,
    /// The nearest heading above, in lower case.
    pub heading: String,
    /// Without list marks, emphasis and trailing blanks.
    pub text: String,
}

impl FileStatement<'_> {
    /// The words, in lower case, without punctuation.
    pub fn words(&self) -> Vec<String> {
        words(&self.text)
    }
}

pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'))
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
        .collect()
}

pub fn statements<'a>(file: &'a str, text: &str) -> Vec<FileStatement<'a>> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let mut fence: Option<String> = None;
    let mut comment = false;
    let front = front_matter_lines(text);
    for (number, line) in (1u32..).zip(text.lines()) {
        let trimmed = line.trim();
        if number <= front {
            continue;
        }
        if let Some(mark) = fence_mark(trimmed) {
            match &fence {
                None => fence = Some(mark.to_owned()),
                Some(open) if mark.starts_with(open.as_str()) => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        if comment || trimmed.starts_with("<!--") {
            comment = !trimmed.contains("-->");
            continue;
        }
        if let Some(title) = trimmed.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_lowercase();
            continue;
        }
        let text = plain(trimmed);
        if text.chars().any(char::is_alphabetic) {
            found.push(FileStatement {
                file,
                line: number,
                heading: heading.clone(),
                text,
            });
        }
    }
    found
}

/// The marks that open or close a code block, such as three backticks.
pub fn fence_mark(line: &str) -> Option<&str> {
    ['`', '~'].into_iter().find_map(|mark| {
        let length = line.chars().take_while(|c| *c == mark).count();
        (length >= 3).then(|| line.get(..length).unwrap_or_default())
    })
}

/// How many lines a leading `---` block takes.
fn front_matter_lines(text: &str) -> u32 {
    let mut lines = (1u32..).zip(text.lines());
    match lines.next() {
        Some((_, "---")) => lines
            .find(|(_, line)| line.trim_end() == "---")
            .map_or(0, |(at, _)| at),
        _ => 0,
    }
}

/// A line without its list mark, check box and emphasis.
fn plain(line: &str) -> String {
    let line = line.trim_start_matches(['-', '*', '+', '>', '|', ' ']);
    let line = line
        .trim_start_matches("[ ] ")
        .trim_start_matches("[x] ")
        .trim_start_matches("[X] ");
    let numbered = line
        .split_once(". ")
        .filter(|(mark, _)| mark.chars().all(|c| c.is_ascii_digit()));
    let line = numbered.map_or(line, |(_, rest)| rest);
    line.replace(['*', '`'], "")
        .replace("__", "")
        .trim()
        .to_owned()
}
