//! The address at which Codex reaches the daemon, and its credential there.
//!
//! The local socket needs no credential. Codex sends none there, so a token of the user's choice takes the network.

use acpd_server::auth::owner_token::Token;
use acpd_server::net::unix_socket;
use anyhow::Context;

use crate::client::local::daemon_file::DaemonFile;
use crate::exit::Exit;
use crate::settings::Settings;

use super::program::Remotes;

/// Variable with the token in Codex's environment. Other users can read the arguments of a process.
pub const TOKEN_VARIABLE: &str = "ACPD_TOKEN";

/// The longest path of a socket that Codex can connect to, in bytes.
const SOCKET_BYTES: usize = 100;

/// An address, as Codex's `--remote` takes it.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `ws://`, `wss://` or `unix://`.
    pub url: String,
    /// The access token, if the address requires one.
    pub token: Option<String>,
}

impl Endpoint {
    /// Chooses the address. The daemon runs.
    pub fn of(settings: &Settings, remotes: Remotes) -> anyhow::Result<Self> {
        if let Some(remote) = &settings.remote {
            if remote.is_pinned() {
                return Err(Exit::Usage.error(
                    "Codex cannot check --tls-fingerprint: save the daemon's certificate in a file, set SSL_CERT_FILE to \
                     it, and remove --tls-fingerprint",
                ));
            }
            return Ok(Self {
                url: web_socket(&remote.url()),
                token: settings.token.clone(),
            });
        }
        let data_dir = &settings.daemon.data_dir;
        let socket = unix_socket::path(data_dir);
        let socket = socket.to_str().filter(|path| path.len() <= SOCKET_BYTES);
        if let (Some(path), None, Remotes::NetworkAndSocket) = (socket, &settings.token, remotes) {
            return Ok(Self {
                url: format!("unix://{path}"),
                token: None,
            });
        }
        let token = match &settings.token {
            Some(token) => token.clone(),
            None => {
                let path = Token::path(data_dir);
                let token = std::fs::read_to_string(&path);
                token.with_context(|| format!("the access token {} cannot be read", path.display()))?
            }
        };
        Ok(Self {
            url: web_socket(&DaemonFile::read(data_dir)?.address()),
            token: Some(token.trim().to_owned()),
        })
    }
}

/// Returns the WebSocket URL for the URL of a daemon.
fn web_socket(url: &str) -> String {
    url.replacen("http", "ws", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemons_url_becomes_that_of_a_web_socket() {
        assert_eq!(web_socket("http://127.0.0.1:4127"), "ws://127.0.0.1:4127");
        assert_eq!(web_socket("https://http.example:443"), "wss://http.example:443");
    }
}
