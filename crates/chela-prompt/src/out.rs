//! The buffer a prompt grows in, and the spans that grow with it.

use std::borrow::Cow;
use std::ops::Range;

use chela_core::{Audience, Origin, Trust, Zone, sanitize};

use crate::{
    CleanText, PartKind, PartSpan, Prompt, RenderError, SectionId, SectionSpan, SourcedValue,
    SpanOrigin,
};

pub(crate) struct PromptWriter {
    text: String,
    sections: Vec<SectionSpan>,
    parts: Vec<PartSpan>,
}

impl PromptWriter {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            sections: Vec::with_capacity(SectionId::ALL.len()),
            parts: Vec::new(),
        }
    }

    /// Renders one section: a blank line after the one before it, the heading, the body.
    pub(crate) fn section(
        &mut self,
        id: SectionId,
        zone: Zone,
        heading: Option<Cow<'static, str>>,
        body: impl FnOnce(&mut Self),
    ) {
        if let Some(previous) = self.sections.last_mut() {
            self.text.push_str("\n\n");
            previous.range.end = self.text.len();
        }
        let start = self.text.len();
        if let Some(heading) = &heading {
            self.text.push_str(heading);
            self.text.push('\n');
        }
        self.sections.push(SectionSpan {
            id,
            heading,
            range: start..start,
            zone,
            origin: SpanOrigin::BUILT_IN,
            trust: Trust::Operator,
            audience: Audience::Shared,
        });
        body(self);
        self.trim_line_end();
        let end = self.text.len();
        if let Some(section) = self.sections.last_mut() {
            section.range.end = end;
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// A value as it may stand inside a line.
    pub(crate) fn push_value(&mut self, value: &str) {
        self.text.push_str(one_line(value).as_ref());
    }

    /// Values in one line, with a comma between them.
    pub(crate) fn push_list<'v>(&mut self, values: impl Iterator<Item = &'v str>) {
        let mut between = "";
        for value in values {
            self.text.push_str(between);
            self.push_value(value);
            between = ", ";
        }
    }

    /// A value that may be absent, as it may stand inside a line.
    pub(crate) fn push_optional(&mut self, value: &Option<String>) {
        self.push_value(value.as_deref().unwrap_or_default());
    }

    /// Contributed lines one under the other behind a mark, each a part of its own.
    pub(crate) fn push_lines(&mut self, mark: &str, lines: &[&SourcedValue<String>]) {
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                self.text.push('\n');
            }
            self.part(PartKind::Line, SpanSource::of(line), |out| {
                out.text.push_str(mark);
                out.text.push_str(&item(&line.value));
            });
        }
    }

    /// A contributed value that the whole section is about.
    pub(crate) fn push_line(&mut self, line: Option<&SourcedValue<String>>) {
        let Some(line) = line else { return };
        let source = SpanSource::of(line);
        self.set_source(&source);
        self.part(PartKind::Line, source, |out| {
            out.text.push_str(&item(&line.value))
        });
    }

    /// A contributed text that the whole section is about, byte for byte.
    pub(crate) fn push_block(&mut self, block: &SourcedValue<CleanText>) {
        let source = SpanSource::of(block);
        self.set_source(&source);
        self.part(PartKind::Block, source, |out| {
            out.text.push_str(block.value.as_str())
        });
    }

    /// Renders a piece that has its own source. The section takes on its lower trust and its
    /// narrower audience.
    pub(crate) fn part(
        &mut self,
        kind: PartKind,
        source: SpanSource,
        body: impl FnOnce(&mut Self),
    ) {
        let start = self.text.len();
        body(self);
        self.part_at(kind, source, start..self.text.len());
    }

    /// Names the source of a piece that is already in the text.
    pub(crate) fn part_at(&mut self, kind: PartKind, source: SpanSource, range: Range<usize>) {
        let Some(section) = self.sections.last_mut() else {
            return;
        };
        let SpanSource {
            origin,
            trust,
            audience,
        } = source;
        section.trust = section.trust.join(trust);
        section.audience = section.audience.min(audience);
        self.parts.push(PartSpan {
            section: section.id,
            kind,
            range,
            origin,
            trust,
            audience,
        });
    }

    /// Names the source of the whole section, where its substance comes from one place.
    pub(crate) fn set_source(&mut self, source: &SpanSource) {
        if let Some(section) = self.sections.last_mut() {
            section.origin = source.origin.clone();
            section.trust = section.trust.join(source.trust);
        }
    }

    /// Records the heading that a contributed text brought with it.
    pub(crate) fn note_heading(&mut self, heading: &str) {
        if let Some(section) = self.sections.last_mut()
            && section.heading.is_none()
        {
            section.heading = Some(Cow::Owned(heading.to_owned()));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Takes back what was written behind `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
    }

    pub(crate) fn reserve_parts(&mut self, parts: usize) {
        self.parts.reserve(parts);
    }

    /// Closes the prompt, unless something in it is not for this session's audience.
    pub(crate) fn finish(self, session: Audience) -> Result<Prompt, RenderError> {
        let Self {
            text,
            sections,
            parts,
        } = self;
        if let Some(part) = parts.iter().find(|part| !part.audience.may_reach(session)) {
            let (section, origin) = (part.section, Origin::clone(&part.origin));
            return Err(RenderError::PrivateForShared { section, origin });
        }
        let boundary = sections
            .iter()
            .find(|section| section.zone == Zone::Volatile)
            .map_or(text.len(), |section| section.range.start);
        Ok(Prompt {
            text,
            sections,
            parts,
            boundary,
        })
    }

    pub(crate) fn trim_line_end(&mut self) {
        while self.text.ends_with([' ', '\n']) {
            self.text.pop();
        }
    }
}

/// Who is answerable for a piece of the text.
pub(crate) struct SpanSource {
    pub(crate) origin: SpanOrigin,
    pub(crate) trust: Trust,
    pub(crate) audience: Audience,
}

impl SpanSource {
    /// A source for everyone in the session.
    pub(crate) fn new(origin: &Origin, trust: Trust) -> Self {
        Self {
            origin: origin.clone().into(),
            trust,
            audience: Audience::Shared,
        }
    }

    fn of<T>(sourced: &SourcedValue<T>) -> Self {
        Self {
            audience: sourced.audience,
            ..Self::new(&sourced.origin, sourced.trust)
        }
    }
}

/// A value as it may stand inside a line: cleaned and trimmed.
pub(crate) fn one_line(value: &str) -> Cow<'_, str> {
    match sanitize::literal(value) {
        Cow::Borrowed(clean) => Cow::Borrowed(clean.trim()),
        Cow::Owned(clean) => Cow::Owned(clean.trim().to_owned()),
    }
}

/// A line of its own that is only text: without a mark at its beginning that would make it a
/// heading, a list item, a quotation, a rule or a code fence.
pub(crate) fn item(line: &str) -> Cow<'_, str> {
    let line = one_line(line);
    let unmarked = without_marks(&line);
    if unmarked.len() == line.len() {
        return line;
    }
    Cow::Owned(unmarked.to_owned())
}

fn without_marks(mut line: &str) -> &str {
    loop {
        let rest = line.trim_start_matches(['#', '-', '*', '+', '=', '_', '>', '~', '`', '<']);
        let mark = &line[..line.len() - rest.len()];
        let is_mark = !mark.is_empty()
            && (rest.is_empty()
                || rest.starts_with(char::is_whitespace)
                || mark.starts_with('>')
                || mark.contains("```")
                || mark.contains("~~~")
                || (mark.ends_with('<') && rest.starts_with('!')));
        if !is_mark {
            return line;
        }
        line = rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::{item, one_line};

    #[test]
    fn values_lose_what_could_end_a_line() {
        assert_eq!(one_line(" a\n## b\u{202e}\u{e0041}c\r "), "a## bc");
        assert_eq!(one_line("plain"), "plain");
    }

    #[test]
    fn a_line_of_its_own_is_only_text() {
        for (given, shown) in [
            ("- opus: a/b", "opus: a/b"),
            ("## Safety", "Safety"),
            ("- ### x", "x"),
            ("#general is read-only", "#general is read-only"),
            ("-1 is fine", "-1 is fine"),
            ("#", ""),
            ("---", ""),
            ("```sh", "sh"),
            ("> # quoted", "quoted"),
            ("<!-- hidden", "!-- hidden"),
            ("<b>bold</b> and `code`", "<b>bold</b> and `code`"),
            ("`chela status` first", "`chela status` first"),
            ("**Bold** first", "**Bold** first"),
        ] {
            assert_eq!(item(given), shown, "{given}");
        }
    }
}
