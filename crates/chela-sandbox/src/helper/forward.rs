//! From the sandbox's loopback to the proxy outside.

use std::io;
use std::path::{Path, PathBuf};

use tokio::net::{TcpListener, UnixStream};

/// Hands every connection on to the proxy, byte for byte; it decides where they may go.
pub async fn forward(listener: std::net::TcpListener, proxy: PathBuf) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (mut inside, _) = listener.accept().await?;
        let proxy = proxy.clone();
        tokio::spawn(async move {
            if let Ok(mut outside) = UnixStream::connect(&proxy).await {
                // Either end may hang up; the other one hears of it.
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        });
    }
}

/// Where the way out begins, inside.
pub fn listen(port: u16, proxy: &Path) -> Result<std::net::TcpListener, String> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", port))
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|error| {
        format!(
            "the sandbox has no way to its proxy {}: {error}",
            proxy.display()
        )
    })
}
