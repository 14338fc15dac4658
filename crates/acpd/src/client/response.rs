//! The daemon's HTTP responses, read chunk by chunk.

use std::pin::Pin;

use acpd_model::json;
use anyhow::{Context, anyhow, bail};
use hyper::Response;
use hyper::body::{Body, Bytes, Incoming};
use serde::de::DeserializeOwned;
use tokio_tungstenite::tungstenite;

use crate::client::refusal::Refusal;
use crate::exit::Exit;

/// Maximum size of a short response, such as an error, in bytes.
const SHORT_BYTES: usize = 64 << 10;

/// What to check about a server that does not speak HTTP.
pub const NO_HTTP: &str = "; if it has TLS, use https://";

/// Returns a successful response; otherwise fails with the daemon's error. `name` is the daemon's name in error
/// messages.
pub async fn granted(answer: Response<Incoming>, name: &str) -> anyhow::Result<Response<Incoming>> {
    match answer.status().as_u16() {
        200 => Ok(answer),
        401 => Err(not_accepted(name)),
        status => match Refusal::read(&text(answer.into_body()).await?) {
            Some(refusal) => Err(refusal.error()),
            None => bail!("{name} answered with status {status}"),
        },
    }
}

/// Describes why a WebSocket to the daemon was not opened. `name` is the daemon's name in error messages.
pub fn not_opened(error: tungstenite::Error, name: &str) -> anyhow::Error {
    let response = match error {
        tungstenite::Error::Http(response) => response,
        tungstenite::Error::Protocol(_) | tungstenite::Error::HttpFormat(_) => {
            return Exit::Unreachable.error(format!("{name} does not answer as a daemon{NO_HTTP}"));
        }
        error => return Exit::Unreachable.error(format!("{name} does not answer as a daemon: {error}")),
    };
    if response.status() == 401 {
        return not_accepted(name);
    }
    let body = response.body().as_deref().unwrap_or_default();
    match Refusal::read(&String::from_utf8_lossy(body)) {
        Some(refusal) => refusal.error(),
        None => anyhow!("{name} answered with status {}", response.status()),
    }
}

fn not_accepted(name: &str) -> anyhow::Error {
    Exit::Forbidden.error(format!(
        "{name} does not accept this access token; \"acpd token list\" on its host shows the valid ones"
    ))
}

/// Reads a short response whose members may be absent. One that is not JSON, as from another server, has none.
pub async fn read<T: DeserializeOwned + Default>(body: Incoming) -> anyhow::Result<T> {
    Ok(json::read(&text(body).await?).unwrap_or_default())
}

/// Reads a short response as text.
pub async fn text(body: Incoming) -> anyhow::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(body).await?).into_owned())
}

/// Reads the beginning of a response.
async fn bytes(mut body: Incoming) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    while let Some(bytes) = next(&mut body).await? {
        if text.len() + bytes.len() > SHORT_BYTES {
            break;
        }
        text.extend_from_slice(&bytes);
    }
    Ok(text)
}

/// Returns the next chunk of a response; `None` at its end. Fails if the response breaks off.
pub async fn next(body: &mut Incoming) -> anyhow::Result<Option<Bytes>> {
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(error)) => {
                return Err(error).context("the daemon broke off: its answer is not whole");
            }
        }
    }
}
