//! Subscriptions of browsers to notifications (Web Push). A subscription belongs to the session of the browser that sends it.

use std::collections::BTreeSet;

use acpd_model::limits::PUSH_ENDPOINT_BYTES;
use acpd_proto::notify::TriggerKind;
use acpd_runtime::notify::Message;
use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::auth::devices::{Device, KeyBytes, PushSubscription};
use crate::auth::identity::Identity;
use crate::auth::owner_token::random;
use crate::auth::store::SubscribeError;
use crate::http::login::{invalid, no_chance, read as read_body};
use crate::http::{ServerState, refuse, stopping};
use crate::notify::push::Pushed;

/// The number of hexadecimal digits in the id of a device.
const ID_DIGITS: usize = 16;

/// The body of `PUT /api/push`: what a browser returns for a new subscription, and the kinds of notifications.
#[derive(Default, Deserialize)]
struct Wanted {
    endpoint: String,
    keys: Option<Keys>,
    on: BTreeSet<TriggerKind>,
}

#[derive(Deserialize)]
struct Keys {
    p256dh: KeyBytes<65>,
    auth: KeyBytes<16>,
}

/// `GET /api/push`: returns the daemon's key for push services, and what the browser receives.
pub async fn read(State(server): State<ServerState>, Extension(identity): Extension<Identity>) -> Response {
    let public_key = match server.push.public_key().await {
        Ok(key) => key,
        Err(problem) => return refuse(StatusCode::INTERNAL_SERVER_ERROR, "internal", &problem),
    };
    let on = server
        .auth
        .ask(move |store, _| store.subscription(&identity).map(|push| push.on.clone()));
    let Some(on) = on.await else { return stopping() };
    let mut answer = json!({ "publicKey": public_key });
    if let Some(on) = on {
        answer["on"] = json!(on);
    }
    Json(answer).into_response()
}

/// `PUT /api/push`: lets the browser receive notifications.
pub async fn subscribe(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let wanted = "{\"endpoint\": …, \"keys\": {\"p256dh\": …, \"auth\": …}, \"on\": […]}";
    let Wanted { endpoint, keys, on } = match read_body(&parts.headers, body, wanted).await {
        Ok(wanted) => wanted,
        Err(refused) => return *refused,
    };
    let Some(Keys { p256dh, auth }) = keys else {
        return invalid("give the keys of the subscription");
    };
    if on.is_empty() {
        return invalid("give at least one kind of notification in \"on\"");
    }
    if endpoint.len() > PUSH_ENDPOINT_BYTES {
        return invalid(&format!("the endpoint has more than {PUSH_ENDPOINT_BYTES} bytes"));
    }
    let Ok(mut id) = random() else {
        return no_chance();
    };
    id.truncate(ID_DIGITS);
    // The origin has been checked.
    let origin = parts.headers.get(header::ORIGIN).map(HeaderValue::to_str);
    let subscription = PushSubscription {
        id,
        endpoint,
        p256dh,
        auth,
        on,
        origin: origin.and_then(Result::ok).unwrap_or_default().to_owned(),
    };
    if let Err(problem) = server.push.check(&subscription) {
        return invalid(&problem);
    }
    let principal = identity.principal.clone();
    match server
        .auth
        .ask(move |store, _| store.subscribe(&identity, subscription))
        .await
    {
        Some(Ok(())) => {
            tracing::info!(%principal, "a browser receives notifications");
            StatusCode::NO_CONTENT.into_response()
        }
        Some(Err(error @ SubscribeError::NoSession)) => {
            refuse(StatusCode::FORBIDDEN, "forbidden", &error.to_string())
        }
        Some(Err(error @ (SubscribeError::FullOfOne | SubscribeError::Full))) => {
            refuse(StatusCode::CONFLICT, "conflict", &error.to_string())
        }
        None => stopping(),
    }
}

/// `DELETE /api/push`: ends the notifications of the browser.
pub async fn unsubscribe(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
) -> Response {
    match server
        .auth
        .ask(move |store, _| store.unsubscribe(&identity))
        .await
    {
        Some(()) => StatusCode::NO_CONTENT.into_response(),
        None => stopping(),
    }
}

/// `POST /api/push/test`: sends a test notification to the browser. Returns when its push service has accepted it.
pub async fn test(State(server): State<ServerState>, Extension(identity): Extension<Identity>) -> Response {
    let Identity { principal, role, .. } = identity.clone();
    let found = server
        .auth
        .ask(move |store, _| store.subscription(&identity).cloned());
    let subscription = match found.await {
        Some(Some(subscription)) => subscription,
        Some(None) => {
            let message = "this browser receives no notifications: turn them on first";
            return refuse(StatusCode::NOT_FOUND, "not_found", message);
        }
        None => return stopping(),
    };
    let at = server.service.context.clock.now().wall;
    let message = Message::Test {
        id: format!("ntf_test_{at}_{}", subscription.target()),
        at,
    };
    let device = Device {
        subscription,
        principal,
        role,
    };
    match server.push.send(&device, Pushed::new(&device, &message)).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => {
            let message = format!("the test was not delivered: {}", error.reason);
            refuse(StatusCode::BAD_GATEWAY, "internal", &message)
        }
    }
}
