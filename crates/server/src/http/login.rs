//! Tickets and sessions over HTTP, for browsers, which cannot set headers and should not store a token.

use std::time::Duration;

use acpd_model::Role;
use acpd_model::limits::{HEAD_SECS, SESSION_MAX_DAYS, TICKET_SECS};
use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::auth::identity::Identity;
use crate::auth::owner_token::random;
use crate::auth::sessions::SessionSecret;
use crate::auth::store::{Holder, TicketLimit};
use crate::auth::tokens::TokensError;
use crate::http::authenticate::{Credential, check, port_of, read_credential};
use crate::http::credentials::{cookie_name, share_page_key};
use crate::http::{ServerState, refuse, stopping, unauthenticated};
use crate::net::peer_address::PeerAddress;

/// Largest body of an HTTP request, in bytes.
const BODY_BYTES: usize = 16 << 10;

/// The body of `POST /api/session`: exactly one of the two, or nothing if `Authorization` contains a token.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: Option<String>,
    ticket: Option<String>,
}

/// The body of `POST /api/tickets/used`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    ticket: Option<String>,
}

/// The optional body of `POST /api/tickets`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    holder: Holder,
}

/// `POST /api/tickets`: creates a ticket for the client's identity.
pub async fn ticket(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let Wanted { holder } = match read(&parts.headers, body, "{\"holder\": …}").await {
        Ok(wanted) => wanted,
        Err(refused) => return *refused,
    };
    let Ok(ticket) = random() else {
        return no_chance();
    };
    let kept = ticket.clone();
    let taken = server
        .auth
        .ask(move |store, now| store.add_ticket(&kept, identity, holder, now));
    match taken.await {
        Some(Ok(())) => Json(json!({ "ticket": ticket, "expiresInSecs": TICKET_SECS })).into_response(),
        Some(Err(TicketLimit)) => {
            super::slow_down(TICKET_SECS, "too many unused tickets: wait until they expire")
        }
        None => stopping(),
    }
}

/// `POST /api/tickets/used`: responds when a ticket was used or has expired, so that the client can clean up.
pub async fn used(State(server): State<ServerState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let ticket = match read(&parts.headers, body, "{\"ticket\": …}").await {
        Ok(Used { ticket: Some(ticket) }) => ticket,
        Ok(Used { ticket: None }) => return invalid("give {\"ticket\": …}"),
        Err(refused) => return *refused,
    };
    let Some(gone) = server.auth.ask(move |store, _| store.ticket_gone(&ticket)).await else {
        return stopping();
    };
    if let Some(gone) = gone {
        tokio::select! {
            () = gone.cancelled() => {}
            () = server.stop.cancelled() => return stopping(),
            () = tokio::time::sleep(Duration::from_secs(TICKET_SECS)) => {}
        }
    }
    Json(json!({})).into_response()
}

