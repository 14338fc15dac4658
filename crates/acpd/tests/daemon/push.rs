//! Notifications of browsers (Web Push): what a real push service receives, and that only the browser can read it.

use std::cell::RefCell;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SystemRandom;
use ring::{aead, signature};
use serde_json::{Value, json};

use crate::support::{Client, Daemon, Posted, Receiver, acpd, body, header, send, wait_until};

/// A browser with a session. Its private key decrypts one message.
struct Browser<'a> {
    daemon: &'a Daemon,
    service: &'a Receiver,
    cookie: String,
    key: String,
    private: RefCell<Option<EphemeralPrivateKey>>,
    public: Vec<u8>,
}

const SECRET: [u8; 16] = [7; 16];

impl<'a> Browser<'a> {
    fn new(daemon: &'a Daemon, service: &'a Receiver, token: &str) -> Self {
        let host = daemon.address().to_string();
        let headers = [("Host", &host[..]), ("Content-Type", "application/json")];
        let login = json!({ "token": token }).to_string();
        let (status, answer) = send(daemon.address(), "POST", "/api/session", &headers, &login);
        assert_eq!(status, 200, "{answer}");
        let cookie = header(&answer, "set-cookie")
            .split(';')
            .next()
            .unwrap_or_default();
        let private =
            EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).expect("random numbers");
        let public = private.compute_public_key().expect("a point").as_ref().to_vec();
        Self {
            daemon,
            service,
            cookie: cookie.to_owned(),
            key: body(&answer)["pageKey"].as_str().unwrap_or_default().to_owned(),
            private: RefCell::new(Some(private)),
            public,
        }
    }

    fn call(&self, method: &str, path: &str, content: &str) -> (u16, String) {
        let host = self.daemon.address().to_string();
        let origin = format!("http://{host}");
        let headers = [
            ("Host", &host[..]),
            ("Origin", &origin),
            ("Cookie", &self.cookie),
            ("Acpd-Page-Key", &self.key),
            ("Content-Type", "application/json"),
        ];
        send(self.daemon.address(), method, path, &headers, content)
    }

    fn wanted(&self, on: &[&str]) -> Value {
        json!({
            "endpoint": format!("http://{}/planted-endpoint", self.service.address),
            "expirationTime": null,
            "keys": { "p256dh": URL_SAFE_NO_PAD.encode(&self.public), "auth": URL_SAFE_NO_PAD.encode(SECRET) },
            "on": on,
        })
    }

    fn subscribe(&self, on: &[&str]) {
        let (status, answer) = self.call("PUT", "/api/push", &self.wanted(on).to_string());
        assert_eq!(status, 204, "{answer}");
    }

    fn receives(&self) -> Value {
        let (status, answer) = self.call("GET", "/api/push", "");
        assert_eq!(status, 200, "{answer}");
        body(&answer)["on"].clone()
    }

    /// Decrypts a message as a browser does (RFC 8291).
    fn read(&self, posted: &Posted) -> Value {
        let private = self
            .private
            .borrow_mut()
            .take()
            .expect("one message was read before");
        let (salt, rest) = posted.body.split_at(16);
        let (record, rest) = rest.split_at(4);
        assert_eq!(record, 4096_u32.to_be_bytes());
        assert_eq!(rest[0], 65);
        let (sender, sealed) = rest[1..].split_at(65);
        let theirs = UnparsedPublicKey::new(&ECDH_P256, sender);
        let opened = agree_ephemeral(private, &theirs, |shared| {
            let input: [u8; 32] = derive(&SECRET, shared, &[b"WebPush: info\0", &self.public, sender]);
            let key: [u8; 16] = derive(salt, &input, &[b"Content-Encoding: aes128gcm\0"]);
            let nonce: [u8; 12] = derive(salt, &input, &[b"Content-Encoding: nonce\0"]);
            let key = aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_128_GCM, &key).expect("a key"));
            let mut sealed = sealed.to_vec();
            let nonce = aead::Nonce::assume_unique_for_key(nonce);
            let opened = key.open_in_place(nonce, aead::Aad::empty(), &mut sealed);
            opened.expect("it is for this browser").to_vec()
        });
        let opened = opened.expect("a point");
        let end = opened
            .iter()
            .rposition(|byte| *byte != 0)
            .expect("it has a delimiter");
        assert_eq!(opened[end], 2);
        serde_json::from_slice(&opened[..end]).expect("it is JSON")
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive<const N: usize>(salt: &[u8], input: &[u8], info: &[&[u8]]) -> [u8; N] {
    let mut derived = [0; N];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(input);
    let expanded = extracted.expand(info, Length(N)).expect("a length");
    expanded.fill(&mut derived).expect("the length");
    derived
}

