//! The signed-in devices over HTTP: a user lists, names and removes them.

use acpd_model::limits::DEVICE_NAME_BYTES;
use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::auth::handle::Unrevoked;
use crate::auth::identity::Identity;
use crate::http::login::{invalid, read};
use crate::http::{ServerState, refuse, stopping};

/// The body of `PUT /api/devices`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Renamed {
    id: Option<String>,
    /// The new name. Nothing, or an empty one, removes the name.
    name: Option<String>,
}

/// The body of `DELETE /api/devices`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Removed {
    id: Option<String>,
}

/// `GET /api/devices`: lists the devices that the client may see, and says whether it may pair more.
pub async fn list(State(server): State<ServerState>, Extension(identity): Extension<Identity>) -> Response {
    let listed = server
        .auth
        .ask(move |store, now| (store.signed_in(&identity, now), store.may_pair(&identity)));
    match listed.await {
        Some((devices, may_pair)) => Json(json!({ "devices": devices, "mayPair": may_pair })).into_response(),
        None => stopping(),
    }
}

/// `PUT /api/devices`: names a device.
pub async fn rename(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let (id, name) = match read(&parts.headers, body, "{\"id\": …, \"name\": …}").await {
        Ok(Renamed { id: Some(id), name }) => (id, name),
        Ok(_) => return invalid("give {\"id\": …, \"name\": …}"),
        Err(refused) => return *refused,
    };
    let name = name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    if name.is_some_and(|name| name.len() > DEVICE_NAME_BYTES || name.chars().any(char::is_control)) {
        let message = format!(
            "this name does not fit: use at most {DEVICE_NAME_BYTES} bytes without control characters"
        );
        return invalid(&message);
    }
    let (shown, name) = (id.clone(), name.map(str::to_owned));
    let named = server
        .auth
        .ask(move |store, _| store.rename_device(&id, name, &identity));
    match named.await {
        Some(true) => StatusCode::NO_CONTENT.into_response(),
        Some(false) => unknown(&shown),
        None => stopping(),
    }
}

/// `DELETE /api/devices`: signs out a device. Its connections have ended before the response is sent.
pub async fn remove(
    State(server): State<ServerState>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let id = match read(&parts.headers, body, "{\"id\": …}").await {
        Ok(Removed { id: Some(id) }) => id,
        Ok(Removed { id: None }) => return invalid("give {\"id\": …}"),
        Err(refused) => return *refused,
    };
    match server.auth.sign_out_device(id.clone(), identity).await {
        Some(Ok(true)) => StatusCode::NO_CONTENT.into_response(),
        Some(Ok(false)) => unknown(&id),
        Some(Err(Unrevoked { name, error })) => {
            tracing::warn!(device = %name, %error, "the token of a device was not revoked");
            // The error names files of the host.
            let message = format!(
                "the device is signed out, but its token {name} may still be valid, with other sessions that it has; the daemon's log says \
                 why: run \"acpd token revoke {name}\" on the daemon's host"
            );
            refuse(StatusCode::CONFLICT, "conflict", &message)
        }
        None => stopping(),
    }
}

fn unknown(id: &str) -> Response {
    let message = format!("there is no signed-in device {id:?}: it may have signed out; list them again");
    refuse(StatusCode::NOT_FOUND, "not_found", &message)
}
