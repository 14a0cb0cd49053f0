//! Character by character through a script.

use super::{NotUnderstood, ShellRedirection, ShellScript, ShellWord, SimpleCommand, WordValue};

const LONGEST: usize = 64 * 1024;
const DEEPEST: usize = 16;

/// Words that mean something else in front of a command. `!` is read as what it is.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "{", "}", "[[", "]]", "function", "select", "time", "coproc",
];

type Reading<T> = Result<T, NotUnderstood>;

pub fn read(text: &str) -> Reading<ShellScript> {
    if text.len() > LONGEST {
        return Err(NotUnderstood::TooLarge);
    }
    if text.contains('\0') {
        return Err(NotUnderstood::Syntax("NUL"));
    }
    let mut script = ShellScript::default();
    let mut reader = Reader::new(text, 0)?;
    let links = reader.list(&mut script.commands, End::Text)?;
    script.is_single = links == 0 && script.commands.len() == 1;
    Ok(script)
}

/// Where a list of commands ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Parenthesis,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// Here-documents whose text follows the current line.
    pending: Vec<HereDocument>,
}

struct HereDocument {
    delimiter: String,
    expands: bool,
    strips_tabs: bool,
}

impl Reader {
    fn new(text: &str, depth: usize) -> Reading<Self> {
        if depth > DEEPEST {
            return Err(NotUnderstood::TooLarge);
        }
        Ok(Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            pending: Vec::new(),
        })
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn rest(&self) -> &[char] {
        self.chars.get(self.at..).unwrap_or_default()
    }

    fn ahead(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let taken = self.peek() == Some(wanted);
        self.at += usize::from(taken);
        taken
    }

    fn next(&mut self) -> Reading<char> {
        let c = self.peek().ok_or(NotUnderstood::Unclosed)?;
        self.at += 1;
        Ok(c)
    }

    /// Reads commands until the end; gives how many operators link them.
    fn list(&mut self, into: &mut Vec<SimpleCommand>, end: End) -> Reading<usize> {
        let mut links = 0;
        loop {
            self.blanks_and_lines()?;
            match self.peek() {
                None if end == End::Text => return self.no_pending().map(|()| links),
                None => return Err(NotUnderstood::Unclosed),
                Some(')') if end == End::Parenthesis => {
                    self.at += 1;
                    return self.no_pending().map(|()| links);
                }
                Some(_) => {}
            }
            links += self.command(into)?;
            links += self.operator()?;
        }
    }

    /// What links two commands: 1 for an operator, 0 at an end.
    fn operator(&mut self) -> Reading<usize> {
        self.blanks();
        match (self.peek(), self.ahead(1)) {
            (None | Some(')' | '\n'), _) => Ok(0),
            (Some('&'), Some('>')) => Err(NotUnderstood::Syntax("&>")),
            (Some('|'), Some('&')) => Err(NotUnderstood::Syntax("|&")),
            (Some(';'), Some(';' | '&')) => Err(NotUnderstood::Syntax(";;")),
            (Some('&'), Some('&')) | (Some('|'), Some('|')) => {
                self.at += 2;
                Ok(1)
            }
            (Some(';'), _) => {
                self.at += 1;
                self.blanks();
                Ok(usize::from(self.peek().is_some()))
            }
            (Some('&' | '|'), _) => {
                self.at += 1;
                Ok(1)
            }
            _ => Err(NotUnderstood::Syntax("an unexpected character")),
        }
    }

    fn command(&mut self, into: &mut Vec<SimpleCommand>) -> Reading<usize> {
        self.blanks();
        if self.peek() == Some('!') && self.ahead(1).is_none_or(char::is_whitespace) {
            self.at += 1;
            return Ok(1 + self.command(into)?);
        }
        if self.take('(') {
            if self.peek() == Some('(') {
                return Err(NotUnderstood::Syntax("(("));
            }
            self.deeper()?;
            self.list(into, End::Parenthesis)?;
            self.depth -= 1;
            let mut around = SimpleCommand::default();
            self.parts(&mut around, into)?;
            if !around.words.is_empty() || around.assignments > 0 {
                return Err(NotUnderstood::Syntax("words after )"));
            }
            if !around.redirections.is_empty() {
                into.push(around);
            }
            return Ok(1);
        }
        let mut simple = SimpleCommand::default();
        // Commands inside its words come first: the shell runs them first.
        self.parts(&mut simple, into)?;
        if let Some(first) = simple.words.first()
            && simple.assignments == 0
            && KEYWORDS.contains(&first.text.as_str())
        {
            return Err(NotUnderstood::Keyword(first.text.clone()));
        }
        let is_empty =
            simple.words.is_empty() && simple.assignments == 0 && simple.redirections.is_empty();
        if is_empty {
            return Err(NotUnderstood::Syntax("an operator without a command"));
        }
        into.push(simple);
        Ok(0)
    }

