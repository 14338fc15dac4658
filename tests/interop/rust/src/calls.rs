//! The SDK makes the calls that it reads from standard input, in the form that calls.mjs describes.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::SessionNotification;
use agent_client_protocol::{Agent, Client, Error, UntypedMessage};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::wire::{Wire, tell};

/// Makes all of them; `part` says how to connect.
pub async fn make(part: Value) -> Result<(), Box<dyn std::error::Error>> {
    let part = Arc::new(part);
    let mut connections = HashMap::new();
    // This blocks one thread of several: connections are served by the others.
    for line in std::io::stdin().lines() {
        let call: Value = serde_json::from_str(&line?)?;
        let on = u32::try_from(call["on"].as_u64().unwrap_or_default())?;
        let (calls, _) = connections.entry(on).or_insert_with(|| {
            let (calls, to_make) = unbounded_channel();
            (calls, tokio::spawn(serve(Arc::clone(&part), on, to_make)))
        });
        calls.send(call)?;
    }
    for (calls, served) in connections.into_values() {
        drop(calls);
        served.await??;
    }
    Ok(())
}

/// Serves one connection until there are no more calls.
async fn serve(part: Arc<Value>, on: u32, mut calls: UnboundedReceiver<Value>) -> Result<(), Error> {
    let (channel, wire) = Wire::open(&part, on)?;
    let client = Client.v1().on_receive_notification(
        async |_: SessionNotification, _: ConnectionTo<Agent>| Ok(()),
        agent_client_protocol::on_receive_notification!(),
    );
    client
        .connect_with(channel, async |agent: ConnectionTo<Agent>| {
            while let Some(call) = calls.recv().await {
                send(&agent, &call)?;
            }
            Ok(())
        })
        .await?;
    wire.end().await;
    Ok(())
}

/// Sends a request or a notification, and does not wait for the answer.
fn send(agent: &ConnectionTo<Agent>, call: &Value) -> Result<(), Error> {
    let method = call["call"].as_str().unwrap_or_default();
    let message = UntypedMessage::new(method, &call["params"])?;
    let Some(id) = call.get("id").cloned() else {
        return agent.send_notification(message);
    };
    let sent = agent.send_request(message);
    tokio::spawn(async move {
        match sent.block_task().await {
            Ok(result) => tell(&json!({ "answer": id, "result": result })),
            Err(error) => tell(&json!({ "answer": id, "error": error })),
        }
    });
    Ok(())
}
