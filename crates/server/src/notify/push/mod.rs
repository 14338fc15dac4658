//! Web Push: notifications for browsers, also when no page is open.
//!
//! In: the devices of [`auth`](crate::auth), and notifications. Out: encrypted requests to push services. Owns: the key with
//! which the daemon identifies itself to them. Never: posts to a server that is not a known push service, or lets one read a
//! message.

mod encrypt;
mod payload;
mod vapid;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acpd_model::limits::NOTIFICATIONS_GIVE_UP;
use acpd_model::{Role, ThreadId};
use acpd_proto::notify::{DeliveryError, TriggerKind};
use acpd_runtime::notify::Message;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::sync::{OnceCell, watch};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use self::vapid::VapidKey;
use super::blocking::blocking;
use super::config::NotificationsConfig;
use super::{http, push_service};
use crate::auth::devices::{Device, PushSubscription};
use crate::auth::handle::AuthHandle;
use crate::auth::store::EndingSession;

/// The contact for operators of push services, if the daemon has no public address. Apple refuses it.
const NO_CONTACT: &str = "mailto:acpd@localhost";

/// How often the daemon looks for sessions that expire soon.
const ANNOUNCED_EVERY: Duration = Duration::from_hours(1);

/// A message for one device, before it is encrypted.
#[derive(Debug)]
pub(crate) struct Pushed {
    text: Vec<u8>,
    /// How soon the push service wakes the device.
    urgency: &'static str,
    /// Messages of one topic replace each other while the device is offline.
    topic: Option<String>,
}

impl Pushed {
    /// Makes the message of a notification.
    pub(crate) fn new(device: &Device, message: &Message) -> Self {
        let (is_urgent, topic) = match message {
            Message::Thread(message) => {
                let trigger = message.delivery.trigger;
                let topic = topic_of(&device.subscription.id, trigger.thread);
                (trigger.kind != TriggerKind::Done, Some(topic))
            }
            Message::Test { .. } => (true, None),
        };
        Self {
            text: payload::payload(message, device.role.may(Role::Approver)),
            urgency: if is_urgent { "high" } else { "normal" },
            topic,
        }
    }

    /// Makes the message that the browser will be signed out within a day.
    fn sign_out(ending: &EndingSession) -> Self {
        Self {
            text: payload::sign_out(ending.is_prolonged_by_use),
            urgency: "normal",
            topic: Some("sign-out".to_owned()),
        }
    }
}

/// Sends notifications to browsers.
#[derive(Debug)]
pub(crate) struct Push {
    config: watch::Receiver<Arc<NotificationsConfig>>,
    auth: AuthHandle,
    data_dir: PathBuf,
    key: OnceCell<Arc<VapidKey>>,
}

impl Push {
    pub(crate) fn new(
        config: watch::Receiver<Arc<NotificationsConfig>>,
        auth: AuthHandle,
        data_dir: &Path,
    ) -> Self {
        Self {
            config,
            auth,
            data_dir: data_dir.to_owned(),
            key: OnceCell::new(),
        }
    }

    /// Returns the public key to which browsers bind their subscriptions.
    pub(crate) async fn public_key(&self) -> Result<String, String> {
        Ok(self.key().await?.public_key())
    }

    /// The key is made when it is first needed.
    async fn key(&self) -> Result<Arc<VapidKey>, String> {
        let load = || async {
            let data_dir = self.data_dir.clone();
            let loaded = tokio::task::spawn_blocking(move || VapidKey::load_or_create(&data_dir)).await;
            Ok(Arc::new(loaded.map_err(|error| error.to_string())??))
        };
        self.key.get_or_try_init(load).await.cloned()
    }

    /// Checks a subscription that a browser sends; returns a sentence about what is wrong with it.
    pub(crate) fn check(&self, subscription: &PushSubscription) -> Result<(), String> {
        push_service::origin_of_known(&subscription.endpoint, &self.config.borrow().push_services)?;
        encrypt::encrypt(subscription, b"")
            .map(drop)
            .map_err(|_| "the browser's key is not on the curve P-256".to_owned())
    }

