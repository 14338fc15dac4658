//! Push services: the servers of browsers' makers. A client names the server to which the daemon posts, so only known ones
//! are accepted: otherwise any client could make the daemon send requests into its network.

use axum::http::Uri;

use crate::notify::http::Address;

/// The services of common browsers: a host, or with a dot at its start all hosts below a domain.
const KNOWN: [&str; 4] = [
    // Chrome, Edge on Android, Brave, Opera, Vivaldi, Samsung Internet.
    "fcm.googleapis.com",
    // Firefox.
    ".push.services.mozilla.com",
    // Safari.
    ".push.apple.com",
    // Edge.
    ".notify.windows.com",
];

/// Returns the origin of an endpoint if its service is a known one, or one of `more`, which are origins.
pub(super) fn origin_of_known(endpoint: &str, more: &[String]) -> Result<String, String> {
    let bad = "the address of the push service is not a URL";
    Address::parse(endpoint).map_err(|_| bad.to_owned())?;
    let uri: Uri = endpoint.parse().map_err(|_| bad.to_owned())?;
    let (scheme, authority) = (
        uri.scheme_str().unwrap_or_default(),
        uri.authority().map_or("", |authority| authority.as_str()),
    );
    let origin = format!("{scheme}://{authority}").to_ascii_lowercase();
    let is_added = more
        .iter()
        .any(|added| added.trim_end_matches('/').eq_ignore_ascii_case(&origin));
    let host = authority.to_ascii_lowercase();
    // With a port, or over http, it is not one of them.
    let is_known = scheme == "https"
        && KNOWN.iter().any(|known| match known.strip_prefix('.') {
            Some(_) => host.ends_with(known),
            None => host == *known,
        });
    if is_known || is_added {
        return Ok(origin);
    }
    Err(format!(
        "this browser's push service, {origin}, is not a known one: to permit it, add it to push_services below \
         [notifications] in the daemon's configuration"
    ))
}

/// Checks an origin of the configuration; returns what is wrong with it.
pub(in crate::notify) fn check_origin(origin: &str) -> Result<(), String> {
    let address = Address::parse(origin)?;
    if address.segments > 0 || origin.contains(['?', '#']) {
        return Err("has more than a scheme and a host".to_owned());
    }
    if !address.is_https && !address.is_near {
        return Err(
            "does not begin with https://, which is needed beyond this host and private networks".to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_services_of_browsers_are_known() {
        for endpoint in [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/abc",
            "https://web.push.apple.com/abc",
            "https://wns2-par02p.notify.windows.com/w/?token=abc",
            "https://FCM.googleapis.com/fcm/send/abc",
        ] {
            assert!(origin_of_known(endpoint, &[]).is_ok(), "{endpoint}");
        }
        for endpoint in [
            "http://fcm.googleapis.com/fcm/send/abc",
            "https://fcm.googleapis.com:8443/fcm/send/abc",
            "https://user@fcm.googleapis.com/fcm/send/abc",
            "https://fcm.googleapis.com.example.com/abc",
            "https://evil-fcm.googleapis.com/abc",
            "https://push.apple.com.example.com/abc",
            "https://evilpush.apple.com/abc",
            "https://127.0.0.1/abc",
            "https://169.254.169.254/latest/meta-data",
            "https://localhost/abc",
            "https://[::1]/abc",
            "https://0x7f.1/abc",
            "file:///etc/passwd",
            "/abc",
            "",
        ] {
            assert!(origin_of_known(endpoint, &[]).is_err(), "{endpoint}");
        }
    }

    #[test]
    fn the_configuration_adds_whole_origins() {
        let more = [
            "https://push.example.com:8443/".to_owned(),
            "http://127.0.0.1:9".to_owned(),
        ];
        for endpoint in ["https://push.example.com:8443/abc", "http://127.0.0.1:9/abc"] {
            assert!(origin_of_known(endpoint, &more).is_ok(), "{endpoint}");
        }
        for endpoint in [
            "https://push.example.com/abc",
            "http://push.example.com:8443/abc",
            "https://push.example.com:84430/abc",
            "http://127.0.0.1:90/abc",
            "http://127.0.0.1/abc",
        ] {
            let refused = origin_of_known(endpoint, &more).unwrap_err();
            assert!(refused.contains("push_services"), "{endpoint}: {refused}");
        }
    }

    #[test]
    fn origins_are_checked() {
        for good in [
            "https://push.example.com",
            "https://push.example.com:8443/",
            "http://10.0.0.1:8080",
        ] {
            assert_eq!(check_origin(good), Ok(()), "{good}");
        }
        for bad in [
            "push.example.com",
            "http://push.example.com",
            "https://push.example.com/path",
            "https://push.example.com/?x",
            "https://u@push.example.com",
        ] {
            assert!(check_origin(bad).is_err(), "{bad}");
        }
    }
}
