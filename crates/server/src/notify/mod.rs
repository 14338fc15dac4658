//! Notifications on their way out: webhooks, commands of this host, and ntfy.
//!
//! In: notifications of [`acpd_runtime::notify`], and the configuration of their targets. Out: HTTP requests, and
//! processes. Owns: nothing that outlives one delivery. Never: writes a secret, or the address of a target, into a log or
//! an error; sends content of a thread to a target that is not configured for it.

mod command;
pub mod config;
mod http;
mod message;
mod ntfy;
mod secret;
mod sign;
mod webhook;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use acpd_proto::notify::DeliveryError;
use acpd_runtime::notify::{Deliver, Message, Targets};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

pub use self::config::{NotificationsConfig, TargetConfig, TargetType};

/// Sends notifications to the targets of the configuration, which a reload replaces.
#[derive(Debug)]
pub(crate) struct Senders {
    config: watch::Receiver<Arc<NotificationsConfig>>,
    /// The address of the web UI, for links, unless the configuration has another one.
    address: String,
}

impl Senders {
    pub(crate) fn new(
        config: watch::Receiver<Arc<NotificationsConfig>>,
        address: SocketAddr,
        is_tls: bool,
    ) -> Self {
        let scheme = if is_tls { "https" } else { "http" };
        // An unspecified address is no place to connect to.
        let host = match address.ip() {
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            ip if ip.is_ipv6() => format!("[{ip}]"),
            ip => ip.to_string(),
        };
        Self {
            config,
            address: format!("{scheme}://{host}:{}", address.port()),
        }
    }
}

impl Deliver for Senders {
    fn deliver(&self, target: &str, message: Message) -> BoxFuture<'static, Result<(), DeliveryError>> {
        let config = Arc::clone(&self.config.borrow());
        let Some(target) = config.targets.get(target).cloned() else {
            let gone = DeliveryError::last("the target is no longer configured");
            return std::future::ready(Err(gone)).boxed();
        };
        let base = config
            .url
            .as_deref()
            .unwrap_or(&self.address)
            .trim_end_matches('/')
            .to_owned();
        let notification = message::Notification::new(&message, target.content, &base);
        async move {
            match target.kind {
                TargetType::Webhook => blocking(move || webhook::send(&target, &notification)).await,
                TargetType::Ntfy => blocking(move || ntfy::send(&target, &notification)).await,
                TargetType::Command => command::run(&target, &notification).await,
            }
        }
        .boxed()
    }

    fn kind(&self, target: &str) -> &'static str {
        let config = self.config.borrow();
        config
            .targets
            .get(target)
            .map_or("removed", |target| target.kind.word())
    }
}

/// Returns what the runtime needs to know about the targets of a configuration.
pub(crate) fn targets(config: &NotificationsConfig) -> Arc<Targets> {
    let targets: BTreeMap<_, _> = config
        .targets
        .iter()
        .map(|(name, target)| (name.clone(), target.rules()))
        .collect();
    Arc::new(Targets {
        targets,
        patience: std::time::Duration::from_secs(config.waiting_secs),
    })
}

async fn blocking(
    send: impl FnOnce() -> Result<(), DeliveryError> + Send + 'static,
) -> Result<(), DeliveryError> {
    let sent = tokio::task::spawn_blocking(send).await;
    sent.unwrap_or_else(|error| Err(DeliveryError::retry(error.to_string())))
}