    /// Sends a message to a device. A device that its push service does not know any more is removed.
    pub(crate) async fn send(&self, device: &Device, message: Pushed) -> Result<(), DeliveryError> {
        let subscription = &device.subscription;
        let config = Arc::clone(&self.config.borrow());
        let service = push_service::origin_of_known(&subscription.endpoint, &config.push_services)
            .map_err(DeliveryError::last)?;
        let key = self.key().await.map_err(DeliveryError::retry)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let contact = contact(config.url.as_deref(), &subscription.origin);
        let authorization = key
            .authorization(&service, contact, since.as_secs())
            .map_err(DeliveryError::retry)?;
        let body = encrypt::encrypt(subscription, &message.text)
            .map_err(|_| DeliveryError::last("the browser's key cannot be used"))?;
        let mut headers = vec![
            ("authorization", authorization),
            ("content-type", "application/octet-stream".to_owned()),
            ("content-encoding", "aes128gcm".to_owned()),
            ("ttl", NOTIFICATIONS_GIVE_UP.as_secs().to_string()),
            ("urgency", message.urgency.to_owned()),
        ];
        headers.extend(message.topic.map(|topic| ("topic", topic)));
        let endpoint = subscription.endpoint.clone();
        let sent = blocking(move || http::post(&endpoint, &headers, &body)).await;
        sent.map_err(|error| {
            if matches!(error.status, Some(404 | 410)) {
                if self.has_moved(subscription) {
                    return DeliveryError::retry("the browser is reached at another address now");
                }
                self.remove(subscription);
                return DeliveryError::gone("the browser receives no notifications any more");
            }
            error.into()
        })
    }

    /// Notifies browsers before their sessions expire, until the daemon stops: notifications would otherwise end without a
    /// word, and the user would wait for them.
    pub(crate) async fn announce_sign_outs(&self, stop: CancellationToken) {
        let mut hours = tokio::time::interval(ANNOUNCED_EVERY);
        hours.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = hours.tick() => {}
                () = stop.cancelled() => return,
            }
            let ending = self.auth.ask(|store, now| store.ending_sessions(now)).await;
            for session in ending.unwrap_or_default() {
                let sent = self.send(&session.device, Pushed::sign_out(&session)).await;
                if let Err(error) = sent {
                    let (device, reason) = (&*session.device.subscription.id, &*error.reason);
                    tracing::warn!(
                        device,
                        reason,
                        "a browser was not notified that it will be signed out"
                    );
                    if !error.is_final {
                        continue;
                    }
                }
                self.auth.ask(move |store, _| store.announced(&session)).await;
            }
        }
    }

    /// Returns whether a device has subscribed anew since a message was sent.
    fn has_moved(&self, before: &PushSubscription) -> bool {
        let devices = self.auth.devices();
        let devices = devices.borrow();
        let now = devices.get(&before.target());
        now.is_some_and(|now| now.subscription.endpoint != before.endpoint)
    }

    fn remove(&self, subscription: &PushSubscription) {
        let PushSubscription { id, endpoint, .. } = subscription.clone();
        tracing::info!(device = id, "a browser receives no notifications any more");
        let auth = self.auth.clone();
        // The task of the devices must not wait for this one.
        tokio::spawn(async move { auth.ask(move |store, _| store.end_endpoint(&endpoint)).await });
    }
}

fn contact<'a>(url: Option<&'a str>, origin: &'a str) -> &'a str {
    let mut public = [url.unwrap_or_default(), origin].into_iter();
    public
        .find(|url| url.starts_with("https://"))
        .unwrap_or(NO_CONTACT)
}

/// Returns the topic of a thread: a device that was offline receives only the last message of each. It does not reveal the
/// thread's id.
fn topic_of(device: &str, thread: ThreadId) -> String {
    let digest = Sha256::new()
        .chain_update(device)
        .chain_update(thread.0.as_bytes())
        .finalize();
    // At most 32 characters are permitted.
    URL_SAFE_NO_PAD.encode(&digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_short_and_of_one_thread_on_one_device() {
        let thread = |number| ThreadId(uuid::Uuid::from_u128(number));
        let topic = topic_of("a", thread(1));
        assert_eq!(topic, topic_of("a", thread(1)));
        assert_eq!(topic.len(), 22);
        assert_ne!(topic, topic_of("a", thread(2)));
        assert_ne!(topic, topic_of("b", thread(1)));
    }

    #[test]
    fn the_contact_is_a_public_address() {
        assert_eq!(
            contact(Some("https://a.example"), "https://b.example"),
            "https://a.example"
        );
        assert_eq!(
            contact(Some("http://a.example"), "https://b.example"),
            "https://b.example"
        );
        assert_eq!(contact(None, "http://localhost:4127"), NO_CONTACT);
    }
}
