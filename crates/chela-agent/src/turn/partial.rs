//! What was heard of an answer, also of one that never came to its end.

use chela_core::tokens;
use chela_model::{CallFailure, ModelError, Usage};

/// What was heard of an answer so far.
#[derive(Debug, Default)]
pub(crate) struct PartialAnswer {
    pub text: String,
    pub reasoning: String,
    /// Attempts that broke off after they had begun to answer, and the tokens they had said.
    lost: u64,
    lost_output: u64,
}

impl PartialAnswer {
    /// The call begins again: what was said does not count, but was paid for.
    pub fn restart(&mut self) {
        self.lost += 1;
        self.lost_output += self.said();
        self.text.clear();
        self.reasoning.clear();
    }

    fn said(&self) -> u64 {
        (tokens::count(&self.text) + tokens::count(&self.reasoning)) as u64
    }

    /// What the attempts cost that came to nothing, each with `input` tokens to read.
    pub fn wasted(&self, input: u64) -> Usage {
        Usage {
            input: input * self.lost,
            output: self.lost_output,
            estimated: self.lost > 0,
            ..Usage::default()
        }
    }

    /// What a call cost that was broken off here.
    pub fn broken_off(&self, input: u64) -> Usage {
        let mut usage = self.wasted(input);
        usage += Usage {
            input,
            output: self.said(),
            estimated: true,
            ..Usage::default()
        };
        usage
    }

    /// What a call cost that failed. Whoever refuses to answer charges nothing; whoever stops in
    /// the middle has read the request.
    pub fn failed(&self, input: u64, error: &ModelError) -> Usage {
        let began = matches!(
            error.failure,
            CallFailure::Cut | CallFailure::Malformed | CallFailure::Stalled
        );
        match self.lost {
            0 if began => self.broken_off(input),
            _ => self.wasted(input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PartialAnswer;
    use chela_model::{CallFailure, ModelError};

    fn error(failure: CallFailure) -> ModelError {
        ModelError {
            failure,
            message: String::new(),
            hint: None,
            model: String::new(),
        }
    }

    #[test]
    fn every_attempt_that_was_answered_counts_once() {
        let mut partial = PartialAnswer::default();
        let refused = partial.failed(100, &error(CallFailure::Unauthorized));
        assert_eq!((refused.input, refused.estimated), (0, false));
        let cut = partial.failed(100, &error(CallFailure::Cut));
        assert_eq!((cut.input, cut.output, cut.estimated), (100, 0, true));
        partial.text.push_str("one two three");
        partial.restart();
        let again = partial.failed(100, &error(CallFailure::Cut));
        assert_eq!(again.input, 100, "the attempt that broke off is the one");
        assert!(again.output > 0);
        partial.text.push_str("one two");
        let stopped = partial.broken_off(100);
        assert_eq!(stopped.input, 200);
        assert!(stopped.output > again.output);
        assert_eq!(partial.wasted(100), again);
    }
}
