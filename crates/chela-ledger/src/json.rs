//! Where the values of a JSON text stand in it.
//!
//! Only places are noted, nothing is decoded: what is found can be cut out byte for byte.

use std::ops::Range;

/// Deeper than this nothing is noted.
const DEEPEST: usize = 5;
/// Deeper than this it is taken for no JSON.
const TOO_DEEP: usize = 128;

/// The values of a text in the order they begin; the first is the whole.
#[derive(Debug)]
pub struct JsonTree<'b> {
    body: &'b [u8],
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    name: JsonName,
    range: Range<usize>,
    kind: JsonKind,
    /// One past the last node inside this one.
    last: usize,
}

/// What a value is called by what holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonName {
    Root,
    /// The raw text between the quotes.
    Member(Range<usize>),
    Element(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Object,
    Array,
    Text,
    /// A number, `true`, `false` or `null`.
    Word,
}

/// One value of a [`JsonTree`].
#[derive(Debug, Clone, Copy)]
pub struct JsonValue<'t, 'b> {
    tree: &'t JsonTree<'b>,
    at: usize,
}

impl<'b> JsonTree<'b> {
    /// `None` when the text is no JSON.
    pub fn of(body: &'b [u8]) -> Option<Self> {
        let mut scan = Scan {
            body,
            at: 0,
            nodes: Vec::new(),
        };
        scan.value(JsonName::Root, 0)?;
        scan.blank();
        (scan.at == body.len()).then_some(Self {
            body,
            nodes: scan.nodes,
        })
    }

    pub fn root(&self) -> JsonValue<'_, 'b> {
        JsonValue { tree: self, at: 0 }
    }
}

impl<'t, 'b> JsonValue<'t, 'b> {
    pub fn range(&self) -> Range<usize> {
        self.node().range.clone()
    }

    pub fn bytes(&self) -> &'b [u8] {
        self.tree.body.get(self.range()).unwrap_or_default()
    }

    pub fn kind(&self) -> JsonKind {
        self.node().kind
    }

    /// The values directly inside this one.
    pub fn children(&self) -> impl Iterator<Item = JsonValue<'t, 'b>> + use<'t, 'b> {
        let tree = self.tree;
        let last = self.node().last;
        let mut next = self.at + 1;
        std::iter::from_fn(move || {
            let at = (next < last).then_some(next)?;
            next = tree.nodes.get(at)?.last;
            Some(JsonValue { tree, at })
        })
    }

    /// The name of a member as it stands in the text.
    pub fn name(&self) -> Option<&'b str> {
        match &self.node().name {
            JsonName::Member(range) => {
                std::str::from_utf8(self.tree.body.get(range.clone()).unwrap_or_default()).ok()
            }
            JsonName::Root | JsonName::Element(_) => None,
        }
    }

    pub fn member(&self, name: &str) -> Option<JsonValue<'t, 'b>> {
        self.children().find(|child| child.name() == Some(name))
    }

    /// The decoded text of a string.
    pub fn text(&self) -> Option<String> {
        (self.kind() == JsonKind::Text)
            .then(|| serde_json::from_slice(self.bytes()).ok())
            .flatten()
    }

    /// Appends how this value is called inside `outer`: `tools[3]`, `messages[0].content`.
    pub fn path_within(&self, outer: &str) -> String {
        match &self.node().name {
            JsonName::Root => outer.to_owned(),
            JsonName::Element(index) => format!("{outer}[{index}]"),
            JsonName::Member(_) if outer.is_empty() => self.name().unwrap_or("?").to_owned(),
            JsonName::Member(_) => format!("{outer}.{}", self.name().unwrap_or("?")),
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "a node is named by its place in this very tree"
    )]
    fn node(&self) -> &'t Node {
        &self.tree.nodes[self.at]
    }
}

/// Walks over the text once.
struct Scan<'b> {
    body: &'b [u8],
    at: usize,
    nodes: Vec<Node>,
}

impl Scan<'_> {
    fn value(&mut self, name: JsonName, depth: usize) -> Option<()> {
        if depth > TOO_DEEP {
            return None;
        }
        self.blank();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::Text,
            _ => JsonKind::Word,
        };
        let place = (depth <= DEEPEST).then(|| {
            self.nodes.push(Node {
                name,
                range: start..start,
                kind,
                last: 0,
            });
            self.nodes.len() - 1
        });
        match kind {
            JsonKind::Object | JsonKind::Array => self.inside(kind, depth)?,
            JsonKind::Text => self.quoted().map(|_| ())?,
            JsonKind::Word => self.word()?,
        }
        let last = self.nodes.len();
        if let Some(node) = place.and_then(|place| self.nodes.get_mut(place)) {
            node.range.end = self.at;
            node.last = last;
        }
        Some(())
    }

    /// The members of an object or the elements of an array.
    fn inside(&mut self, kind: JsonKind, depth: usize) -> Option<()> {
        let close = if kind == JsonKind::Object { b'}' } else { b']' };
        self.at += 1;
        self.blank();
        if self.peek()? == close {
            self.at += 1;
            return Some(());
        }
        let mut index = 0;
        loop {
            let name = if kind == JsonKind::Object {
                self.blank();
                let name = self.quoted()?;
                self.blank();
                self.take(b':')?;
                JsonName::Member(name)
            } else {
                JsonName::Element(index)
            };
            self.value(name, depth + 1)?;
            index += 1;
            self.blank();
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// A string; where its text stands, quotes excluded.
    fn quoted(&mut self) -> Option<Range<usize>> {
        self.take(b'"')?;
        let start = self.at;
        loop {
            let rest = self.body.get(self.at..)?;
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
            if self.peek()? == b'"' {
                self.at += 1;
                return Some(start..self.at - 1);
            }
            self.at += 2;
        }
    }

    fn word(&mut self) -> Option<()> {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            self.at += 1;
        }
        (self.at > start).then_some(())
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.body.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }
}
