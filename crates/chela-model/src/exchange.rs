//! One exchange with a service that answers piece by piece.

use bytes::Bytes;

use crate::ModelHttp;
use crate::http::chain;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    Get,
    Post,
    Delete,
}

/// A request to a service. Nothing in it is followed anywhere else.
#[derive(Debug)]
pub struct HttpExchange<'a> {
    pub method: HttpMethod,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    pub body: Vec<u8>,
}

/// An answer whose body is still to come. Dropping it ends the exchange.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    response: reqwest::Response,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpFault {
    /// Nothing was sent.
    #[error("{0}")]
    Unreached(String),
    /// It may have been read.
    #[error("{0}")]
    BrokenOff(String),
}

impl ModelHttp {
    /// Sends a request and waits for the head of the answer. No time limit of its own.
    pub async fn open(&self, exchange: HttpExchange<'_>) -> Result<HttpAnswer, HttpFault> {
        let client = self.client(exchange.url).map_err(HttpFault::Unreached)?;
        let mut request = match exchange.method {
            HttpMethod::Get => client.get(exchange.url),
            HttpMethod::Delete => client.delete(exchange.url),
            HttpMethod::Post => client.post(exchange.url).body(exchange.body),
        };
        for (name, value) in exchange.headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| {
            let error = error.without_url();
            match error.is_connect() || error.is_builder() {
                true => HttpFault::Unreached(chain(&error)),
                false => HttpFault::BrokenOff(chain(&error)),
            }
        })?;
        let headers = response.headers().iter();
        Ok(HttpAnswer {
            status: response.status().as_u16(),
            headers: headers
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                })
                .collect(),
            response,
        })
    }
}

impl HttpAnswer {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The next piece of the body; `None` at its end.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, String> {
        let piece = self.response.chunk().await;
        piece.map_err(|error| chain(&error.without_url()))
    }

    /// The whole body, where it is no longer than this.
    pub async fn read_whole(&mut self, most: usize) -> Result<Vec<u8>, String> {
        let mut body = Vec::new();
        while let Some(piece) = self.next_piece().await? {
            if body.len() + piece.len() > most {
                return Err(format!("the answer is longer than {most} bytes"));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}
