//! `@` and a few letters of a path: the files one works on and those of the workspace, to choose
//! from.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chela_agent::conversation::Conversation;
use ignore::WalkBuilder;

use super::menu::MenuChoice;

/// Files that are looked at; a person types more letters where there are more.
const MOST_FILES: usize = 20_000;
/// How long looking may hold up the keyboard.
const LONGEST_LOOK: Duration = Duration::from_millis(150);
/// How long a list is good enough.
const FRESH_FOR: Duration = Duration::from_secs(10);
const MOST_CHOICES: usize = 40;

/// The files that can be named.
#[derive(Debug)]
pub struct FileWords {
    /// Where the person works first.
    roots: Vec<FileRoot>,
    files: Vec<NamedFile>,
    looked: Option<Instant>,
}

/// A folder whose files are offered, by their place in it.
#[derive(Debug, Clone)]
struct FileRoot {
    path: PathBuf,
    form: PathForm,
    /// Said beside the file, where there are several.
    about: &'static str,
}

/// How a path is put on the line, so that the file tools take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathForm {
    /// In the workspace.
    Relative,
    Full,
}

#[derive(Debug)]
struct NamedFile {
    root: usize,
    shown: String,
}

impl FileWords {
    pub fn of(talk: &Conversation) -> Self {
        let mut roots = talk.file_roots();
        let workspace = roots.pop();
        let is_alone = roots.is_empty();
        let works = roots.into_iter().map(|path| FileRoot {
            path,
            form: PathForm::Full,
            about: "",
        });
        let workspace = workspace.map(|path| FileRoot {
            path,
            form: PathForm::Relative,
            about: if is_alone { "" } else { "in the workspace" },
        });
        Self::in_roots(works.chain(workspace).collect())
    }

    fn in_roots(roots: Vec<FileRoot>) -> Self {
        Self {
            roots,
            files: Vec::new(),
            looked: None,
        }
    }

    /// The ways to go on with the `@word` the cursor stands behind; empty where it stands behind
    /// none.
    pub fn choices(&mut self, text: &str, cursor: usize) -> Vec<MenuChoice> {
        let Some(typed) = file_word(text, cursor) else {
            return Vec::new();
        };
        if self.looked.is_none_or(|then| then.elapsed() > FRESH_FOR) {
            self.look();
        }
        let (before, after) = text.split_at(cursor);
        let before = before.strip_suffix(typed).unwrap_or(before);
        let wanted = typed.to_lowercase();
        let mut fitting: Vec<(u8, usize, usize, &NamedFile)> = self
            .files
            .iter()
            .filter_map(|file| {
                let close = closeness(&file.shown, &wanted)?;
                Some((close, file.root, file.shown.len(), file))
            })
            .collect();
        fitting.sort_by(|one, other| {
            let key = |(close, root, len, file): &(u8, usize, usize, &NamedFile)| {
                (*close, *root, *len, file.shown.clone())
            };
            key(one).cmp(&key(other))
        });
        let choice = |file: &NamedFile| {
            let root = self.roots.get(file.root)?;
            let head = format!("{before}{}", quoted(&root.written(&file.shown)));
            // What follows is set apart, once.
            let gap = if after.starts_with(' ') { "" } else { " " };
            Some(MenuChoice {
                cursor: head.len() + 1,
                line: format!("{head}{gap}{after}"),
                word: file.shown.clone(),
                about: root.about.to_owned(),
            })
        };
        let best = fitting.into_iter().take(MOST_CHOICES);
        best.filter_map(|(.., file)| choice(file)).collect()
    }

    fn look(&mut self) {
        let begun = Instant::now();
        self.looked = Some(begun);
        self.files.clear();
        for (at, root) in self.roots.iter().enumerate() {
            // A large project leaves room for the files of the workspace.
            let most = MOST_FILES * (at + 1) / self.roots.len();
            let longest = LONGEST_LOOK * u32::try_from(at + 1).unwrap_or(1)
                / u32::try_from(self.roots.len()).unwrap_or(1);
            let walk = WalkBuilder::new(&root.path).follow_links(false).build();
            let files = walk
                .flatten()
                .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
            for entry in files {
                if self.files.len() >= most || begun.elapsed() > longest {
                    break;
                }
                let shown = shown_path(&root.path, entry.path());
                self.files
                    .extend(shown.map(|shown| NamedFile { root: at, shown }));
            }
        }
    }
}

