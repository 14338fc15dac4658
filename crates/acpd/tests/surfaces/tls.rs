//! TLS: generated and configured certificates, and acpd's own commands with a remote daemon.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::ring};
use serde_json::{Value, json};

use crate::support::{
    Daemon, PATIENCE, Place, Running, acpd, ask, body, exchange, header, outcome, signal, wait_until,
};

const SELF_SIGNED: &str = "[server.tls]\nself_signed = true\n";

fn certificate(place: &Place) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(place.data().join("tls-cert.pem")).expect("a certificate was made")
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    format!("sha256:{}", acpd_loopback::sha256(certificate))
}

/// Connects with trust in this certificate only, under the name `localhost`.
fn connect(
    address: SocketAddr,
    certificate: &CertificateDer<'static>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(certificate.clone())
        .map_err(|error| error.to_string())?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    let mut stream = TcpStream::connect(address).expect("the daemon listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket takes options");
    while connection.is_handshaking() {
        connection
            .complete_io(&mut stream)
            .map_err(|error| error.to_string())?;
    }
    Ok(StreamOwned::new(connection, stream))
}

fn call(daemon: &Daemon, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> (u16, String) {
    let mut stream =
        connect(daemon.address(), &certificate(&daemon.place)).expect("the certificate is right");
    let host = format!("localhost:{}", daemon.address().port());
    let mut headers = vec![("Host", &host[..])];
    headers.extend(more);
    exchange(&mut stream, method, path, &headers, body)
}

#[test]
fn a_daemon_with_tls_speaks_nothing_else() {
    let daemon = Daemon::with(SELF_SIGNED);
    let stream = connect(daemon.address(), &certificate(&daemon.place)).unwrap();
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(call(&daemon, "GET", "/readyz", &[], "").0, 200);
    // Without TLS, the daemon sends no HTTP response.
    let plain = std::panic::catch_unwind(|| ask(daemon.address(), "/readyz", &[("Host", "localhost")]));
    assert!(plain.is_err());
    let port = daemon.address().port();
    let (secure, not) = (
        format!("https://localhost:{port}"),
        format!("http://localhost:{port}"),
    );
    assert_eq!(call(&daemon, "GET", "/readyz", &[("Origin", &secure)], "").0, 200);
    assert_eq!(call(&daemon, "GET", "/readyz", &[("Origin", &not)], "").0, 403);
    let login = json!({ "token": daemon.place.token() }).to_string();
    let json = [("Content-Type", "application/json")];
    let (_, answer) = call(&daemon, "POST", "/api/session", &json, &login);
    let set = header(&answer, "set-cookie");
    assert!(set.starts_with("__Host-") && set.contains("; Secure"), "{set}");
    let cookie = set.split(';').next().unwrap();
    let login = body(&answer);
    let key = ("Acpd-Page-Key", login["pageKey"].as_str().unwrap());
    let (status, answer) = call(&daemon, "GET", "/api/session", &[("Cookie", cookie), key], "");
    assert_eq!(
        (status, &body(&answer)["principal"]),
        (200, &json!("owner")),
        "{answer}"
    );
    // Without the prefix, another host of the same domain could have set the cookie.
    let tossed = cookie.strip_prefix("__Host-").unwrap();
    assert_eq!(
        call(&daemon, "GET", "/api/session", &[("Cookie", tossed), key], "").0,
        401
    );
    // acpd's own commands use the local socket.
    assert_eq!(acpd(&daemon.place, &["threads"]).code, Some(0));
}

#[test]
fn a_certificate_is_reloaded_on_a_signal() {
    let daemon = Daemon::with(SELF_SIGNED);
    let old = certificate(&daemon.place);
    for name in ["tls-cert.pem", "tls-key.pem"] {
        std::fs::remove_file(daemon.place.data().join(name)).unwrap();
    }
    signal(daemon.pid(), Signal::HUP);
    wait_until("there is another certificate", || {
        connect(daemon.address(), &old).is_err()
    });
    let new = certificate(&daemon.place);
    assert_ne!(fingerprint(&new), fingerprint(&old));
    assert!(connect(daemon.address(), &new).is_ok());
    // An incomplete pair leaves the current certificate in use.
    std::fs::write(daemon.place.data().join("tls-cert.pem"), "nothing").unwrap();
    wait_until("the daemon has seen it", || {
        daemon.log().contains("certificate not reloaded")
    });
    assert!(connect(daemon.address(), &new).is_ok());
}

#[test]
fn given_files_stand_beside_the_configuration() {
    // One daemon generates the certificate that the other uses.
    let first = Daemon::with(SELF_SIGNED);
    let place = Place::new("[server.tls]\ncert = \"box.pem\"\nkey = \"box.key\"\n");
    let folder = place.config().parent().unwrap().to_owned();
    let missing = acpd(&place, &["serve"]);
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("box.pem cannot be used for TLS"),
        "{}",
        missing.stderr
    );
    for (from, to) in [("tls-cert.pem", "box.pem"), ("tls-key.pem", "box.key")] {
        std::fs::copy(first.place.data().join(from), folder.join(to)).unwrap();
    }
    let second = Daemon::at(place);
    assert!(connect(second.address(), &certificate(&first.place)).is_ok());
    assert!(!second.place.data().join("tls-key.pem").exists());
}

