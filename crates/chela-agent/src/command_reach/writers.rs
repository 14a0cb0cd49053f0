//! Programs that change only the files they name: everyday work on the agent's own files.
//!
//! What a file keeps of its text counts as read, so that no edit vouches for what somebody else
//! wrote around it.

use std::path::Path;

use super::{KeepsText, LineReading, ReadTarget};

impl LineReading {
    /// What a program reads and writes that changes files; `None` where its words do not say.
    pub(super) fn read_writer(
        &mut self,
        program: &str,
        arguments: &[String],
        folder: &Path,
    ) -> Option<()> {
        match program {
            "mkdir" | "rmdir" => operands(arguments, "pv").map(drop),
            "touch" => self.keep_all(&operands(arguments, "acm")?, folder),
            "rm" => {
                let given = operands(arguments, "frRvd")?;
                self.writes
                    .extend(given.iter().map(|word| folder.join(word)));
                Some(())
            }
            "tee" => {
                let keeps = match arguments.iter().any(|word| word.starts_with("-")) {
                    true => KeepsText::Yes,
                    false => KeepsText::No,
                };
                for word in operands(arguments, "a")? {
                    self.write_into(folder.join(word), keeps);
                }
                Some(())
            }
            "cp" => self.read_move(&operands(arguments, "fnpv")?, folder),
            "mv" => {
                let given = operands(arguments, "fnv")?;
                self.writes
                    .extend(given.iter().map(|word| folder.join(word)));
                self.read_move(&given, folder)
            }
            "sed" => self.read_sed(arguments, folder),
            "git" => self.read_git(arguments, folder),
            // A shell that is given its script among its words.
            "sh" | "bash" | "dash" => match arguments {
                [option, script] if option == "-c" => self.read_line(script, folder),
                _ => None,
            },
            _ => None,
        }
    }

    fn keep_all(&mut self, given: &[&str], folder: &Path) -> Option<()> {
        for word in given {
            self.write_into(folder.join(word), KeepsText::Yes);
        }
        Some(())
    }

    /// Files that are given another name, or a second one. Of a folder nobody sees what is in it.
    fn read_move(&mut self, given: &[&str], folder: &Path) -> Option<()> {
        let (last, sources) = given
            .split_last()
            .filter(|(_, sources)| !sources.is_empty())?;
        let end = folder.join(last);
        for source in sources {
            let source = folder.join(source);
            let name = source.file_name()?.to_owned();
            // From another place a link may lead elsewhere.
            (!source.is_symlink()).then_some(())?;
            self.targets.push(ReadTarget::Text(source));
            self.writes.push(match end.is_dir() || last.ends_with('/') {
                true => end.join(name),
                false => end.clone(),
            });
        }
        Some(())
    }

    /// `sed`, with scripts that name no other file and run nothing.
    fn read_sed(&mut self, arguments: &[String], folder: &Path) -> Option<()> {
        let mut has_script = false;
        let mut in_place = false;
        let mut given = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-i" | "--in-place" => in_place = true,
                "-n" | "-E" | "-r" | "-z" | "-s" => {}
                "-e" => {
                    is_plain_script(words.next()?).then_some(())?;
                    has_script = true;
                }
                option if option.starts_with('-') => return None,
                word => given.push(word),
            }
        }
        // Without `-e`, wherever that stands, the first word is the script.
        if !has_script {
            let script = (!given.is_empty()).then(|| given.remove(0))?;
            is_plain_script(script).then_some(())?;
        }
        match in_place {
            true => self.keep_all(&given, folder),
            false => {
                let texts = given.iter().map(|file| ReadTarget::Text(folder.join(file)));
                self.targets.extend(texts);
                Some(())
            }
        }
    }

    /// Commands of git that move what is there and print next to nothing.
    fn read_git(&mut self, arguments: &[String], folder: &Path) -> Option<()> {
        let (command, rest) = arguments.split_first()?;
        self.repositories.push(folder.to_owned());
        match command.as_str() {
            "mv" => {
                let given = operands(rest, "fkv")?;
                self.writes
                    .extend(given.iter().map(|word| folder.join(word)));
                self.read_move(&given, folder)
            }
            "rm" => {
                let given = operands(rest, "frq")?;
                self.writes
                    .extend(given.iter().map(|word| folder.join(word)));
                Some(())
            }
            _ => None,
        }
    }
}

/// The words that are no options; `None` where an option is not one of these letters.
fn operands<'w>(arguments: &'w [String], letters: &str) -> Option<Vec<&'w str>> {
    let mut given = Vec::new();
    let mut ended = false;
    for word in arguments.iter().map(String::as_str) {
        match word.strip_prefix('-') {
            Some("-") => ended = true,
            Some(options) if !ended && !options.is_empty() => {
                if !options.chars().all(|letter| letters.contains(letter)) {
                    return None;
                }
            }
            _ => given.push(word),
        }
    }
    Some(given)
}

/// One command of sed that reads, writes and runs nothing: lines deleted, printed, replaced or
/// added. `e`, `r`, `w` and the flags of `s` that do the same are not.
fn is_plain_script(script: &str) -> bool {
    let script = script.trim();
    if script.contains('\n') {
        return false;
    }
    let Some(command) = after_address(script) else {
        return false;
    };
    match command.split_at_checked(1) {
        Some(("d" | "p" | "q" | "=", rest)) => rest.is_empty(),
        Some(("a" | "i" | "c", text)) => !text.is_empty(),
        Some(("s" | "y", rest)) => is_plain_replacement(rest),
        _ => false,
    }
}

/// What follows the lines a command is for: none, `3`, `$`, `/word/`, or two of them.
fn after_address(script: &str) -> Option<&str> {
    let mut rest = script;
    for at in 0..2 {
        rest = match rest.chars().next()? {
            '/' => {
                let end = end_of_part(rest.get(1..)?, '/')?;
                rest.get(1 + end + 1..)?
            }
            '$' => rest.get(1..)?,
            c if c.is_ascii_digit() => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            _ if at == 0 => return Some(rest),
            _ => return None,
        };
        match rest.strip_prefix(',') {
            Some(more) if at == 0 => rest = more,
            _ => break,
        }
    }
    Some(rest.trim_start())
}

/// `/from/to/flags` with any sign between, and flags that only say which and how often.
fn is_plain_replacement(text: &str) -> bool {
    let Some(sign) = text.chars().next().filter(char::is_ascii_punctuation) else {
        return false;
    };
    if sign == '\\' {
        return false;
    }
    let flags = || {
        let rest = text.get(1..)?;
        let rest = rest.get(end_of_part(rest, sign)? + 1..)?;
        rest.get(end_of_part(rest, sign)? + 1..)
    };
    flags().is_some_and(|flags| {
        flags
            .chars()
            .all(|flag| matches!(flag, 'g' | 'i' | 'I' | 'p') || flag.is_ascii_digit())
    })
}

/// Where a part ends: at the first sign that is not escaped. A sign in brackets is not for a
/// glance.
fn end_of_part(text: &str, sign: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' if !escaped => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == sign => return Some(at),
            _ => {}
        }
    }
    None
}
