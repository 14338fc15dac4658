//! The SDK's own transports, with a tap between them and the client, which tells every frame.

use agent_client_protocol::{AcpAgent, AcpAgentConfig, Channel, Client, ConnectTo, Error, TransportFrame};
use agent_client_protocol_http::HttpClient;
use futures::StreamExt;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// A transport that carries what goes through its channel.
pub struct Wire {
    carried: JoinHandle<Result<(), Error>>,
    tapped: JoinHandle<()>,
}

/// Says a line to the test.
pub fn tell(line: &Value) {
    println!("{line}");
}

impl Wire {
    /// Over the way of the part.
    pub fn open(part: &Value, on: u32) -> Result<(Channel, Self), Error> {
        let (client, near) = Channel::duplex();
        let (far, transport) = Channel::duplex();
        let carried = match part["way"].as_str() {
            Some("stdio") => {
                let words = part["command"].as_array().into_iter().flatten();
                let mut words = words.filter_map(Value::as_str);
                let config = AcpAgentConfig::new(words.next().unwrap_or_default()).args(words);
                carry(AcpAgent::new(config), transport)
            }
            _ => carry(by_http(part)?, transport),
        };
        let tapped = tokio::spawn(async move {
            let (near_rx, near_tx) = near.into_parts();
            let (far_rx, far_tx) = far.into_parts();
            tokio::join!(
                pass(on, "sent", near_rx, far_tx),
                pass(on, "got", far_rx, near_tx)
            );
        });
        Ok((client, Self { carried, tapped }))
    }

    /// Waits until the other end has let go.
    pub async fn end(self) {
        let ended = self.carried.await.expect("a transport does not panic");
        self.tapped.await.expect("a tap does not panic");
        match ended {
            Ok(()) => tell(&json!({ "step": "ended", "code": 0 })),
            Err(error) => tell(&json!({ "step": "ended", "code": error.to_string() })),
        }
    }
}

fn by_http(part: &Value) -> Result<HttpClient, Error> {
    let (url, token) = (part["url"].as_str(), part["token"].as_str());
    let bearer = format!("Bearer {}", token.unwrap_or_default());
    let mut headers = HeaderMap::new();
    let bearer = HeaderValue::from_str(&bearer).map_err(Error::into_internal_error)?;
    headers.insert(AUTHORIZATION, bearer);
    HttpClient::builder_with_endpoint(url.unwrap_or_default())
        .configure_http(|http| http.default_headers(headers).no_proxy())
        .build()
        .map_err(Error::into_internal_error)
}

fn carry(transport: impl ConnectTo<Client>, channel: Channel) -> JoinHandle<Result<(), Error>> {
    tokio::spawn(transport.connect_to(channel))
}

type Frames = futures::channel::mpsc::UnboundedReceiver<TransportFrame>;
type Out = futures::channel::mpsc::UnboundedSender<TransportFrame>;

async fn pass(on: u32, name: &str, mut from: Frames, to: Out) {
    while let Some(frame) = from.next().await {
        match &frame {
            TransportFrame::Single(message) => tell(&json!({ "on": on, name: message })),
            other => tell(&json!({ "on": on, name: format!("{other:?}") })),
        }
        if to.unbounded_send(frame).is_err() {
            return;
        }
    }
}