/// `POST /api/session`: exchanges a token or a ticket for a cookie and the key of the page.
pub async fn begin(State(server): State<ServerState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let login: Login = match read(&parts.headers, body, "{\"token\": …} or {\"ticket\": …}").await {
        Ok(login) => login,
        Err(refused) => return *refused,
    };
    let given = match (login.token, login.ticket) {
        (Some(token), None) => Some(Credential::Token(token)),
        (None, Some(ticket)) => Some(Credential::Ticket(ticket)),
        (None, None) => match read_credential(&server, &parts) {
            // A session cannot start another session.
            Ok(Some(Credential::Token(token))) => Some(Credential::Token(token)),
            Ok(_) => None,
            Err(refused) => return *refused,
        },
        (Some(_), Some(_)) => return invalid("send either token or ticket, not both"),
    };
    let Some(given) = given else {
        return unauthenticated("give {\"token\": …} or {\"ticket\": …}");
    };
    let Ok(mut secret) = SessionSecret::random() else {
        return no_chance();
    };
    if let Credential::Ticket(ticket) = &given {
        match server.auth.pair(ticket.clone(), secret.clone()).await {
            Some(Ok(Some(identity))) => return signed_in(&server, &parts, &secret, identity).await,
            // It may be a ticket of another kind.
            Some(Ok(None)) => {}
            Some(Err(error)) => {
                tracing::warn!(%error, "a device was not paired");
                // Other errors name files of the host.
                let message = match error {
                    TokensError::Full | TokensError::Paired => error.to_string(),
                    _ => "this device was not paired; the daemon's log says why".to_owned(),
                };
                return refuse(StatusCode::CONFLICT, "conflict", &message);
            }
            None => return stopping(),
        }
    }
    let identity = match check(&server, given, &parts.extensions, false).await {
        Ok(identity) => identity,
        Err(refused) => return *refused,
    };
    if let Some(share) = &identity.share {
        secret.page_key = share_page_key(&share.id, &secret.page_key);
    }
    let kept = secret.clone();
    let begun = server
        .auth
        .ask(move |store, now| store.begin_session(&kept, &identity, now));
    match begun.await {
        Some(Some(identity)) => signed_in(&server, &parts, &secret, identity).await,
        // The token was revoked during this request.
        Some(None) => unauthenticated("the token is revoked"),
        None => stopping(),
    }
}

/// Returns the response to a browser that has a new session.
async fn signed_in(
    server: &ServerState,
    parts: &Parts,
    secret: &SessionSecret,
    identity: Identity,
) -> Response {
    tracing::info!(principal = %identity.principal, "a browser has logged in");
    let user_agent = parts.headers.get(header::USER_AGENT);
    if let Some(browser) = user_agent.and_then(|agent| browser_of(agent.to_str().ok()?)) {
        let of_session = identity.clone();
        // While the daemon stops, the session is as good without it.
        server
            .auth
            .ask(move |store, _| store.set_browser(&of_session, browser))
            .await;
    }
    let mut body = session_json(&identity);
    body["pageKey"] = secret.page_key.as_str().into();
    let mut answer = Json(body).into_response();
    let cookie = SessionCookie {
        value: &secret.cookie,
        secs: SESSION_MAX_DAYS * 24 * 3600,
        share: identity.share.as_ref().map(|share| &*share.id),
    };
    set_cookie(&mut answer, server, &parts.extensions, &parts.headers, &cookie);
    answer
}

