//! From what a server sent to text a model can read.

mod bare;

use chela_core::ok_or_debug;
use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use encoding_rs::Encoding;

/// Elements that hold nothing to read.
const SKIPPED: &[&str] = &[
    "script", "style", "noscript", "template", "svg", "iframe", "nav", "footer", "form", "button",
];

/// How a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageExtract {
    /// With headings, lists and links.
    Markdown,
    /// Words alone.
    Text,
}

/// A page made readable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadablePage {
    pub title: Option<String>,
    pub text: String,
}

/// Why there is nothing to read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("it is a PDF, which this tool does not read; fetch it with a program that does")]
    Pdf,
    #[error("it is {0}, not text")]
    NotText(String),
}

/// Reads what was sent. `reduce` asks for the article of a page rather than all of it.
pub fn read(
    body: &[u8],
    content_type: &str,
    url: &str,
    extract: PageExtract,
    reduce: PageReduce,
) -> Result<ReadablePage, PageError> {
    let mime = content_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    let kind = kind(&mime, body);
    match kind {
        Kind::Pdf => Err(PageError::Pdf),
        Kind::Other => Err(PageError::NotText(match mime.is_empty() {
            true => "of an unknown kind".to_owned(),
            false => chela_core::sanitize::literal(&mime).into_owned(),
        })),
        Kind::Plain => Ok(ReadablePage {
            title: None,
            text: decode(body, content_type, &[]),
        }),
        Kind::Html => {
            let head = body.get(..2_048).unwrap_or(body);
            Ok(readable(
                &decode(body, content_type, head),
                url,
                extract,
                reduce,
            ))
        }
    }
}

/// Whether a page is reduced to its article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageReduce {
    Article,
    Nothing,
}

enum Kind {
    Html,
    Plain,
    Pdf,
    Other,
}

fn kind(mime: &str, body: &[u8]) -> Kind {
    let is_text = |mime: &str| {
        mime.starts_with("text/")
            || mime.ends_with("+json")
            || mime.ends_with("+xml")
            || matches!(
                mime,
                "application/json"
                    | "application/xml"
                    | "application/javascript"
                    | "application/x-ndjson"
                    | "application/yaml"
                    | "application/x-yaml"
                    | "application/toml"
                    | "application/x-sh"
                    | "application/rtf"
            )
    };
    if body.starts_with(b"%PDF-") || mime == "application/pdf" {
        return Kind::Pdf;
    }
    let start = body.get(..1_024).unwrap_or(body);
    let binary = start.contains(&0)
        && !start.starts_with(&[0xff, 0xfe])
        && !start.starts_with(&[0xfe, 0xff]);
    match mime {
        "text/html" | "application/xhtml+xml" => Kind::Html,
        mime if is_text(mime) && !binary => Kind::Plain,
        "" if !binary => {
            let start = String::from_utf8_lossy(start).to_ascii_lowercase();
            match start.contains("<html") || start.contains("<!doctype html") {
                true => Kind::Html,
                false => Kind::Plain,
            }
        }
        _ => Kind::Other,
    }
}

/// Text in whatever encoding the server, or the page in its first lines, names.
fn decode(body: &[u8], content_type: &str, head: &[u8]) -> String {
    let named = |text: &str| {
        let (_, named) = text.split_once("charset=")?;
        let name: String = named
            .trim_start_matches(['"', '\'', ' '])
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || "-_:".contains(*c))
            .collect();
        Encoding::for_label(name.as_bytes())
    };
    let encoding = named(&content_type.to_ascii_lowercase())
        .or_else(|| named(&String::from_utf8_lossy(head).to_ascii_lowercase()))
        .unwrap_or(encoding_rs::UTF_8);
    encoding.decode(body).0.into_owned()
}

fn readable(html: &str, url: &str, extract: PageExtract, reduce: PageReduce) -> ReadablePage {
    if bare::is_too_much(html) {
        return ReadablePage {
            title: None,
            text: tidy(&bare::words(html)),
        };
    }
    let article = (reduce == PageReduce::Article)
        .then(|| article(html, url, extract))
        .flatten();
    let mut page = article.unwrap_or_else(|| whole(html, extract));
    page.text = tidy(&page.text);
    page
}

fn article(html: &str, url: &str, extract: PageExtract) -> Option<ReadablePage> {
    let config = Config {
        disable_json_ld: true,
        text_mode: match extract {
            PageExtract::Markdown => TextMode::Markdown,
            PageExtract::Text => TextMode::Formatted,
        },
        ..Config::default()
    };
    let article = Readability::new(html, Some(url), Some(config)).and_then(|mut page| page.parse());
    let article = ok_or_debug!(article, "no article in a page: all of its text is taken")?;
    let text = article.text_content.to_string();
    (!text.trim().is_empty()).then(|| ReadablePage {
        title: Some(article.title).filter(|title| !title.trim().is_empty()),
        text,
    })
}

fn whole(html: &str, extract: PageExtract) -> ReadablePage {
    let document = Document::from(html);
    let title = document.select("title").text().trim().to_owned();
    let body = document.select("body");
    for name in SKIPPED {
        document.select(name).remove();
    }
    let text = match extract {
        PageExtract::Markdown => document.md(Some(SKIPPED)).to_string(),
        PageExtract::Text => body.formatted_text().to_string(),
    };
    ReadablePage {
        title: Some(title).filter(|title| !title.is_empty()),
        text,
    }
}

/// Without trailing blanks and long runs of empty lines.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty <= 1 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.trim().to_owned()
}