#[test]
fn half_a_configuration_is_refused() {
    for wrong in [
        "",
        "cert = \"x\"\n",
        "self_signed = true\ncert = \"x\"\nkey = \"y\"\n",
    ] {
        let refused = acpd(&Place::new(&format!("[server.tls]\n{wrong}")), &["serve"]);
        assert_eq!(refused.code, Some(1));
        assert!(
            refused.stderr.contains("requires cert and key, or self_signed"),
            "{}",
            refused.stderr
        );
    }
}

/// Returns the place of a user with a remote daemon.
fn elsewhere(daemon: &Daemon, token: &str) -> Place {
    let url = format!("https://{}", daemon.address());
    Place::new("")
        .with_env("ACPD_CONNECT", &url)
        .with_env("ACPD_TOKEN", token)
}

#[test]
fn our_own_commands_reach_a_daemon_elsewhere() {
    let daemon = Daemon::with(SELF_SIGNED);
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "ann", "--role", "operator"],
    );
    let token = made.stdout.trim();
    let pin = fingerprint(&certificate(&daemon.place));
    let place = elsewhere(&daemon, token).with_env("ACPD_TLS_FINGERPRINT", &pin);
    let lost = acpd(&place, &["run", "--agent", "fake", "say hi"]);
    assert!(lost.stderr.contains("--cwd"), "{}", lost.stderr);
    let work = daemon.place.work().display().to_string();
    let ran = acpd(&place, &["run", "--agent", "fake", "--cwd", &work, "say hi"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "hi"), "{}", ran.stderr);
    let listed = acpd(&place, &["threads", "--json"]).stdout;
    let thread: Value = serde_json::from_str(&listed).unwrap();
    let thread = thread["id"].as_str().unwrap();
    let exported = acpd(&place, &["export", thread]);
    assert!(
        exported.stdout.contains("\"principal\":\"ann\""),
        "{}",
        exported.stderr
    );
    for (args, told) in [
        (&["show", thread][..], "hi"),
        (&["search", "hi"], &thread[28..]),
        (&["status"], "running"),
        (&["send", thread, "permission"], "turn_2 started"),
    ] {
        let done = acpd(&place, args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        assert!(done.stdout.contains(told), "{args:?}: {}", done.stdout);
    }
    wait_until("the agent asks", || {
        acpd(&place, &["threads", "-s", "waiting", "--json"])
            .stdout
            .contains(thread)
    });
    for (args, told) in [
        (&["answer", thread, "allow"][..], "answered"),
        (&["agents", "list"], "fake"),
        (&["agents", "running"], "fake"),
        (&["agents", "doctor", "fake"], "works: ACP version 1"),
        (&["rename", thread, "Far away"], "renamed"),
    ] {
        let done = acpd(&place, args);
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        assert!(done.stdout.contains(told), "{args:?}: {}", done.stdout);
    }
    // An operator may not do what only the owner may.
    assert_eq!(acpd(&place, &["agents", "install", "goose"]).code, Some(7));
    let ticket = acpd(&place, &["token", "ticket"]);
    let begin = format!("https://{}/acp?ticket=", daemon.address());
    assert!(
        ticket.stdout.starts_with(&begin),
        "{} {}",
        ticket.stdout,
        ticket.stderr
    );
    assert_eq!(acpd(&place, &["delete", "--yes", "Far away"]).code, Some(7));
    let owner = elsewhere(&daemon, &daemon.place.token()).with_env("ACPD_TLS_FINGERPRINT", &pin);
    let deleted = acpd(&owner, &["delete", "--yes", "Far away"]);
    assert_eq!(deleted.code, Some(0), "{}", deleted.stderr);
    for (local, name) in [
        (&["serve"][..], "acpd serve"),
        (&["agents", "update"], "acpd agents update"),
        (&["token", "list"], "acpd token list"),
        (&["policy", "test", "--bash", "ls"], "acpd policy test"),
    ] {
        let refused = acpd(&place, local);
        assert_eq!(refused.code, Some(2));
        assert!(
            refused.stderr.contains("only on the daemon's host") && refused.stderr.contains(name),
            "{}",
            refused.stderr
        );
    }
    assert!(!place.data().join("acpd.sock").exists(), "none was started here");
    acpd(&daemon.place, &["token", "revoke", "ann"]);
    let refused = acpd(&place, &["threads"]);
    assert!(
        refused.stderr.contains("does not accept this access token"),
        "{}",
        refused.stderr
    );
}