/// Verifies what a push service verifies (RFC 8292), and returns the claims and the key.
fn verified(posted: &Posted) -> (Value, String) {
    let token = posted.header("authorization").strip_prefix("vapid t=");
    let (token, public) = token
        .and_then(|rest| rest.split_once(", k="))
        .expect("it is signed");
    let (signed, signature) = token.rsplit_once('.').expect("it is a JWT");
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("it is base64url");
    let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, bytes(public));
    key.verify(signed.as_bytes(), &bytes(signature))
        .expect("it is valid");
    let (_, claims) = signed.split_once('.').expect("it has claims");
    (
        serde_json::from_slice(&bytes(claims)).expect("they are JSON"),
        public.to_owned(),
    )
}

fn daemon(service: &Receiver) -> Daemon {
    Daemon::with(&format!(
        "[notifications]\nwaiting_secs = 0\npush_services = [\"http://{}\"]\n",
        service.address
    ))
}

#[test]
fn a_question_reaches_the_browser_and_no_one_else_can_read_it() {
    let service = Receiver::start();
    let daemon = daemon(&service);
    let browser = Browser::new(&daemon, &service, &daemon.place.token());
    assert_eq!(browser.receives(), Value::Null);
    browser.subscribe(&["waiting"]);
    assert_eq!(browser.receives(), json!(["waiting"]));
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let [posted] = service.wait_for(1).try_into().expect("one request");
    assert_eq!(posted.path, "/planted-endpoint");
    for (name, value) in [
        ("content-encoding", "aes128gcm"),
        ("ttl", "86400"),
        ("urgency", "high"),
    ] {
        assert_eq!(posted.header(name), value, "{posted:?}");
    }
    let (claims, key) = verified(&posted);
    assert_eq!(claims["aud"], format!("http://{}", service.address));
    let (_, answer) = browser.call("GET", "/api/push", "");
    assert_eq!(body(&answer)["publicKey"], key);
    let sent = String::from_utf8_lossy(&posted.body).into_owned();
    assert!(!sent.contains(&thread) && !sent.contains("permission"), "{sent}");
    let read = browser.read(&posted);
    assert_eq!(
        (&read["type"], &read["threadId"], &read["canAnswer"]),
        (&json!("waiting"), &json!(thread), &json!(true))
    );
    assert_eq!(read["question"]["requestId"], question.params["requestId"]);
    assert!(read["question"]["options"].is_array(), "{read}");
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    // It did not want the end of the turn. This request is the next one.
    assert_eq!(browser.call("POST", "/api/push/test", "").0, 204);
    assert_eq!(service.wait_for(2).len(), 2);
    let listed = acpd(&daemon.place, &["notifications", "list", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).expect("one target");
    assert_eq!(
        (&listed["type"], &listed["principal"], &listed["error"]),
        (&json!("push"), &json!("owner"), &Value::Null)
    );
    let log = daemon.log();
    assert!(!log.contains("planted-endpoint"), "{log}");
}

#[test]
fn an_observer_may_not_answer_and_a_revoked_token_ends_its_devices() {
    let service = Receiver::start();
    let daemon = daemon(&service);
    let made = acpd(
        &daemon.place,
        &["token", "create", "--name", "ann", "--role", "observer"],
    )
    .stdout;
    let token = made.trim().to_owned();
    let browser = Browser::new(&daemon, &service, &token);
    browser.subscribe(&["waiting", "done"]);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    let turn = client.start(&thread, "permission");
    let question = client.question();
    let read = browser.read(&service.wait_for(1)[0]);
    assert_eq!(
        (&read["type"], &read["canAnswer"]),
        (&json!("waiting"), &json!(false))
    );
    acpd(&daemon.place, &["token", "revoke", "ann"]);
    let listed = || acpd(&daemon.place, &["notifications", "list", "--json"]).stdout;
    wait_until("no device is left", || listed().is_empty());
    client.respond(&question, &json!({ "decision": "accept" }));
    client.finish(&thread, &turn);
    // A device of another user receives the next message, so none came before it.
    let other = Browser::new(&daemon, &service, &daemon.place.token());
    other.subscribe(&["done"]);
    client.turn(&thread, "say something");
    assert_eq!(other.read(&service.wait_for(2)[1])["type"], "done");
}

#[test]
fn devices_survive_a_restart_and_end_when_their_push_service_says_so() {
    let service = Receiver::start();
    let mut daemon = daemon(&service);
    let port = daemon.address().port().to_string();
    let (cookie, key) = {
        let browser = Browser::new(&daemon, &service, &daemon.place.token());
        browser.subscribe(&["done"]);
        (browser.cookie.clone(), browser.key.clone())
    };
    daemon.kill();
    daemon.restart();
    // The name of a cookie contains the port, which is another one now.
    let cookie = cookie.replacen(&port, &daemon.address().port().to_string(), 1);
    let mut client = Client::new(&daemon);
    let thread = client.thread(&daemon);
    client.turn(&thread, "say one");
    service.wait_for(1);
    service.answers(410);
    client.turn(&thread, "say two");
    service.wait_for(2);
    let listed = || acpd(&daemon.place, &["notifications", "list", "--json"]).stdout;
    wait_until("no device is left", || listed().is_empty());
    let browser = Browser {
        cookie,
        key,
        ..Browser::new(&daemon, &service, &daemon.place.token())
    };
    assert_eq!(browser.receives(), Value::Null);
    let (status, answer) = browser.call("POST", "/api/push/test", "");
    assert_eq!(status, 404, "{answer}");
    // It can begin again.
    service.answers(201);
    browser.subscribe(&["done"]);
    client.turn(&thread, "say three");
    service.wait_for(3);
    assert_eq!(browser.call("DELETE", "/api/push", "").0, 204);
    assert_eq!(browser.receives(), Value::Null);
}

#[test]
fn an_unused_browser_is_notified_before_it_is_signed_out() {
    let service = Receiver::start();
    let mut daemon = daemon(&service);
    let (private, public) = {
        let browser = Browser::new(&daemon, &service, &daemon.place.token());
        browser.subscribe(&["done"]);
        (browser.private.take(), browser.public.clone())
    };
    daemon.stop();
    let path = daemon.place.data().join("sessions.json");
    let stored = std::fs::read_to_string(&path).expect("the sessions");
    let mut stored: Value = serde_json::from_str(&stored).expect("they are JSON");
    let session = &mut stored["sessions"][0];
    let used = session["usedAt"].as_i64().expect("a time");
    session["usedAt"] = json!(used - (6 * 24 + 1) * 3600 * 1000);
    std::fs::write(&path, stored.to_string()).expect("it is replaced");
    daemon.restart();
    let [posted] = service.wait_for(1).try_into().expect("one request");
    assert_eq!(
        (posted.header("urgency"), posted.header("topic")),
        ("normal", "sign-out")
    );
    let browser = Browser {
        private: RefCell::new(private),
        public,
        ..Browser::new(&daemon, &service, &daemon.place.token())
    };
    assert_eq!(
        browser.read(&posted),
        json!({ "type": "signOut", "canStay": true })
    );
    let known = || std::fs::read_to_string(&path).is_ok_and(|stored| stored.contains("announcedEnd"));
    wait_until("the daemon remembers it", known);
}

#[test]
fn invalid_push_subscriptions_are_refused_with_a_reason() {
    let service = Receiver::start();
    let daemon = daemon(&service);
    let browser = Browser::new(&daemon, &service, &daemon.place.token());
    let good = browser.wanted(&["done"]);
    let with = |member: &str, value: Value| {
        let mut wanted = good.clone();
        wanted[member] = value;
        wanted
    };
    for (wanted, expected) in [
        (
            with("endpoint", json!("http://127.0.0.1:1/x")),
            "this browser's push service, http://127.0.0.1:1, is not a known one: to permit it, add it to push_services \
             below [notifications] in the daemon's configuration",
        ),
        (
            with("endpoint", json!("https://169.254.169.254/latest")),
            "this browser's push service, https://169.254.169.254, is not a known one: to permit it, add it to \
             push_services below [notifications] in the daemon's configuration",
        ),
        (
            with("endpoint", json!("file:///etc/passwd")),
            "the address of the push service is not a URL",
        ),
        (
            with(
                "endpoint",
                json!(format!("http://{}/{}", service.address, "x".repeat(2048))),
            ),
            "the endpoint has more than 2048 bytes",
        ),
        (
            with(
                "keys",
                json!({ "p256dh": URL_SAFE_NO_PAD.encode([4; 65]), "auth": URL_SAFE_NO_PAD.encode(SECRET) }),
            ),
            "the browser's key is not on the curve P-256",
        ),
        (with("keys", Value::Null), "give the keys of the subscription"),
        (
            with("on", json!([])),
            "give at least one kind of notification in \"on\"",
        ),
        (
            with("on", json!(["all"])),
            "the body is not {\"endpoint\": …, \"keys\": {\"p256dh\": …, \"auth\": …}, \"on\": […]}",
        ),
    ] {
        let (status, answer) = browser.call("PUT", "/api/push", &wanted.to_string());
        assert_eq!(
            (status, &body(&answer)["error"]["message"]),
            (400, &json!(expected)),
            "{wanted}"
        );
    }
    // A token alone has no session with which the subscription would end.
    let host = daemon.address().to_string();
    let bearer = format!("Bearer {}", daemon.place.token());
    let headers = [
        ("Host", &host[..]),
        ("Authorization", &bearer),
        ("Content-Type", "application/json"),
    ];
    let (status, answer) = send(daemon.address(), "PUT", "/api/push", &headers, &good.to_string());
    assert_eq!(status, 403, "{answer}");
    assert!(service.posted().is_empty());
    assert_eq!(browser.receives(), Value::Null);
}
