//! The connection to the daemon, one after another.
//!
//! In: orders of the driver. Out: news. Owns: the client, and the pauses between attempts to connect. Never: starts a
//! daemon, which a user may have stopped on purpose.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::Instant;

use super::state::Failure;
use crate::client::{Client, Received};
use crate::exit::Exit;
use crate::incoming::Incoming;
use crate::settings::Settings;

/// Pauses between attempts to connect; the last one repeats.
const PAUSES: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// A connection that lasted this long was a good one: the next attempt follows soon.
const STABLE: Duration = Duration::from_secs(5);

/// What the driver wants sent.
pub enum Order {
    Request {
        token: u64,
        method: &'static str,
        params: Value,
    },
    Respond {
        id: Value,
        result: Value,
    },
}

/// What happened.
pub enum News {
    /// There is a new connection, and whether its daemon sends a prompt in place of an earlier one.
    Connected {
        replaces_turns: bool,
    },
    /// There is no connection, and why. Requests without a reply have none.
    Lost(String),
    Message(Incoming),
    Reply {
        token: u64,
        result: Result<Value, Failure>,
    },
    /// There will be no further connection, and why.
    Ended(anyhow::Error),
}

/// Keeps a connection until the driver is gone.
pub async fn keep(settings: Settings, first: Client, mut orders: Receiver<Order>, news: Sender<News>) {
    let mut client = first;
    let mut failures = 0;
    loop {
        let since = Instant::now();
        let Some(lost) = serve(&mut client, &mut orders, &news).await else {
            return;
        };
        if since.elapsed() >= STABLE {
            failures = 0;
        }
        let mut why = lost.to_string();
        client = loop {
            let told = News::Lost(why);
            if news.send(told).await.is_err() || !pause(failures, &mut orders).await {
                return;
            }
            failures += 1;
            why = match Client::reconnect(&settings, true).await {
                Ok(Some(client)) => break client,
                Ok(None) => "the daemon is not running".to_owned(),
                Err(error) if Exit::of(&error) == Exit::Forbidden => {
                    // The driver may be gone, and needs no reason then.
                    let _ = news.send(News::Ended(error)).await;
                    return;
                }
                Err(error) => format!("{error:#}"),
            };
        };
        // Orders for the connection before would be carried out on the wrong one.
        while orders.try_recv().is_ok() {}
        let replaces_turns = client.replaces_turns();
        if news.send(News::Connected { replaces_turns }).await.is_err() {
            return;
        }
    }
}

/// Waits before the next attempt. Returns whether the driver is still there.
async fn pause(failures: usize, orders: &mut Receiver<Order>) -> bool {
    let pause = PAUSES
        .get(failures)
        .or(PAUSES.last())
        .copied()
        .unwrap_or_default();
    let until = Instant::now() + pause;
    loop {
        tokio::select! {
            biased;
            order = orders.recv() => if order.is_none() {
                return false;
            },
            () = tokio::time::sleep_until(until) => return true,
        }
    }
}

/// Serves one connection. Returns why it was lost, or `None` if the driver is gone.
async fn serve(
    client: &mut Client,
    orders: &mut Receiver<Order>,
    news: &Sender<News>,
) -> Option<anyhow::Error> {
    // The tokens of the requests by their ids.
    let mut tokens: Vec<(Value, u64)> = Vec::new();
    loop {
        let dead_at = client.dead_at();
        let received = tokio::select! {
            order = orders.recv() => {
                let sent = match order? {
                    Order::Request { token, method, params } => match client.start(method, params).await {
                        Ok(id) => {
                            tokens.push((id, token));
                            Ok(())
                        }
                        // A message that is too long is not sent, and the connection remains.
                        Err(error) if Exit::of(&error) != Exit::Unreachable => {
                            news.send(News::Reply { token, result: Err(failure(&error)) }).await.ok()?;
                            Ok(())
                        }
                        Err(error) => Err(error),
                    },
                    Order::Respond { id, result } => client.respond(&id, &result).await,
                };
                match sent {
                    Ok(()) => continue,
                    Err(error) => return Some(error),
                }
            }
            received = client.next() => received,
            () = until(dead_at) => {
                // A ping may have moved it.
                if client.dead_at().is_some_and(|at| Instant::now() < at) {
                    continue;
                }
                return Some(Exit::Unreachable.error("the daemon does not answer"));
            }
        };
        match received {
            Ok(Received::Message(incoming)) => news.send(News::Message(incoming)).await.ok()?,
            Ok(Received::Response { id, result }) => {
                let at = tokens.iter().position(|(known, _)| *known == id);
                if let Some((_, token)) = at.map(|at| tokens.swap_remove(at)) {
                    let result = result.map_err(|error| failure(&error));
                    news.send(News::Reply { token, result }).await.ok()?;
                }
            }
            Err(error) => return Some(error),
        }
    }
}

fn failure(error: &anyhow::Error) -> Failure {
    Failure {
        message: error.to_string(),
        is_final: matches!(Exit::of(error), Exit::NotFound | Exit::Forbidden),
        is_not_found: Exit::of(error) == Exit::NotFound,
    }
}

/// Waits until a time; forever if there is none.
pub async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
