//! Links with which threads are shared.

use acpd_model::{Millis, ThreadId};

use crate::surface::reply::{CreatedShare, ShareInfo};

wire! {
    /// Result of `thread/share/create`.
    struct ShareCreated for CreatedShare {
        share: ShareInfo,
        /// The link's secret, which is stored nowhere. The link is the daemon's address and `/#share=SECRET`. Programs send
        /// the secret as a token.
        secret: String,
    }

    /// A link with which anyone can read one thread.
    struct ThreadShare for ShareInfo {
        /// Id of the link, which is not secret.
        id: String,
        /// The thread that it shares.
        [rename = "threadId"] thread: ThreadId,
        /// Its name, for the list of links.
        name: Option<String>,
        /// Name of the token that made it.
        created_by: String,
        created_at: Millis,
        /// The link ends then, or when the token that made it does.
        expires_at: Millis,
    }
}
