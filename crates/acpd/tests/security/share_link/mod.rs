//! Links that share one thread, tried as an attacker would who has one: nothing else is readable with it, on any surface.

mod command;
mod lifetime;
mod surfaces;

use serde_json::{Value, json};

use crate::support::{Client, Daemon, acpd, send};

/// An id that no thread has.
const NOBODY: &str = "0192a4b0-0000-7000-8000-00000000dead";

/// A daemon with a shared thread and another one, each with a turn.
struct Stage {
    daemon: Daemon,
    owner: Client,
    /// The shared thread.
    shared: String,
    /// Another thread, in which the word "elephant" occurs.
    other: String,
    /// The id of the link.
    id: String,
    /// The secret of the link.
    secret: String,
}

impl Stage {
    fn new() -> Self {
        Self::at(Daemon::start())
    }

    fn at(daemon: Daemon) -> Self {
        let mut owner = Client::new(&daemon);
        let (shared, other) = (owner.thread(&daemon), owner.thread(&daemon));
        owner.turn(&shared, "say walrus");
        owner.turn(&other, "say elephant");
        let (id, secret) = share(&mut owner, &json!({ "threadId": shared }));
        Self {
            daemon,
            owner,
            shared,
            other,
            id,
            secret,
        }
    }

    /// Connects with the link.
    fn reader(&self) -> Client {
        Client::with_token(&self.daemon, &self.secret)
    }

    /// Returns the number of links.
    fn number_of_links(&self) -> usize {
        let listed = acpd(&self.daemon.place, &["share", "list", "--json"]);
        listed.stdout.lines().count()
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// Sends an HTTP request with the link; returns the status and the response.
    fn http(&self, method: &str, path: &str) -> (u16, String) {
        let host = self.daemon.address().to_string();
        let bearer = self.bearer();
        let headers = [("Host", &*host), ("Authorization", &*bearer)];
        send(self.daemon.address(), method, path, &headers, "")
    }
}

/// Shares a thread; returns the id and the secret of the link.
fn share(owner: &mut Client, params: &Value) -> (String, String) {
    let created = owner.call("thread/share/create", params);
    let text = |value: &Value| value.as_str().expect("it is a text").to_owned();
    (text(&created["share"]["id"]), text(&created["secret"]))
}

/// Waits until the daemon has closed the connection; returns why.
fn end_of(mut client: Client) -> (u16, String) {
    while client.next_or_end().is_some() {}
    client.closed.expect("the daemon says why")
}