impl FileRoot {
    /// A file of it, as the file tools take it.
    fn written(&self, shown: &str) -> String {
        match self.form {
            PathForm::Relative => shown.to_owned(),
            PathForm::Full => self.path.join(shown).display().to_string(),
        }
    }
}

/// A file by its place in a folder.
fn shown_path(root: &Path, path: &Path) -> Option<String> {
    let shown = path.strip_prefix(root).ok()?.to_str()?;
    // A name that does something to the line is not offered.
    (!shown.contains(char::is_control)).then(|| shown.to_owned())
}

/// A path that a blank would end is put in quotes.
fn quoted(file: &str) -> String {
    match file.contains(char::is_whitespace) {
        true => format!("\"{file}\""),
        false => file.to_owned(),
    }
}

/// What was typed of a path behind an `@` that begins a word.
fn file_word(text: &str, cursor: usize) -> Option<&str> {
    let head = text.get(..cursor)?;
    let at = head.rfind('@')?;
    let before = head.get(..at)?.chars().next_back();
    let word = head.get(at + 1..)?;
    let begins = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '"' | '\''));
    (begins && !word.contains(char::is_whitespace)).then_some(word)
}

/// How well a path fits, the lower the better; `None` where it does not.
fn closeness(file: &str, wanted: &str) -> Option<u8> {
    let file = file.to_lowercase();
    let name = file.rsplit('/').next().unwrap_or(&file);
    if name.starts_with(wanted) || file.starts_with(wanted) {
        Some(0)
    } else if name.contains(wanted) {
        Some(1)
    } else if file.contains(wanted) {
        Some(2)
    } else {
        let mut rest = file.chars();
        wanted
            .chars()
            .all(|c| rest.any(|other| other == c))
            .then_some(3)
    }
}

#[cfg(test)]
mod tests {
    use super::{FileRoot, FileWords, PathForm, file_word};

    #[test]
    fn a_word_behind_an_at_is_a_path() {
        assert_eq!(file_word("read @no", 8), Some("no"));
        assert_eq!(file_word("@", 1), Some(""));
        assert_eq!(file_word("ann@home", 8), None, "an address");
        assert_eq!(file_word("@a b", 4), None, "it has ended");
        assert_eq!(file_word("see @a b", 6), Some("a"), "the cursor is inside");
    }

    #[test]
    fn files_are_offered_best_first_and_put_in() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("deep/notes")).unwrap();
        for file in ["notes.md", "deep/notes/a.txt", "my notes.md", "other"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let root = |path: &std::path::Path, form| FileRoot {
            path: path.to_owned(),
            form,
            about: "",
        };
        let mut words = FileWords::in_roots(vec![root(dir.path(), PathForm::Relative)]);
        let shown = |choices: &[super::MenuChoice]| -> Vec<String> {
            choices.iter().map(|choice| choice.word.clone()).collect()
        };
        let choices = words.choices("read @not now", 9);
        assert_eq!(
            shown(&choices),
            ["notes.md", "my notes.md", "deep/notes/a.txt"]
        );
        assert_eq!(choices[0].line, "read @notes.md now");
        assert_eq!(&choices[0].line[choices[0].cursor..], "now");
        assert_eq!(choices[1].line, "read @\"my notes.md\" now");
        assert!(words.choices("read not", 8).is_empty());
        assert_eq!(
            shown(&words.choices("@ohr", 4)),
            ["other"],
            "letters in order"
        );
        // Where one works comes first, and is written in full.
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("notes-of-the-project.md"), "").unwrap();
        let mut words = FileWords::in_roots(vec![
            root(project.path(), PathForm::Full),
            root(dir.path(), PathForm::Relative),
        ]);
        let choices = words.choices("@not", 4);
        let (first, second) = ("notes-of-the-project.md", "notes.md");
        assert_eq!(&shown(&choices)[..2], [first, second]);
        let full = project.path().join(first);
        assert_eq!(choices[0].line, format!("@{} ", full.display()));
        assert_eq!(choices[1].line, "@notes.md ");
    }
}