/// Returns a browser's name and system in words of acpd's own: the header is the client's, and can contain anything.
fn browser_of(user_agent: &str) -> Option<String> {
    // Many browsers name those before which they pretend to be.
    const BROWSERS: [(&str, &str); 12] = [
        ("Edg/", "Edge"),
        ("EdgA/", "Edge"),
        ("EdgiOS/", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser/", "Samsung Internet"),
        ("Vivaldi/", "Vivaldi"),
        ("FxiOS/", "Firefox"),
        ("Firefox/", "Firefox"),
        ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("AppleWebKit/", "Safari"),
    ];
    const SYSTEMS: [(&str, &str); 7] = [
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("CrOS", "ChromeOS"),
        ("Mac OS X", "macOS"),
        ("Windows", "Windows"),
        ("Linux", "Linux"),
    ];
    let named = |words: &[(&str, &'static str)]| {
        let found = words.iter().find(|(sign, _)| user_agent.contains(sign));
        found.map(|(_, name)| *name)
    };
    let browser = named(&BROWSERS)?;
    Some(match named(&SYSTEMS) {
        Some(system) => format!("{browser} on {system}"),
        None => browser.to_owned(),
    })
}

/// `GET /api/session`: returns the client's identity.
pub async fn who(Extension(identity): Extension<Identity>) -> Response {
    Json(session_json(&identity)).into_response()
}

/// `DELETE /api/session`: logs out, and ends all connections that used the session.
pub async fn end(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let share = identity.share.clone();
    if server
        .auth
        .ask(move |store, _| store.end_session(&identity))
        .await
        .is_none()
    {
        return stopping();
    }
    let (parts, _) = request.into_parts();
    let mut answer = StatusCode::NO_CONTENT.into_response();
    // Content that browsers cache for the session.
    answer
        .headers_mut()
        .insert("clear-site-data", HeaderValue::from_static("\"cache\""));
    let cookie = SessionCookie {
        value: "",
        secs: 0,
        share: share.as_ref().map(|share| &*share.id),
    };
    set_cookie(&mut answer, &server, &parts.extensions, &parts.headers, &cookie);
    answer
}

fn session_json(identity: &Identity) -> serde_json::Value {
    let Identity {
        principal,
        role,
        session,
        share,
        ..
    } = identity;
    let role: Role = *role;
    let mut answer = json!({ "principal": **principal, "role": role, "expiresAt": session.map(|(_, expires_at)| expires_at) });
    if let Some(share) = share {
        answer["share"] = json!({
            "id": *share.id, "threadId": share.thread.to_string(), "expiresAt": share.expires_at,
        });
    }
    answer
}

/// A session's cookie. Not printed.
struct SessionCookie<'a> {
    value: &'a str,
    /// Seconds until the browser deletes it.
    secs: i64,
    /// The link that opened the session.
    share: Option<&'a str>,
}

fn set_cookie(
    answer: &mut Response,
    server: &ServerState,
    extensions: &axum::http::Extensions,
    headers: &HeaderMap,
    cookie: &SessionCookie<'_>,
) {
    // Behind a proxy with TLS, the page's origin shows TLS. The origin check has already passed.
    let page = headers
        .get(header::ORIGIN)
        .map(HeaderValue::as_bytes)
        .unwrap_or_default();
    let has_tls = matches!(extensions.get(), Some(PeerAddress::Network { secure: true, .. }));
    let secure = has_tls || page.starts_with(b"https:");
    let SessionCookie { value, secs, share } = cookie;
    let name = cookie_name(port_of(server, headers, has_tls), *share, secure);
    let flag = if secure { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={secs}{flag}");
    if let Ok(mut cookie) = HeaderValue::from_str(&cookie) {
        cookie.set_sensitive(true);
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// Reads a small JSON object within a time limit. A page of another origin could send it as text without a preflight
/// request, so the content type is checked as well.
pub(super) async fn read<T: Default + DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    wanted: &str,
) -> Result<T, Box<Response>> {
    let bytes = tokio::time::timeout(Duration::from_secs(HEAD_SECS), to_bytes(body, BODY_BYTES)).await;
    let bytes = match bytes {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let message = format!("the body has more than {BODY_BYTES} bytes, or broke off");
            return Err(Box::new(refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                "invalid_request",
                &message,
            )));
        }
        Err(_) => {
            let message = "timed out reading the request body";
            return Err(Box::new(refuse(
                StatusCode::REQUEST_TIMEOUT,
                "invalid_request",
                message,
            )));
        }
    };
    if bytes.is_empty() {
        return Ok(T::default());
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return Err(Box::new(refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "invalid_request",
            "send application/json",
        )));
    }
    // The message of serde may contain parts of the body.
    acpd_model::json::from_bytes(&bytes).map_err(|_| Box::new(invalid(&format!("the body is not {wanted}"))))
}

pub(super) fn invalid(message: &str) -> Response {
    refuse(StatusCode::BAD_REQUEST, "invalid_params", message)
}

pub(super) fn no_chance() -> Response {
    refuse(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the system has no random numbers",
    )
}

#[cfg(test)]
mod tests {
    use super::browser_of;

    #[test]
    fn a_browser_is_named_by_known_words_only() {
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                Some("Firefox on Linux"),
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
                Some("Chrome on Android"),
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
                Some("Safari on iPhone"),
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                Some("Edge on Windows"),
            ),
            ("Firefox/1 <script>", Some("Firefox")),
            ("curl/8.5.0", None),
            ("", None),
        ] {
            assert_eq!(browser_of(user_agent).as_deref(), expected, "{user_agent}");
        }
    }
}
