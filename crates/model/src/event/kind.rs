//! The kinds of events that can happen in a thread, in groups.
//!
//! The log does not know groups: a kind is stored as one object with one member, `{"turnStarted":{…}}`. Each group writes
//! and reads its kinds in this form, and [`EventKind`] selects the group by the name.

use std::fmt;

use serde::de::value::{EnumAccessDeserializer, U32Deserializer};
use serde::de::{DeserializeSeed, EnumAccess, IntoDeserializer, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use super::host::HostEvent;
use super::item::ItemEvent;
use super::metric_group::MetricGroup;
use super::request::RequestEvent;
use super::session::SessionEvent;
use super::thread::ThreadEvent;
use super::turn::TurnEvent;
use crate::ids::ItemId;
use crate::item::{ItemEnd, ItemStart};

/// Defines [`EventKind`], and what each group has.
macro_rules! groups {
    ($( $(#[$doc:meta])* $group:ident($event:ident), )*) => {
        /// What happened. Names are in the past tense.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EventKind {
            $( $(#[$doc])* $group($event), )*
            /// A kind that this version does not know, from a newer daemon. Never written.
            Unknown,
        }

        $(
            impl From<$event> for EventKind {
                fn from(event: $event) -> Self {
                    Self::$group(event)
                }
            }
        )*

        impl EventKind {
            /// Returns the name in the log; `None` for an unknown kind.
            pub fn tag(&self) -> Option<&'static str> {
                match self {
                    $( Self::$group(event) => Some(event.tag()), )*
                    Self::Unknown => None,
                }
            }

            /// Returns the name in exports.
            pub fn export_name(&self) -> &'static str {
                match self {
                    $( Self::$group(event) => event.export_name(), )*
                    Self::Unknown => "unknown",
                }
            }

            /// Returns the group in which metrics count the event.
            pub fn metric_group(&self) -> MetricGroup {
                match self {
                    $( Self::$group(event) => event.metric_group(), )*
                    Self::Unknown => MetricGroup::Thread,
                }
            }
        }

        /// The names of all kinds in the log.
        const TAGS: [&str; COUNT] = flatten(&[$($event::TAGS),*]);
        const COUNT: usize = 0 $( + $event::TAGS.len() )*;

        impl Serialize for EventKind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$group(event) => event.serialize(serializer), )*
                    Self::Unknown => Err(ser::Error::custom("an event of an unknown kind cannot be stored")),
                }
            }
        }

        /// A kind by its group, and its index there.
        #[derive(Clone, Copy)]
        enum Place {
            $( $group(u32), )*
        }

        impl Place {
            fn of(tag: &str) -> Option<Self> {
                $(
                    if let Some(index) = $event::index_of(tag) {
                        return Some(Self::$group(index));
                    }
                )*
                None
            }

            /// Reads the members of the kind.
            fn read<'de, V: VariantAccess<'de>>(self, members: V) -> Result<EventKind, V::Error> {
                match self {
                    $(
                        Self::$group(index) => {
                            $event::deserialize(EnumAccessDeserializer::new(Known { index, members }))
                                .map(EventKind::$group)
                        }
                    )*
                }
            }
        }
    };
}

// The most frequent group is first: a name is looked up in this order.
groups! {
    /// An item.
    Item(ItemEvent),
    /// Files and terminals.
    Host(HostEvent),
    /// A turn, or the queue of turns.
    Turn(TurnEvent),
    /// A question, or an answer that applies without one.
    Request(RequestEvent),
    /// The agent's process and session.
    Session(SessionEvent),
    /// The thread as a whole.
    Thread(ThreadEvent),
}

impl EventKind {
    /// Reads a kind as the log has it.
    fn decode(json: &str) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let kind = read(&mut reader)?;
        reader.end()?;
        Ok(kind)
    }

    /// Returns whether this version knows the kind with the name `tag` in the log.
    pub(super) fn is_known(tag: &str) -> bool {
        Place::of(tag).is_some()
    }

    /// Returns the item that the event is about, if it is about one.
    pub fn item(&self) -> Option<ItemId> {
        match self {
            Self::Item(event) => Some(event.item()),
            Self::Host(
                HostEvent::TerminalOutput { item, .. }
                | HostEvent::TerminalWaiting { item, .. }
                | HostEvent::TerminalInput { item, .. },
            ) => Some(*item),
            Self::Request(RequestEvent::PermissionRequested { item, .. }) => *item,
            Self::Host(_)
            | Self::Turn(_)
            | Self::Request(_)
            | Self::Session(_)
            | Self::Thread(_)
            | Self::Unknown => None,
        }
    }

    /// Returns whether the event is about a message or a thought.
    pub fn is_about_message(&self) -> bool {
        matches!(
            self,
            Self::Item(
                ItemEvent::Delta { .. }
                    | ItemEvent::Content { .. }
                    | ItemEvent::UserMessageAdded { .. }
                    | ItemEvent::Started {
                        start: ItemStart::Message { .. },
                        ..
                    }
                    | ItemEvent::Completed {
                        end: ItemEnd::Message { .. },
                        ..
                    }
            )
        )
    }

    /// Returns the item whose id of the agent the event contains: the one that it is about, or the tool call that a question
    /// for information names.
    pub fn named_item(&self) -> Option<ItemId> {
        match self {
            Self::Request(RequestEvent::InputRequested { call, .. }) => *call,
            _ => self.item(),
        }
    }
}

