//! Browsers that receive notifications by Web Push. A subscription belongs to a session: it is stored with it, and ends with
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use acpd_model::Role;
use acpd_proto::notify::TriggerKind;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The prefix of the names that devices have among the targets of notifications.
pub const DEVICE_PREFIX: &str = "device-";

/// The devices by name.
pub type Devices = BTreeMap<String, Device>;

/// A browser that receives notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// How to reach it.
    pub subscription: PushSubscription,
    /// The name of its user's token.
    pub principal: Arc<str>,
    /// The role of its user.
    pub role: Role,
}

/// How to reach a browser, and what it wants to receive. `Debug` prints no address and no key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushSubscription {
    /// Identifies the device among the targets of notifications.
    pub id: String,
    /// The URL at which the push service accepts messages for the browser. Only the daemon and the browser know it.
    pub endpoint: String,
    /// The browser's public key: an uncompressed point of P-256.
    pub p256dh: KeyBytes<65>,
    /// The secret that authenticates the daemon's messages.
    pub auth: KeyBytes<16>,
    /// The kinds of notifications.
    pub on: BTreeSet<TriggerKind>,
    /// The origin of the page that subscribed.
    pub origin: String,
}

impl PushSubscription {
    /// Returns the device's name among the targets of notifications.
    pub fn target(&self) -> String {
        format!("{DEVICE_PREFIX}{}", self.id)
    }

    /// Returns a number that changes with the endpoint.
    pub fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.endpoint.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for PushSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushSubscription")
            .field("id", &self.id)
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

/// Bytes of a key, which are base64url in JSON. Not printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes<const N: usize>(pub [u8; N]);

impl<const N: usize> Serialize for KeyBytes<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de, const N: usize> Deserialize<'de> for KeyBytes<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        // Some browsers pad it.
        let bytes = URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format_args!("a key of {N} bytes in base64url is expected"))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the subscription of a browser at a push service. Its key is that of the example in RFC 8291.
    pub fn subscription(service: &str) -> PushSubscription {
        let point = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
        PushSubscription {
            id: "0123456789abcdef".to_owned(),
            endpoint: format!("{service}/planted-endpoint"),
            p256dh: KeyBytes(URL_SAFE_NO_PAD.decode(point).unwrap().try_into().unwrap()),
            auth: KeyBytes([7; 16]),
            on: TriggerKind::ALL.into_iter().collect(),
            origin: "https://box.example:4127".to_owned(),
        }
    }

    #[test]
    fn addresses_and_keys_are_not_in_debug_output() {
        let shown = format!("{:?}", subscription("https://push.example.com"));
        assert!(!shown.contains("planted") && !shown.contains('['), "{shown}");
    }

    #[test]
    fn keys_are_base64url_of_the_right_length() {
        let key: KeyBytes<16> = serde_json::from_str("\"BTBZMqHH6r4Tts7J_aSIgg\"").unwrap();
        assert_eq!(key.0[..2], [5, 48]);
        assert_eq!(serde_json::to_string(&key).unwrap(), "\"BTBZMqHH6r4Tts7J_aSIgg\"");
        assert!(serde_json::from_str::<KeyBytes<16>>("\"BTBZMqHH6r4Tts7J_aSIgg==\"").is_ok());
        for bad in ["\"\"", "\"BTBZ\"", "\"BTBZMqHH6r4Tts7J/aSIgg\"", "7"] {
            assert!(serde_json::from_str::<KeyBytes<16>>(bad).is_err(), "{bad}");
        }
    }
}
