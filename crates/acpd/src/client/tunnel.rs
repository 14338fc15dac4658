//! A connection through the proxy of the environment.

use std::fmt::Write as _;

use acpd_client::Transport;
use acpd_http_client::Tunnel;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::terminal::plain::plain_line;

/// Maximum size of a proxy's answer, in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// Asks the proxy for a connection to `target`, which is `HOST:PORT`. `wire` leads to the proxy. Fails with the reason.
pub async fn open(
    mut wire: Box<dyn Transport>,
    tunnel: &Tunnel,
    target: &str,
) -> Result<Box<dyn Transport>, String> {
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some((user, password)) = &tunnel.user {
        let secret = STANDARD.encode(format!("{user}:{password}"));
        let _ = write!(request, "Proxy-Authorization: Basic {secret}\r\n");
    }
    request.push_str("\r\n");
    wire.write_all(request.as_bytes())
        .await
        .map_err(|error| format!("it cannot be written to: {error}"))?;
    let head = head(&mut *wire).await?;
    let mut words = head.lines().next().unwrap_or_default().splitn(3, ' ');
    let (version, status) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let reason = plain_line(words.next().unwrap_or_default());
    match status {
        _ if !version.starts_with("HTTP/1.") => Err("it does not answer as a proxy".to_owned()),
        // Any success opens the connection.
        status if status.len() == 3 && status.starts_with('2') => Ok(wire),
        "407" if tunnel.user.is_some() => {
            Err(format!("it refuses the user and password in {}", tunnel.variable))
        }
        "407" => Err(format!(
            "it requires a user and a password: set {} to http://USER:PASSWORD@HOST:PORT",
            tunnel.variable
        )),
        status => Err(format!("it answered {} {reason}", plain_line(status))),
    }
}

/// Reads the head of the answer. Nothing follows it: the daemon waits for us to speak first.
async fn head(wire: &mut dyn Transport) -> Result<String, String> {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        if read.len() >= HEAD_BYTES {
            return Err("its answer has no end".to_owned());
        }
        let byte = wire.read_u8().await;
        read.push(byte.map_err(|error| format!("it closed the connection: {error}"))?);
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(answer: &'static str, user: Option<(&str, &str)>) -> (String, Result<(), String>) {
        let (near, mut far) = tokio::io::duplex(4096);
        let tunnel = Tunnel {
            host: "p".into(),
            port: 1,
            is_secure: false,
            user: user.map(|(user, password)| (user.into(), password.into())),
            variable: "HTTPS_PROXY",
        };
        let proxy = async move {
            let mut asked = vec![0; 4096];
            let count = far.read(&mut asked).await.unwrap();
            far.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(asked[..count].to_vec()).unwrap()
        };
        let (asked, opened) = tokio::join!(proxy, open(Box::new(near), &tunnel, "box.example:443"));
        (asked, opened.map(drop))
    }

    #[tokio::test]
    async fn a_proxy_is_asked_for_the_daemon_and_says_what_is_wrong() {
        let (asked, opened) = ask("HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n", None).await;
        assert_eq!(
            asked,
            "CONNECT box.example:443 HTTP/1.1\r\nHost: box.example:443\r\n\r\n"
        );
        assert_eq!(opened, Ok(()));
        let (asked, opened) = ask("HTTP/1.1 407 No\r\n\r\n", Some(("me", "a@b"))).await;
        assert!(
            asked.contains("\r\nProxy-Authorization: Basic bWU6YUBi\r\n"),
            "{asked}"
        );
        assert_eq!(
            opened.unwrap_err(),
            "it refuses the user and password in HTTPS_PROXY"
        );
        for (answer, part) in [
            ("HTTP/1.1 407 No\r\n\r\n", "set HTTPS_PROXY to"),
            ("HTTP/1.1 403 Forbidden\r\n\r\n", "answered 403 Forbidden"),
            ("HTTP/1.1 502 \u{1b}[31m\r\n\r\n", "answered 502"),
            ("SSH-2.0-x\r\n\r\n", "does not answer as a proxy"),
            ("HTTP/1.1 200 OK\r\n", "closed the connection"),
        ] {
            let reason = ask(answer, None).await.1.unwrap_err();
            assert!(reason.contains(part) && !reason.contains('\u{1b}'), "{reason}");
        }
    }
}
