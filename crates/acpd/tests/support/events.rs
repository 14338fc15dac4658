//! Editors over HTTP: they post messages, and read the daemon's messages from event streams.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::mpsc;

use super::{Daemon, Editor, PATIENCE, header, send};

/// An editor's endpoint and credentials.
#[derive(Clone)]
pub struct Door {
    /// The daemon's address.
    pub address: SocketAddr,
    /// The `Host` header.
    pub host: String,
    /// The `Authorization` header; empty for none.
    pub bearer: String,
    /// The path, which may name an agent.
    pub path: String,
}

/// An event stream.
pub struct Events {
    /// Event ids with their messages.
    pub incoming: mpsc::Receiver<(u64, String)>,
    socket: TcpStream,
}

impl Door {
    /// Uses the owner's token.
    pub fn of(daemon: &Daemon) -> Self {
        Self {
            address: daemon.address(),
            host: daemon.address().to_string(),
            bearer: format!("Bearer {}", daemon.place.token()),
            path: "/acp".to_owned(),
        }
    }

    /// Uses an address that `acpd token ticket` printed, without a token.
    pub fn at(daemon: &Daemon, address: &str) -> Self {
        let path = address.strip_prefix(&format!("http://{}", daemon.address()));
        Self {
            bearer: String::new(),
            path: path.unwrap_or_else(|| panic!("{address}")).to_owned(),
            ..Self::of(daemon)
        }
    }

    fn headers<'a>(&'a self, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let mut headers = vec![("Host", self.host.as_str())];
        if !self.bearer.is_empty() {
            headers.push(("Authorization", &self.bearer));
        }
        headers.extend(more);
        headers
    }

    /// Makes a request; returns the status and the whole response.
    pub fn ask(&self, method: &str, more: &[(&str, &str)], body: &str) -> (u16, String) {
        send(self.address, method, &self.path, &self.headers(more), body)
    }

    /// Posts a message to a connection; returns the status.
    pub fn post(&self, connection: &str, session: Option<&str>, text: &str) -> u16 {
        let mut more = vec![
            ("Content-Type", "application/json"),
            ("Acp-Connection-Id", connection),
        ];
        more.extend(session.map(|session| ("Acp-Session-Id", session)));
        self.ask("POST", &more, text).0
    }

    /// Opens a connection; returns its id and the response.
    pub fn initialize(&self) -> (String, String) {
        let hello = r#"{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}"#;
        let (status, answer) = self.ask("POST", &[("Content-Type", "application/json")], hello);
        assert_eq!(status, 200, "{answer}");
        (header(&answer, "Acp-Connection-Id").to_owned(), answer)
    }

    /// Opens a stream; returns the status if the daemon refuses.
    pub fn listen(&self, connection: &str, session: Option<&str>, after: Option<u64>) -> Result<Events, u16> {
        let mut socket = TcpStream::connect(self.address).expect("the daemon listens");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket takes options");
        let after = after.map(|after| after.to_string());
        let mut more = vec![("Accept", "text/event-stream"), ("Acp-Connection-Id", connection)];
        more.extend(session.map(|session| ("Acp-Session-Id", session)));
        more.extend(after.as_deref().map(|after| ("Last-Event-ID", after)));
        let mut head = format!("GET {} HTTP/1.1\r\n", self.path);
        for (name, value) in self.headers(&more) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        socket.write_all(head.as_bytes()).expect("the daemon reads");
        let mut lines = BufReader::new(socket.try_clone().expect("a socket can be cloned")).lines();
        let status = lines.next().expect("there is an answer").expect("it is text");
        let status: u16 = status
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("a status");
        if status != 200 {
            return Err(status);
        }
        let (told, incoming) = mpsc::channel();
        std::thread::spawn(move || {
            let mut number = 0;
            // The lines include the lengths of chunks. These match no field of an event, and the last one is 0.
            for line in lines.map_while(Result::ok) {
                if line == "0" {
                    return;
                }
                if let Some(id) = line.strip_prefix("id: ") {
                    number = id.parse().expect("events are numbered");
                } else if let Some(data) = line.strip_prefix("data: ")
                    && told.send((number, data.to_owned())).is_err()
                {
                    return;
                }
            }
        });
        Ok(Events { incoming, socket })
    }
}

impl Events {
    /// Returns the next event.
    pub fn next(&self) -> (u64, String) {
        self.incoming.recv_timeout(PATIENCE).expect("an event comes")
    }

    /// Breaks the connection.
    pub fn vanish(self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

impl Editor {
    /// Connects over HTTP like the official clients: a stream for the connection from the start, and one for each
    /// session once it is known.
    pub fn http(door: &Door) -> Self {
        let (told, incoming) = mpsc::channel();
        let (door, id, streams) = (
            door.clone(),
            Rc::new(RefCell::new(String::new())),
            RefCell::new(Vec::new()),
        );
        let listen = move |door: &Door, id: &str, session: Option<&str>| {
            let events = door.listen(id, session, None).expect("a stream opens");
            let told = told.clone();
            std::thread::spawn(move || {
                while let Ok((_, text)) = events.incoming.recv() {
                    if told.send(text).is_err() {
                        return;
                    }
                }
            });
        };
        let (hello, first) = mpsc::channel();
        let editor = Self::new(first, move |text| {
            let message: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
            let connection = id.borrow().clone();
            if connection.is_empty() {
                let (status, answer) = door.ask("POST", &[("Content-Type", "application/json")], text);
                assert_eq!(status, 200, "{answer}");
                header(&answer, "Acp-Connection-Id").clone_into(&mut id.borrow_mut());
                listen(&door, &id.borrow(), None);
                let body = answer.split_once("\r\n\r\n").expect("there is a body").1;
                hello.send(body.to_owned()).expect("somebody waits");
                return;
            }
            let session = message["params"]["sessionId"].as_str();
            if let Some(session) =
                session.filter(|session| !streams.borrow().contains(&(*session).to_owned()))
            {
                listen(&door, &connection, Some(session));
                streams.borrow_mut().push(session.to_owned());
            }
            assert_eq!(door.post(&connection, session, text), 202);
        });
        editor.also(incoming)
    }
}
