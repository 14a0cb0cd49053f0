//! `chela docs`: the documentation, offline.

use std::borrow::Cow;

use chela_core::suggest;
use serde_json::json;

use super::{CommandOutcome, reference};
use crate::chat::print_markdown;
use crate::cli::docs::DocsArgs;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, shorten};

/// Names and texts of the pages of the book, as they were when the program was built.
const BOOK: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/book.rs"));
/// The page that says what there is.
const INDEX: &str = "README";
/// The pages the program makes itself. A page of the book may have the shorter name.
const CONFIG: &str = "config-reference";
const COMMANDS: &str = "command-reference";
/// Shorter names, where no page of the book has them.
const SHORT: [(&str, &str); 4] = [
    ("config", CONFIG),
    ("commands", COMMANDS),
    ("cli", COMMANDS),
    ("readme", INDEX),
];
/// Most lines a search shows.
const MOST_LINES: usize = 60;

pub fn run(screen: &mut Screen, args: &DocsArgs) -> CommandOutcome {
    if let Some(dir) = &args.write {
        return reference::write_pages(dir);
    }
    match (&args.topic, &args.search) {
        (Some(topic), _) => show(screen, topic, args.json),
        (None, Some(text)) => search(screen, text, args.json),
        (None, None) => list(screen, args.json),
    }
}

/// A page, by the name it is asked for.
struct DocsPage {
    name: &'static str,
    text: Cow<'static, str>,
}

impl DocsPage {
    /// The pages of the book, then what the program says of itself.
    fn all() -> Vec<Self> {
        let book = BOOK.iter().map(|(name, text)| Self {
            name,
            text: Cow::Borrowed(text),
        });
        let made = [
            (CONFIG, chela_config::reference::page()),
            (COMMANDS, reference::commands_page()),
        ];
        let made = made.into_iter().map(|(name, text)| Self {
            name,
            text: Cow::Owned(text),
        });
        book.chain(made).collect()
    }

    fn is_of_book(&self) -> bool {
        BOOK.iter().any(|(name, _)| *name == self.name)
    }

    /// What is typed for it.
    fn topic(&self) -> String {
        match self.name {
            INDEX => "index".to_owned(),
            name => name.to_lowercase(),
        }
    }

    fn title(&self) -> &str {
        let heading = self.text.lines().find_map(|line| line.strip_prefix("# "));
        heading.unwrap_or(self.name).trim()
    }

    fn is_called(&self, typed: &str) -> bool {
        // Pages that are read in order may be numbered.
        let plain = self.topic();
        let unnumbered = plain.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        plain == typed || unnumbered == typed
    }

    /// The page somebody means.
    fn find<'p>(pages: &'p [Self], typed: &str) -> Option<&'p Self> {
        let typed = typed.trim().to_lowercase();
        let typed = typed.strip_suffix(".md").unwrap_or(&typed);
        let called = pages.iter().find(|page| page.is_called(typed));
        called.or_else(|| {
            let (_, name) = SHORT.iter().find(|(short, _)| *short == typed)?;
            pages.iter().find(|page| page.name == *name)
        })
    }
}

fn list(screen: &mut Screen, json: bool) -> CommandOutcome {
    let pages = DocsPage::all();
    if json {
        let rows: Vec<_> = pages
            .iter()
            .map(|page| json!({ "topic": page.topic(), "title": page.title() }))
            .collect();
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    let rows: Vec<Vec<String>> = pages
        .iter()
        .map(|page| vec![screen.paint.accent(page.topic()), page.title().to_owned()])
        .collect();
    screen.table("", &rows)?;
    screen.blank()?;
    screen.paragraph(
        "",
        "`chela docs TOPIC` prints a page, `chela config explain KEY` one key, `chela COMMAND --help` one command.",
    )?;
    Ok(CommandExit::Fine)
}

fn show(screen: &mut Screen, topic: &str, json: bool) -> CommandOutcome {
    let pages = DocsPage::all();
    let Some(page) = DocsPage::find(&pages, topic) else {
        let told = sections_about(&pages, topic);
        if !told.is_empty() {
            return show_sections(screen, topic, &told, json);
        }
        let topics: Vec<String> = pages.iter().map(DocsPage::topic).collect();
        let short = SHORT.iter().map(|(short, _)| *short);
        let known = topics.iter().map(String::as_str).chain(short);
        let hint = match suggest::nearest(topic, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "chela docs --search {topic}; there is {}",
                topics.join(", ")
            ),
        };
        return Err(CommandError::usage(format!("there is no page `{topic}`")).hint(hint));
    };
    match (json, screen.is_terminal) {
        (true, _) => {
            let (topic, title) = (page.topic(), page.title());
            screen.json(&json!({ "topic": topic, "title": title, "text": page.text }))?;
        }
        (false, true) => print_markdown(screen, &page.text)?,
        (false, false) => screen.raw(&page.text)?,
    }
    Ok(CommandExit::Fine)
}

/// The sections of the book that are about something that has no page of its own, with their pages.
fn sections_about<'p>(pages: &'p [DocsPage], topic: &str) -> Vec<(String, &'p str)> {
    let wanted = topic.trim().to_lowercase();
    // `skill` finds "Skills".
    let wanted = wanted.strip_suffix('s').unwrap_or(&wanted);
    let is_named = |heading: &str| {
        let words = heading.split(|c: char| !c.is_alphanumeric());
        words.into_iter().any(|word| {
            let word = word.to_lowercase();
            word.strip_suffix('s').unwrap_or(&word) == wanted
        })
    };
    let mut told = Vec::new();
    for page in pages.iter().filter(|page| page.is_of_book()) {
        let starts = page.text.match_indices("\n## ").map(|(at, _)| at + 1);
        let starts: Vec<usize> = starts.chain([page.text.len()]).collect();
        for pair in starts.windows(2) {
            let &[from, to] = pair else { continue };
            let section = page.text.get(from..to).unwrap_or_default();
            if section.lines().next().is_some_and(is_named) {
                told.push((page.topic(), section.trim_end()));
            }
        }
    }
    told
}

fn show_sections(
    screen: &mut Screen,
    topic: &str,
    told: &[(String, &str)],
    json: bool,
) -> CommandOutcome {
    if json {
        let rows: Vec<_> = told
            .iter()
            .map(|(page, text)| json!({ "topic": page, "text": text }))
            .collect();
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    for (page, text) in told {
        match screen.is_terminal {
            true => print_markdown(screen, text)?,
            false => screen.raw(&format!("{text}\n"))?,
        }
        screen.blank()?;
        let more = format!("From `chela docs {page}`.");
        screen.line(screen.paint.dim(more))?;
        screen.blank()?;
    }
    screen.paragraph(
        "",
        &format!("`chela docs --search {topic}` finds every line about it."),
    )?;
    Ok(CommandExit::Fine)
}

fn search(screen: &mut Screen, text: &str, json: bool) -> CommandOutcome {
    let wanted = text.to_lowercase();
    let pages = DocsPage::all();
    let found: Vec<(String, &str)> = pages
        .iter()
        .flat_map(|page| {
            let lines = page.text.lines();
            lines.map(move |line| (page.topic(), line.trim()))
        })
        .filter(|(_, line)| line.to_lowercase().contains(&wanted))
        .take(MOST_LINES)
        .collect();
    if json {
        let rows: Vec<_> = found
            .iter()
            .map(|(topic, line)| json!({ "topic": topic, "line": line }))
            .collect();
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    if found.is_empty() {
        return Err(CommandError::new(format!("no page mentions `{text}`")));
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|(topic, line)| vec![screen.paint.accent(topic), shorten(line, 100)])
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}