#[test]
fn untrusted_servers_receive_no_token() {
    let daemon = Daemon::with(SELF_SIGNED);
    let token = daemon.place.token();
    let unpinned = acpd(&elsewhere(&daemon, &token), &["threads"]);
    let other = format!("sha256:{}", "0".repeat(64));
    let wrong = acpd(
        &elsewhere(&daemon, &token).with_env("ACPD_TLS_FINGERPRINT", &other),
        &["threads"],
    );
    for refused in [&unpinned, &wrong] {
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains("cannot be trusted"), "{}", refused.stderr);
        assert!(!refused.stderr.contains(&token), "{}", refused.stderr);
    }
    assert!(
        unpinned.stderr.contains("no known authority") && unpinned.stderr.contains("--tls-fingerprint"),
        "{}",
        unpinned.stderr
    );
    let shown = fingerprint(&certificate(&daemon.place));
    assert!(
        wrong.stderr.contains(&shown) && wrong.stderr.contains(&other),
        "{}",
        wrong.stderr
    );
    let plain = Place::new("")
        .with_env("ACPD_CONNECT", format!("http://{}", daemon.address()))
        .with_env("ACPD_TOKEN", &token);
    for args in [
        &["threads"][..],
        &["export", "0192f0c1-c5d7-7c0a-a5e5-f8d9a1b2c3d4"],
    ] {
        let refused = acpd(&plain, args);
        assert_eq!(refused.code, Some(6), "{args:?}");
        assert!(
            refused.stderr.contains("if it has TLS, use https://"),
            "{}",
            refused.stderr
        );
    }
    let short = acpd(&elsewhere(&daemon, "short"), &["threads"]);
    assert!(
        short.stderr.contains("the token in ACPD_TOKEN must have"),
        "{}",
        short.stderr
    );
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    for (url, token, expected) in [
        ("http://box.example", Some(&token[..]), "in clear text"),
        ("box.example:4127", Some(&token), "https://HOST:PORT"),
        (
            &format!("https://{}", stranger.local_addr().unwrap()),
            None,
            &format!(
                "{} requires an access token: set ACPD_TOKEN",
                stranger.local_addr().unwrap()
            ),
        ),
    ] {
        let place = Place::new("");
        let mut command = place.command(&["threads", "--connect", url]);
        command.envs(token.map(|token| ("ACPD_TOKEN", token)));
        let refused = outcome(&mut command);
        assert!(
            refused.code == Some(2) && refused.stderr.contains(expected),
            "{url}: {}",
            refused.stderr
        );
    }
    // Only the third of them looked whether something listens, and sent nothing.
    let (mut looked, _) = stranger.accept().expect("it was connected to");
    let mut sent = Vec::new();
    looked.read_to_end(&mut sent).expect("it has ended");
    assert!(sent.is_empty(), "{sent:?}");
    assert_eq!(stranger.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn the_fingerprint_is_printed_and_stays() {
    let place = Place::new(SELF_SIGNED);
    for _ in 0..2 {
        let daemon = Running::start(&mut place.command(&["serve"]));
        daemon.wait_for_output("certificate: sha256:");
        daemon.wait_for_output(&fingerprint(&certificate(&place)));
        signal(daemon.pid(), Signal::TERM);
        assert_eq!(daemon.finish().code, Some(0));
    }
    let key = std::fs::metadata(place.data().join("tls-key.pem")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&key.permissions()) & 0o777,
        0o600
    );
}

#[test]
fn the_network_is_listened_to_where_that_is_said() {
    let place = Place::new("[server]\ninsecure_listen = true\n").with_env("ACPD_LISTEN", "0.0.0.0:0");
    let daemon = Daemon::at(place);
    assert!(daemon.log().contains("without TLS"), "{}", daemon.log());
    let address = SocketAddr::from(([127, 0, 0, 1], daemon.address().port()));
    for (host, status) in [
        (address.to_string(), 200),
        (format!("localhost:{}", address.port()), 200),
        (format!("0.0.0.0:{}", address.port()), 403),
        (format!("evil.example:{}", address.port()), 403),
    ] {
        assert_eq!(ask(address, "/healthz", &[("Host", &host)]).0, status, "{host}");
    }
    // By the flag too, and with TLS without the flag.
    for (config, args) in [
        ("", &["serve", "--insecure-listen"][..]),
        (SELF_SIGNED, &["serve"]),
    ] {
        let place = Place::new(config).with_env("ACPD_LISTEN", "0.0.0.0:0");
        let daemon = Running::start(&mut place.command(args));
        daemon.wait_for_output("acpd listens on");
        signal(daemon.pid(), Signal::TERM);
        assert_eq!(daemon.finish().code, Some(0));
    }
}
