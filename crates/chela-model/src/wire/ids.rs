//! Tool call ids, in the form each family accepts. The same id always becomes the same one, so
//! that call and result still belong together and the cached prefix does not move.

use chela_core::ContentHash;

/// What an endpoint accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdForm {
    /// At most 40 characters.
    OpenAi,
    /// At most 64 of letters, digits, `_` and `-`.
    Anthropic,
    /// Letters and digits.
    Google,
    /// Exactly nine letters and digits.
    Mistral,
}

pub fn adapted(id: &str, form: IdForm) -> String {
    let fits = match form {
        IdForm::OpenAi => !id.is_empty() && id.len() <= 40,
        IdForm::Anthropic => {
            (1..=64).contains(&id.len())
                && id
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        }
        IdForm::Google => {
            (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
        IdForm::Mistral => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    };
    if fits {
        return id.to_owned();
    }
    let hash = ContentHash::of(id).to_string();
    match form {
        IdForm::OpenAi | IdForm::Anthropic => format!("call_{hash:.24}"),
        IdForm::Google => format!("call{hash:.24}"),
        IdForm::Mistral => format!("{hash:.9}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{IdForm, adapted};
    use proptest::prelude::*;

    #[test]
    fn what_fits_stays() {
        assert_eq!(adapted("call_ab-1", IdForm::OpenAi), "call_ab-1");
        assert_eq!(adapted("abc123XYZ", IdForm::Mistral), "abc123XYZ");
        assert_ne!(adapted("call_1", IdForm::Google), "call_1");
    }

    proptest! {
        #[test]
        fn every_id_fits_and_is_told_apart(a in ".{0,80}", b in ".{0,80}") {
            for form in [IdForm::OpenAi, IdForm::Anthropic, IdForm::Google, IdForm::Mistral] {
                let (x, y) = (adapted(&a, form), adapted(&b, form));
                prop_assert_eq!(&adapted(&x, form), &x, "an id that fits stays");
                prop_assert!(!x.is_empty() && x.len() <= 64);
                prop_assert_eq!(a == b, x == y);
                if form == IdForm::Mistral {
                    prop_assert_eq!(x.len(), 9);
                }
            }
        }
    }
}
