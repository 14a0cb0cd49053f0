//! A file from the web: bounded in size, time and redirects. No key goes along.

use std::time::Duration;

use reqwest::{Response, Url, header};

use crate::ModelHttp;
use crate::http::chain;

/// From one address to the next, at most so often.
const MOST_REDIRECTS: usize = 5;

/// How much of a file is taken, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub struct DownloadLimit {
    pub bytes: u64,
    pub patience: Duration,
}

/// Why there is no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    #[error("`{address}` is not an http or https URL")]
    Address { address: String },
    #[error("{address} answered with status {status}")]
    Status { address: String, status: u16 },
    #[error("{address} redirects from https to plain http")]
    Insecure { address: String },
    #[error("{address} redirects too often")]
    Redirects { address: String },
    #[error("{address} is longer than {limit} bytes")]
    TooLong { address: String, limit: u64 },
    #[error("{address}: {why}")]
    Failed { address: String, why: String },
}

/// An address as it is written in a file that came from `base`.
pub fn resolve_address(base: &str, written: &str) -> Result<String, DownloadError> {
    let base = parse(base)?;
    let joined = base.join(written).map_err(|_| DownloadError::Address {
        address: written.to_owned(),
    })?;
    parse(joined.as_str()).map(String::from)
}

fn parse(address: &str) -> Result<Url, DownloadError> {
    match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(DownloadError::Address {
            address: address.to_owned(),
        }),
    }
}

impl ModelHttp {
    /// The bytes at an address. `progress` hears how many have come so far.
    pub async fn download(
        &self,
        address: &str,
        limit: DownloadLimit,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Vec<u8>, DownloadError> {
        let fetched = self.follow(address, limit, progress);
        match tokio::time::timeout(limit.patience, fetched).await {
            Ok(fetched) => fetched,
            Err(_) => Err(DownloadError::Failed {
                address: address.to_owned(),
                why: format!("timed out after {} s", limit.patience.as_secs()),
            }),
        }
    }

    async fn follow(
        &self,
        address: &str,
        limit: DownloadLimit,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Vec<u8>, DownloadError> {
        let mut url = parse(address)?;
        for _ in 0..=MOST_REDIRECTS {
            let response = self.ask(&url).await?;
            let Some(next) = redirect(&url, &response)? else {
                return read(&url, response, limit.bytes, progress).await;
            };
            url = next;
        }
        Err(DownloadError::Redirects {
            address: address.to_owned(),
        })
    }

    async fn ask(&self, url: &Url) -> Result<Response, DownloadError> {
        let client = self
            .client(url.as_str())
            .map_err(|why| failed(url, why.clone()))?;
        client
            .get(url.clone())
            // The very bytes that lie there, so that their hash says something.
            .header(header::ACCEPT_ENCODING, "identity")
            .send()
            .await
            .map_err(|error| failed(url, chain(&error.without_url())))
    }
}

/// Where an answer leads; `None` when it is the file itself.
fn redirect(url: &Url, response: &Response) -> Result<Option<Url>, DownloadError> {
    let status = response.status();
    if status.is_success() {
        return Ok(None);
    }
    let next = response
        .headers()
        .get(header::LOCATION)
        .filter(|_| status.is_redirection())
        .and_then(|place| url.join(place.to_str().ok()?).ok());
    match next {
        None => Err(DownloadError::Status {
            address: url.to_string(),
            status: status.as_u16(),
        }),
        Some(next) if url.scheme() == "https" && next.scheme() != "https" => {
            Err(DownloadError::Insecure {
                address: url.to_string(),
            })
        }
        Some(next) => parse(next.as_str()).map(Some),
    }
}

async fn read(
    url: &Url,
    mut response: Response,
    limit: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<u8>, DownloadError> {
    let mut bytes = Vec::new();
    loop {
        let piece = response
            .chunk()
            .await
            .map_err(|error| failed(url, chain(&error.without_url())))?;
        let Some(piece) = piece else {
            return Ok(bytes);
        };
        let so_far = (bytes.len() + piece.len()) as u64;
        if so_far > limit {
            return Err(DownloadError::TooLong {
                address: url.to_string(),
                limit,
            });
        }
        bytes.extend_from_slice(&piece);
        progress(so_far);
    }
}

fn failed(url: &Url, why: String) -> DownloadError {
    DownloadError::Failed {
        address: url.to_string(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::resolve_address;

    #[test]
    fn addresses_in_a_file_begin_where_it_came_from() {
        let base = "https://chela.example/stable/index.json";
        let resolved = |written| resolve_address(base, written).map_err(|error| error.to_string());
        let beside = resolved("chela-1.0.0.tar.gz");
        assert_eq!(
            beside.as_deref(),
            Ok("https://chela.example/stable/chela-1.0.0.tar.gz")
        );
        let elsewhere = resolved("https://files.example/a.tar.gz");
        assert_eq!(elsewhere.as_deref(), Ok("https://files.example/a.tar.gz"));
        assert!(resolved("file:///etc/passwd").is_err());
        assert!(resolve_address("/srv/index.json", "a").is_err());
    }
}