    /// Words, assignments and redirections of one command.
    fn parts(&mut self, simple: &mut SimpleCommand, into: &mut Vec<SimpleCommand>) -> Reading<()> {
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '&' | '|' | ')') => return Ok(()),
                Some('(') => return Err(NotUnderstood::Syntax("(")),
                Some('<' | '>') => {
                    let redirection = self.redirection(into)?;
                    simple.redirections.push(redirection);
                }
                Some(c) if c.is_ascii_digit() && self.is_descriptor() => {
                    while self.peek().is_some_and(|c| c.is_ascii_digit()) {
                        self.at += 1;
                    }
                    let redirection = self.redirection(into)?;
                    simple.redirections.push(redirection);
                }
                Some(_) => {
                    let is_assignment = simple.words.is_empty() && self.is_assignment();
                    let word = self.word(into)?;
                    if is_assignment {
                        simple.assignments += 1;
                    } else {
                        simple.words.push(word);
                    }
                }
            }
        }
    }

    fn is_descriptor(&self) -> bool {
        let digits = self.rest().iter().take_while(|c| c.is_ascii_digit());
        let digits = digits.count();
        matches!(self.ahead(digits), Some('<' | '>'))
    }

    fn is_assignment(&self) -> bool {
        let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let rest = self.rest();
        let name = rest.iter().take_while(|c| is_name(c)).count();
        let starts = rest.first().is_some_and(|c| !c.is_ascii_digit());
        let after = rest.get(name..).unwrap_or_default();
        name > 0 && starts && matches!(after, ['=' | '[', ..] | ['+', '=', ..])
    }

    fn redirection(&mut self, into: &mut Vec<SimpleCommand>) -> Reading<ShellRedirection> {
        let is_input = self.next()? == '<';
        match (is_input, self.peek(), self.ahead(1)) {
            (true, Some('<'), Some('<')) => return Err(NotUnderstood::Syntax("<<<")),
            (true, Some('<'), _) => {
                self.at += 1;
                return self.here_document(into);
            }
            (true, Some('>'), _) => return Err(NotUnderstood::Syntax("<>")),
            (_, Some('('), _) => return Err(NotUnderstood::Syntax("<(")),
            (_, Some('&'), _) => {
                self.at += 1;
                let target = self.target(into)?;
                let other = target.value == WordValue::Literal
                    && !target.text.is_empty()
                    && target.text.chars().all(|c| c.is_ascii_digit() || c == '-');
                return match other {
                    true => Ok(ShellRedirection::Harmless),
                    false => Err(NotUnderstood::Syntax(">&")),
                };
            }
            (false, Some('>' | '|'), _) => self.at += 1,
            _ => {}
        }
        let target = self.target(into)?;
        Ok(match (is_input, target.value, target.text.as_str()) {
            (_, WordValue::Literal, "/dev/null") => ShellRedirection::Harmless,
            (true, ..) => ShellRedirection::Input,
            (false, ..) => ShellRedirection::Output(target),
        })
    }

    fn target(&mut self, into: &mut Vec<SimpleCommand>) -> Reading<ShellWord> {
        self.blanks();
        match self.peek() {
            None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') => {
                Err(NotUnderstood::Syntax("a redirection without a target"))
            }
            Some(_) => self.word(into),
        }
    }

    fn here_document(&mut self, into: &mut Vec<SimpleCommand>) -> Reading<ShellRedirection> {
        let strips_tabs = self.take('-');
        self.blanks();
        let start = self.at;
        let word = self.target(into)?;
        let written = self.chars.get(start..self.at).unwrap_or_default();
        let quoted = written.iter().any(|c| matches!(c, '\'' | '"' | '\\'));
        if word.value == WordValue::Expands {
            return Err(NotUnderstood::Syntax("<<"));
        }
        self.pending.push(HereDocument {
            delimiter: word.text,
            expands: !quoted,
            strips_tabs,
        });
        Ok(ShellRedirection::Input)
    }

    /// Passes over the texts of here-documents after the end of a line.
    fn documents(&mut self) -> Reading<()> {
        for document in std::mem::take(&mut self.pending) {
            loop {
                if self.at >= self.chars.len() {
                    return Err(NotUnderstood::Unclosed);
                }
                let line: Vec<char> = self
                    .rest()
                    .split(|c| *c == '\n')
                    .next()
                    .unwrap_or_default()
                    .to_vec();
                self.at = (self.at + line.len() + 1).min(self.chars.len());
                let line: String = line.into_iter().collect();
                let compared = match document.strips_tabs {
                    true => line.trim_start_matches('\t'),
                    false => line.as_str(),
                };
                if compared == document.delimiter {
                    break;
                }
                if document.expands && line.contains(['$', '`', '\\']) {
                    return Err(NotUnderstood::Syntax("an expansion in a here-document"));
                }
            }
        }
        Ok(())
    }

    fn no_pending(&self) -> Reading<()> {
        match self.pending.is_empty() {
            true => Ok(()),
            false => Err(NotUnderstood::Unclosed),
        }
    }

    fn word(&mut self, into: &mut Vec<SimpleCommand>) -> Reading<ShellWord> {
        let mut word = ShellWord::default();
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => {
                    self.at += 1;
                    let escaped = self.next()?;
                    if escaped != '\n' {
                        word.text.push(escaped);
                    }
                }
                '\'' => {
                    self.at += 1;
                    loop {
                        match self.next()? {
                            '\'' => break,
                            c => word.text.push(c),
                        }
                    }
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut word, into)?;
                }
                '$' => self.dollar(&mut word, into, InQuotes::No)?,
                '`' => self.backticks(&mut word, into)?,
                '*' | '?' | '[' => self.expanding(&mut word, c),
                '~' if self.at == start || word.text.ends_with([':', '=']) => {
                    self.expanding(&mut word, c);
                }
                // `{a,b}` expands in some shells and not in others.
                '{' if self.at > start || self.ahead(1).is_some_and(|c| !c.is_whitespace()) => {
                    self.expanding(&mut word, c);
                }
                c => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
        Ok(word)
    }

    fn expanding(&mut self, word: &mut ShellWord, c: char) {
        self.at += 1;
        word.text.push(c);
        word.value = WordValue::Expands;
    }

    fn double_quoted(
        &mut self,
        word: &mut ShellWord,
        into: &mut Vec<SimpleCommand>,
    ) -> Reading<()> {
        loop {
            match self.peek().ok_or(NotUnderstood::Unclosed)? {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    self.at += 1;
                    match self.next()? {
                        '\n' => {}
                        c @ ('$' | '`' | '"' | '\\') => word.text.push(c),
                        c => word.text.extend(['\\', c]),
                    }
                }
                '$' => self.dollar(word, into, InQuotes::Yes)?,
                '`' => self.backticks(word, into)?,
                c => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
    }

    fn dollar(
        &mut self,
        word: &mut ShellWord,
        into: &mut Vec<SimpleCommand>,
        quotes: InQuotes,
    ) -> Reading<()> {
        self.expanding(word, '$');
        match self.peek() {
            Some('(') if self.ahead(1) == Some('(') => Err(NotUnderstood::Syntax("$((")),
            Some('(') => {
                self.at += 1;
                self.deeper()?;
                self.list(into, End::Parenthesis)?;
                self.depth -= 1;
                word.text.push_str("(…)");
                Ok(())
            }
            Some('{') => {
                self.at += 1;
                while let Ok(c) = self.next() {
                    match c {
                        '}' => return Ok(()),
                        c if c.is_ascii_alphanumeric() || c == '_' => word.text.push(c),
                        _ => return Err(NotUnderstood::Syntax("${…}")),
                    }
                }
                Err(NotUnderstood::Unclosed)
            }
            Some('\'' | '"') if quotes == InQuotes::No => Err(NotUnderstood::Syntax("$'")),
            Some(c) if c.is_ascii_alphanumeric() || "_?$!#@*-".contains(c) => {
                self.expanding(word, c);
                while self
                    .peek()
                    .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
                {
                    let c = self.next()?;
                    word.text.push(c);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn backticks(&mut self, word: &mut ShellWord, into: &mut Vec<SimpleCommand>) -> Reading<()> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => match self.next()? {
                    c @ ('$' | '`' | '\\') => inner.push(c),
                    c => inner.extend(['\\', c]),
                },
                c => inner.push(c),
            }
        }
        let mut reader = Self::new(&inner, self.depth + 1)?;
        reader.list(into, End::Text)?;
        word.text.push_str("`…`");
        word.value = WordValue::Expands;
        Ok(())
    }

    fn deeper(&mut self) -> Reading<()> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(NotUnderstood::TooLarge),
            false => Ok(()),
        }
    }

    fn blanks(&mut self) {
        loop {
            match (self.peek(), self.ahead(1)) {
                (Some(' ' | '\t'), _) => self.at += 1,
                (Some('\\'), Some('\n')) => self.at += 2,
                (Some('#'), _) if self.at == 0 || self.is_after_blank() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn is_after_blank(&self) -> bool {
        matches!(
            self.chars.get(self.at.wrapping_sub(1)),
            Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')')
        )
    }

    fn blanks_and_lines(&mut self) -> Reading<()> {
        loop {
            self.blanks();
            if !self.take('\n') {
                return Ok(());
            }
            self.documents()?;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InQuotes {
    Yes,
    No,
}
