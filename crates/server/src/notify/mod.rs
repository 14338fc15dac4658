//! Notifications on their way out: webhooks, commands of this host, ntfy, and browsers.
//!
//! In: notifications of [`acpd_runtime::notify`], the configuration of targets, and devices. Out: HTTP requests, and
//! processes. Owns: the key for push services. Never: writes a secret, or the address of a target, into a log or
//! an error; sends content of a thread to a target that is not configured for it.

mod blocking;
mod command;
pub mod config;
mod http;
mod message;
mod ntfy;
pub(crate) mod push;
mod push_service;
mod secret;
mod sign;
mod webhook;

use std::net::SocketAddr;
use std::sync::Arc;

use acpd_proto::notify::{DeliveryError, Target};
use acpd_runtime::notify::{Deliver, Message, Targets};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use self::blocking::blocking;
use self::push::{Push, Pushed};
use crate::auth::devices::{DEVICE_PREFIX, Devices};

pub use self::config::{NotificationsConfig, TargetConfig, TargetType};

/// Sends notifications to the targets of the configuration, which a reload replaces, and to devices.
#[derive(Debug)]
pub(crate) struct Senders {
    config: watch::Receiver<Arc<NotificationsConfig>>,
    devices: watch::Receiver<Arc<Devices>>,
    push: Arc<Push>,
    /// The address of the web UI, for links, unless the configuration has another one.
    address: String,
}

impl Senders {
    pub(crate) fn new(
        config: watch::Receiver<Arc<NotificationsConfig>>,
        devices: watch::Receiver<Arc<Devices>>,
        push: Arc<Push>,
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
            devices,
            push,
            address: format!("{scheme}://{host}:{}", address.port()),
        }
    }
}

impl Deliver for Senders {
    fn deliver(&self, target: &str, message: Message) -> BoxFuture<'static, Result<(), DeliveryError>> {
        if let Some(device) = self.devices.borrow().get(target).cloned() {
            let push = Arc::clone(&self.push);
            // Made at once: the message, which can be as large as an event, must not wait for the push service.
            let pushed = Pushed::new(&device, &message);
            return async move { push.send(&device, pushed).await }.boxed();
        }
        let config = Arc::clone(&self.config.borrow());
        let Some(target) = config.targets.get(target).cloned() else {
            let gone = DeliveryError::gone("the target has been removed");
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
        if target.starts_with(DEVICE_PREFIX) {
            return "push";
        }
        let config = self.config.borrow();
        config
            .targets
            .get(target)
            .map_or("removed", |target| target.kind.word())
    }
}

/// Follows the configuration and the devices, and returns what the runtime needs to know about the targets.
pub(crate) fn targets(
    mut config: watch::Receiver<Arc<NotificationsConfig>>,
    mut devices: watch::Receiver<Arc<Devices>>,
) -> watch::Receiver<Arc<Targets>> {
    let (mut version, mut known) = (0, Arc::clone(&config.borrow_and_update()));
    let (sender, receiver) = watch::channel(all_targets(&known, version, &devices.borrow_and_update()));
    tokio::spawn(async move {
        loop {
            let changed = tokio::select! {
                changed = config.changed() => changed,
                changed = devices.changed() => changed,
                () = sender.closed() => return,
            };
            if changed.is_err() {
                // The daemon ends.
                return;
            }
            let now = Arc::clone(&config.borrow_and_update());
            if !Arc::ptr_eq(&now, &known) {
                version += 1;
                known = now;
            }
            sender.send_replace(all_targets(&known, version, &devices.borrow_and_update()));
        }
    });
    receiver
}

fn all_targets(config: &NotificationsConfig, version: u64, devices: &Devices) -> Arc<Targets> {
    let configured = config.targets.iter();
    let configured = configured.map(|(name, target)| (name.clone(), target.rules(version)));
    let devices = devices.iter().map(|(name, device)| {
        let rules = Target {
            on: device.subscription.on.clone(),
            agents: Vec::new(),
            folders: Vec::new(),
            owner: Some(device.principal.to_string()),
            version: device.subscription.version(),
        };
        (name.clone(), rules)
    });
    Arc::new(Targets {
        targets: configured.chain(devices).collect(),
        patience: std::time::Duration::from_secs(config.waiting_secs),
    })
}
