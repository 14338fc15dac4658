//! `kinds!`, the table of the kinds of one group.

/// Defines a group of kinds, with one row for each kind:
///
/// ```text
/// "name in the log" as "name in exports" in Group of metrics => Variant { members }
/// ```
///
/// A kind whose name in exports depends on a member names a function and the member: `as started(start)`.
///
/// The name in the log is never changed: it is in the logs of users. Members are optional if older logs lack them.
macro_rules! kinds {
    (
        $(#[$about:meta])*
        $group:ident {
            $(
                $(#[$doc:meta])*
                $tag:literal as $export:tt $(($member:ident))? in $metric:ident => $kind:ident $members:tt
            ),* $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all_fields = "camelCase")]
        pub enum $group {
            $( $(#[$doc])* #[serde(rename = $tag)] $kind $members, )*
        }

        impl $group {
            /// The names in the log, in the order of the variants.
            pub(super) const TAGS: &[&str] = &[$($tag),*];

            /// Returns the index of the variant with this name in the log.
            pub(super) fn index_of(tag: &str) -> Option<u32> {
                enum Index { $($kind),* }
                match tag {
                    $( $tag => Some(Index::$kind as u32), )*
                    _ => None,
                }
            }

            /// Returns the name in the log.
            pub fn tag(&self) -> &'static str {
                match self {
                    $( Self::$kind { .. } => $tag, )*
                }
            }

            /// Returns the name in exports.
            pub fn export_name(&self) -> &'static str {
                match self {
                    $( Self::$kind { $($member,)? .. } => $export $(($member))?, )*
                }
            }

            /// Returns the group in which metrics count the event.
            pub fn metric_group(&self) -> super::metric_group::MetricGroup {
                match self {
                    $( Self::$kind { .. } => super::metric_group::MetricGroup::$metric, )*
                }
            }
        }
    };
}

pub(super) use kinds;
