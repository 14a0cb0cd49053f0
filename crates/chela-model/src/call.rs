//! One call: send, listen, explain what went wrong.

use crate::{Event, Failure, Http, ModelError, Request, Response, Target};

pub async fn stream(
    target: &Target,
    http: &Http,
    request: &Request,
    sink: &mut (dyn FnMut(Event) + Send),
) -> Result<Response, ModelError> {
    let _ = (http, target.body(request), sink);
    Err(ModelError {
        failure: Failure::Unreachable,
        message: format!("{} cannot be called yet", target.reference()),
        hint: None,
        model: target.reference().to_owned(),
    })
}
