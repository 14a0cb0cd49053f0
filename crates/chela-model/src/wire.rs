//! The wire formats.

use crate::{Request, Target};

pub fn body(_target: &Target, _request: &Request) -> Vec<u8> {
    Vec::new()
}

pub fn url(target: &Target) -> String {
    target.base_url().to_owned()
}
