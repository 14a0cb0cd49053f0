//! Pictures for a message: named by path - typed, dropped onto the terminal, chosen with `@` -
//! read and encoded.

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chela_agent::conversation::{Conversation, InboundImage};
use chela_config::model::ModelChoice;
use chela_model::ModelInput;
use chela_tools::picture_mime;

use crate::fail::CommandError;
use crate::file_trouble::unreadable;

/// Bytes of one picture.
const MOST_IMAGE: u64 = 20 << 20;

const KINDS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
/// More at once is a mistake.
const MOST: usize = 8;

/// The pictures that are there: whole paths as they are, `~` is `home`, others in the folders
/// given.
pub fn picture_paths(text: &str, roots: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for word in words(text) {
        let word = word.strip_prefix('@').unwrap_or(&word);
        let word = word.strip_prefix("file://").unwrap_or(word);
        let word = word.trim_matches(['"', '\'', '(', ')', ',', '<', '>']);
        // The end of the sentence is not the end of the name.
        let word = word.trim_end_matches(['.', '?', '!', ':', ';']);
        let path = match word.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(word),
        };
        let kind = path.extension().and_then(|kind| kind.to_str());
        if !kind.is_some_and(|kind| KINDS.contains(&kind.to_ascii_lowercase().as_str())) {
            continue;
        }
        let place = match path.is_absolute() {
            true => Some(path).filter(|path| path.is_file()),
            false => roots
                .iter()
                .map(|root| root.join(&path))
                .find(|path| path.is_file()),
        };
        if let Some(place) = place.filter(|place| !found.contains(place)) {
            found.push(place);
        }
    }
    found.truncate(MOST);
    found
}

/// Who looks at pictures in place of a model that cannot; `None` where it sees them itself.
pub fn who_looks_at_pictures(talk: &Conversation) -> Option<String> {
    let chain = talk.chain().ok()?;
    let model = chain.primary();
    if model.info().reads(ModelInput::Image) {
        return None;
    }
    let defaults = &talk.agents().loaded().config.agents.defaults;
    let looks = defaults.image_model.as_ref().and_then(ModelChoice::primary);
    Some(match looks {
        Some(looks) => format!(
            "{} cannot read images; {looks} describes them to it",
            model.reference()
        ),
        None => format!(
            "{} cannot read images; `chela config set agents.defaults.imageModel PROVIDER/MODEL` \
                sets a model that describes them",
            model.reference()
        ),
    })
}

/// Pictures, read and encoded.
pub fn read_images(files: &[PathBuf]) -> Result<Vec<InboundImage>, CommandError> {
    files
        .iter()
        .map(|file| {
            let shown = file.display();
            let bytes = std::fs::File::open(file)
                .and_then(|opened| {
                    let mut bytes = Vec::new();
                    opened.take(MOST_IMAGE + 1).read_to_end(&mut bytes)?;
                    Ok(bytes)
                })
                .map_err(|error| unreadable(format!("the image {shown}"), &error))?;
            if bytes.len() as u64 > MOST_IMAGE {
                return Err(CommandError::new(format!(
                    "the image {shown} is larger than 20 MiB"
                )));
            }
            let mime = picture_mime(&bytes).ok_or_else(|| {
                CommandError::usage(format!("{shown} is not an image models can read"))
                    .hint("use PNG, JPEG, GIF or WebP")
            })?;
            Ok(InboundImage {
                mime: mime.to_owned(),
                data: STANDARD.encode(bytes),
            })
        })
        .collect()
}

/// Words between blanks; a blank inside quotes or behind a backslash, as terminals write it for a
/// file that is dropped, ends none.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        let Some(word) = words.last_mut() else { break };
        match c {
            _ if escaped => {
                word.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' | '\'' if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() && (word.is_empty() || word == "@") => quote = Some(c),
            c if c.is_whitespace() && quote.is_none() => words.push(String::new()),
            c => word.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::picture_paths;

    #[test]
    fn pictures_that_are_there_are_found_however_they_are_written() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.png", "my shot.JPG", "notes.md"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
        }
        let roots = [dir.path().to_owned()];
        let whole = dir.path().join("my shot.JPG");
        let escaped = whole.display().to_string().replace(' ', "\\ ");
        let found = |text: &str| picture_paths(text, &roots, dir.path()).len();
        assert_eq!(found("what is in @a.png?"), 1);
        assert_eq!(found("./a.png; and ~/a.png, '~/my shot.JPG'!"), 2);
        assert_eq!(found("what is in @a.png , say"), 1);
        assert_eq!(found(&format!("look: {escaped}")), 1);
        assert_eq!(found(&format!("'{}' and a.png, a.png", whole.display())), 2);
        assert_eq!(found("@\"my shot.JPG\" please"), 1);
        assert_eq!(found("notes.md gone.png"), 0);
    }
}
