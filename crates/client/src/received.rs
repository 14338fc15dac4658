//! What readers receive.

use std::ops::Deref;

use crate::protocol::Notification;

/// A notification, and the message in which it came.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Received {
    /// The notification.
    pub notification: Notification,
    /// The text of the message, with [`Options::texts`](crate::Options::texts). It has what [`Notification`] does not: members that
    /// are newer than this crate, the order of keys, and the id of a request of the daemon.
    pub text: Option<Box<str>>,
}

impl Deref for Received {
    type Target = Notification;

    fn deref(&self) -> &Notification {
        &self.notification
    }
}

impl From<Notification> for Received {
    fn from(notification: Notification) -> Self {
        Self {
            notification,
            text: None,
        }
    }
}
