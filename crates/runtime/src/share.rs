//! What the runtime needs of the links with which threads are shared. The server stores and authenticates them.
//!
//! In: requests to make, list and revoke links, and threads that were deleted. Out: links. Never: authenticates a client.

use std::time::Duration;

use acpd_model::limits::SHARE_NAME_BYTES;
use acpd_model::{Failure, ThreadId};
use acpd_proto::surface::reply::{CreatedShare, ShareInfo};
use futures_util::future::BoxFuture;

/// Seconds until a link expires, unless its maker chooses: 7 days.
const SHARE_SECS: u64 = 7 * 24 * 3600;
/// Seconds until a link expires, at least.
const SHARE_MIN_SECS: u64 = 60;
/// Seconds until a link expires, at most: a year.
const SHARE_MAX_SECS: u64 = 365 * 24 * 3600;

/// A link to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewShare {
    /// The thread to share, which exists.
    pub thread: ThreadId,
    /// A name for lists of links.
    pub name: Option<String>,
    /// The name of the token that makes it.
    pub created_by: String,
    /// The time until it expires.
    pub lifetime: Duration,
}

impl NewShare {
    /// Checks the name and the time until a link expires.
    pub fn new(
        thread: ThreadId,
        name: Option<String>,
        created_by: String,
        expires_in_secs: Option<u64>,
    ) -> Result<Self, Failure> {
        let secs = expires_in_secs.unwrap_or(SHARE_SECS);
        if !(SHARE_MIN_SECS..=SHARE_MAX_SECS).contains(&secs) {
            return Err(Failure::invalid_params(format!(
                "a link expires after {SHARE_MIN_SECS} seconds at least and {SHARE_MAX_SECS} (a year) at most, not {secs}"
            )));
        }
        let name = name.map(|name| name.trim().to_owned());
        let name = name.filter(|name| !name.is_empty());
        if let Some(name) = &name
            && (name.len() > SHARE_NAME_BYTES || name.chars().any(char::is_control))
        {
            return Err(Failure::invalid_params(format!(
                "the name of a link has at most {SHARE_NAME_BYTES} bytes and no control characters"
            )));
        }
        Ok(Self {
            thread,
            name,
            created_by,
            lifetime: Duration::from_secs(secs),
        })
    }
}

/// Stores links.
pub trait ShareStore: std::fmt::Debug + Send + Sync {
    /// Makes a link. It is stored when this returns.
    fn create(&self, share: NewShare) -> BoxFuture<'static, Result<CreatedShare, Failure>>;

    /// Returns the links that have not expired, of one thread or of all, oldest first.
    fn list(&self, thread: Option<ThreadId>) -> BoxFuture<'static, Result<Vec<ShareInfo>, Failure>>;

    /// Revokes a link. Everything that it authenticated has lost its access when this returns.
    fn revoke(&self, share: String) -> BoxFuture<'static, Result<(), Failure>>;

    /// Revokes the links of a thread that was deleted.
    fn forget(&self, thread: ThreadId) -> BoxFuture<'static, ()>;
}

/// A store without links, for tests that share no thread.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Default)]
pub struct NoShares;

#[cfg(any(test, feature = "testing"))]
impl ShareStore for NoShares {
    fn create(&self, _: NewShare) -> BoxFuture<'static, Result<CreatedShare, Failure>> {
        let message = "this daemon shares no threads";
        let failure = Failure::new(acpd_model::ErrorCode::Unsupported, message);
        Box::pin(std::future::ready(Err(failure)))
    }

    fn list(&self, _: Option<ThreadId>) -> BoxFuture<'static, Result<Vec<ShareInfo>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn revoke(&self, share: String) -> BoxFuture<'static, Result<(), Failure>> {
        let failure = Failure::not_found(format_args!("link {share:?}"));
        Box::pin(std::future::ready(Err(failure)))
    }

    fn forget(&self, _: ThreadId) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: Option<&str>, secs: Option<u64>) -> Result<NewShare, Failure> {
        let thread = ThreadId(uuid::Uuid::nil());
        NewShare::new(thread, name.map(str::to_owned), "ann".to_owned(), secs)
    }

    #[test]
    fn a_link_has_a_bounded_lifetime() {
        let usual = made(None, None).unwrap();
        assert_eq!(usual.lifetime, Duration::from_hours(168));
        for secs in [SHARE_MIN_SECS, SHARE_MAX_SECS] {
            assert_eq!(
                made(None, Some(secs)).unwrap().lifetime,
                Duration::from_secs(secs)
            );
        }
        for secs in [0, SHARE_MIN_SECS - 1, SHARE_MAX_SECS + 1, u64::MAX] {
            let refused = made(None, Some(secs)).unwrap_err().message;
            assert!(refused.ends_with(&format!("not {secs}")), "{refused}");
        }
    }

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(
            made(Some(" for Bob "), None).unwrap().name.as_deref(),
            Some("for Bob")
        );
        assert_eq!(made(Some("  "), None).unwrap().name, None);
        let most = "x".repeat(SHARE_NAME_BYTES);
        assert!(made(Some(&most), None).is_ok());
        for odd in ["a\nb", "\u{1b}[2J", &format!("{most}x")] {
            assert!(made(Some(odd), None).is_err(), "{odd:?}");
        }
    }
}
