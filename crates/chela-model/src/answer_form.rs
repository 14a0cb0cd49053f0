//! The form that answers are held to, where an endpoint knows no tools.

/// What an endpoint is told of the form of its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerForm {
    /// As it is sent.
    pub text: String,
    pub reader: FormReader,
}

/// Who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormReader {
    /// It becomes a grammar: no token of it is in the context.
    Server,
    /// It is written into the prompt.
    Model,
}