const fn flatten(groups: &[&[&'static str]]) -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let (mut group, mut next) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            all[next] = groups[group][index];
            (index, next) = (index + 1, next + 1);
        }
        group += 1;
    }
    all
}

/// Reads a kind of event where it is in the text.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
    deserializer.deserialize_enum("EventKind", &TAGS, KindVisitor)
}

/// Reads a kind within another value by the reader that [`super::Event::decode`] has: its 350 kB of code would be again in each
/// crate that has such values.
impl<'de> Deserialize<'de> for EventKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        Self::decode(json.get()).map_err(de::Error::custom)
    }
}

/// Reads the name, and has the group read the members where they are in the text, without a copy.
struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = EventKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a kind of event")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<EventKind, A::Error> {
        let (place, members) = data.variant::<Place>()?;
        place.read(members)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(TagVisitor)
    }
}

struct TagVisitor;

impl Visitor<'_> for TagVisitor {
    type Value = Place;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a kind of event")
    }

    fn visit_str<E: de::Error>(self, tag: &str) -> Result<Place, E> {
        Place::of(tag).ok_or_else(|| E::unknown_variant(tag, &TAGS))
    }
}

/// A kind of a group whose name was read already.
struct Known<V> {
    index: u32,
    members: V,
}

impl<'de, V: VariantAccess<'de>> EnumAccess<'de> for Known<V> {
    type Error = V::Error;
    type Variant = V;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, V), V::Error> {
        let index: U32Deserializer<V::Error> = self.index.into_deserializer();
        Ok((seed.deserialize(index)?, self.members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::from_bytes;

    /// The kinds of the samples: a line of the log, and the part of it that is the kind.
    fn samples() -> impl Iterator<Item = (&'static str, String)> {
        include_str!("../../fixtures/events-v1.jsonl")
            .lines()
            .map(|line| {
                let kind = &line[line.find("\"kind\":").unwrap() + "\"kind\":".len()..];
                let kind = serde_json::Deserializer::from_str(kind)
                    .into_iter::<Box<serde_json::value::RawValue>>()
                    .next();
                (line, kind.unwrap().unwrap().get().to_owned())
            })
    }

    #[test]
    fn each_kind_has_a_sample_and_reads_back_as_it_was_written() {
        let mut missing: Vec<_> = TAGS.into();
        for (line, json) in samples() {
            let kind: EventKind = from_bytes(json.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&kind).unwrap(), json, "{line}");
            let tag = kind.tag().unwrap();
            assert!(json.starts_with(&format!("{{\"{tag}\":")), "{json}");
            missing.retain(|name| *name != tag);
        }
        assert!(missing.is_empty(), "events-v1.jsonl has no sample of {missing:?}");
    }

    #[test]
    fn no_name_is_in_two_groups() {
        let mut names = TAGS;
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn a_name_is_read_in_any_notation() {
        let escaped = r#"{ "turn\u0053tarted" : {} }"#;
        let kind: EventKind = from_bytes(escaped.as_bytes()).unwrap();
        assert_eq!(kind.tag(), Some("turnStarted"));
        let value: serde_json::Value = serde_json::from_str(escaped).unwrap();
        assert_eq!(serde_json::from_value::<EventKind>(value).unwrap(), kind);
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_names() {
        let error = from_bytes::<EventKind>(br#"{"moonLanded":{"by":"eagle"}}"#).unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("unknown variant `moonLanded`, expected one of `itemStarted`, "),
            "{error}"
        );
        assert!(
            TAGS.iter().all(|tag| error.contains(&format!("`{tag}`"))),
            "{error}"
        );
        assert!(!EventKind::is_known("moonLanded"));
        // Names of variants are not names of the log.
        assert!(!EventKind::is_known("started") && !EventKind::is_known("unknown"));
        assert!(serde_json::to_string(&EventKind::Unknown).is_err());
    }

    #[test]
    fn a_kind_with_the_members_of_a_kind_of_another_group_is_an_error() {
        // As `itemUpdated`, and as `turnSettled` with a status that only threads have.
        for json in [
            r#"{"requestSettled":{"item":"item_1","status":"completed"}}"#,
            r#"{"turnSettled":{"status":"idle"}}"#,
            r#"{"itemCompleted":{"status":"completed"}}"#,
            r#"{"itemUpdated":{"item":"item_1","status":"completed"},"turnStarted":{}}"#,
            r#"{"threadArchived":{},"threadUnarchived":{}}"#,
            "{}",
            r#""turnStarted""#,
        ] {
            assert!(from_bytes::<EventKind>(json.as_bytes()).is_err(), "{json}");
        }
    }

    #[test]
    fn all_kinds_have_names_in_exports() {
        for (line, json) in samples() {
            let kind: EventKind = from_bytes(json.as_bytes()).unwrap();
            assert!(!["", "unknown"].contains(&kind.export_name()), "{line}");
        }
        assert_eq!(EventKind::Unknown.export_name(), "unknown");
    }
}
