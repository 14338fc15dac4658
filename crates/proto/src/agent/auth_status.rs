//! What an agent reports about the user who is signed in.
//!
//! In: the params of notifications. Out: the same without accounts. ACP has them for display only: a log is not the place for them, and
//! those who read a thread need not know who its owner is. Operators can request `auth/status`.

use acpd_model::RawJson;

use crate::wire::{decoded, members, others, spliced};

/// Members that tell something about a user.
const PERSONAL: [&str; 6] = ["accounts", "account", "email", "name", "organization", "_meta"];

/// The only member of the params of agents that had the notification before ACP did.
const STATUS: &str = "authStatus";

fn is_report(method: &str) -> bool {
    matches!(method, "auth/status_update" | "_auth/status_update")
}

/// Returns the params of a notification without accounts.
pub(super) fn without_accounts(method: &str, params: RawJson) -> Option<RawJson> {
    if !names_account(method, &params) {
        return Some(params);
    }
    let rest = others(&params, &PERSONAL)?;
    let mut status = None;
    members(&rest, |key, value| {
        if decoded(key) == STATUS {
            status = Some(RawJson::trusted(value));
        }
    });
    let Some(status) = status else {
        return Some(rest);
    };
    let status = others(&status, &PERSONAL);
    let status = status.as_ref().map_or("{}", RawJson::get);
    Some(spliced(&rest, &[(STATUS, status)]))
}

/// Returns whether the params of a notification name an account, as in logs of earlier versions.
pub(crate) fn names_account(method: &str, params: &RawJson) -> bool {
    if !is_report(method) {
        return false;
    }
    // Only of an object is it known which members there are.
    let mut found = !params.get().trim_start().starts_with('{');
    members(params, |key, value| {
        let key = decoded(key);
        found |= is_personal(&key);
        if key == STATUS && !found {
            members(&RawJson::trusted(value), |key, _| {
                found |= is_personal(&decoded(key))
            });
        }
    });
    found
}

fn is_personal(key: &str) -> bool {
    PERSONAL.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_left_out_at_all_places() {
        for (method, params, rest) in [
            (
                "auth/status_update",
                r#"{"state":"authenticated","accounts":[{"email":"a@b"}],"_meta":{"user":"a"}}"#,
                Some(r#"{"state":"authenticated"}"#),
            ),
            (
                "auth/status_update",
                r#"{"\u0061ccounts":[],"state":"unknown"}"#,
                Some(r#"{"state":"unknown"}"#),
            ),
            ("auth/status_update", r#"{"accounts":[]}"#, None),
            ("auth/status_update", r#"[{"accounts":[]}]"#, None),
            ("auth/status_update", r#"{ "x":1.0 }"#, Some(r#"{ "x":1.0 }"#)),
            (
                "_auth/status_update",
                r#"{"authStatus":{"kind":"account","label":"Max","account":{"email":"a@b"}}}"#,
                Some(r#"{"authStatus":{"kind":"account","label":"Max"}}"#),
            ),
            (
                "_auth/status_update",
                r#"{"authStatus":{"email":"a@b"},"authStatus":{"kind":"none"}}"#,
                Some(r#"{"authStatus":{"kind":"none"},"authStatus":{"kind":"none"}}"#),
            ),
            (
                "_vendor/x",
                r#"{"accounts":[1.10]}"#,
                Some(r#"{"accounts":[1.10]}"#),
            ),
        ] {
            let left = without_accounts(method, RawJson::parse(params).unwrap());
            assert_eq!(left.as_ref().map(RawJson::get), rest, "{params}");
            assert!(left.is_none_or(|left| !names_account(method, &left)), "{params}");
        }
    }
}
