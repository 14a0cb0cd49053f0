//! The web: pages and searches. What comes back is external content, always wrapped.
//!
//! A page's server is looked up here, every address it has is checked, and the connection can go
//! to no other; on every redirect again. So neither a name that leads to this machine nor one
//! that changes where it leads between check and connection gets anywhere.

mod address;
mod cache;
mod fetch;
mod readable_page;
mod search;
mod web_access;
mod web_tls;

use std::sync::Arc;

use chela_config::LoadedConfig;
use chela_core::Host;

use crate::Tool;
use crate::handles::SecretHandles;
use web_tls::WebTls;

pub use address::{AddressPolicy, PrivateAddresses};
pub use fetch::WebFetchTool;
pub use search::{SearchService, WebSearchTool};

/// The web tools that are set up, for the toolbox.
pub fn web_tools(
    host: &Host,
    loaded: &LoadedConfig,
    handles: &Arc<dyn SecretHandles>,
) -> Vec<Arc<dyn Tool>> {
    let web = &loaded.config.tools.web;
    let mut host = host.clone();
    host.env = loaded.env().clone();
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if let Some(search) = WebSearchTool::new(&web.search, &host) {
        tools.push(Arc::new(search));
    }
    if web.fetch.enabled != Some(false) {
        let fetch = WebFetchTool::new(&web.fetch, Arc::clone(&host.entropy))
            .with_handles(Arc::clone(handles))
            .with_tls(WebTls::of(&host));
        tools.push(Arc::new(fetch));
    }
    tools
}

#[cfg(test)]
mod tests;
