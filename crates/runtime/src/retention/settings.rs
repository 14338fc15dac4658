//! The limits of retention, as people write them.

use std::fmt;

use acpd_model::Millis;
use acpd_model::section::{About, Reload, Section, Setting};
use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};

/// The limits of retention (`[retention]`). Without any, nothing is ever removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Age at which threads are removed, counted from the last start or end of a turn.
    pub max_age: Option<Age>,
    /// The same for archived threads; by default [`max_age`](Self::max_age).
    pub archived_max_age: Option<Age>,
    /// Age of a thread at which its attachments are removed.
    pub attachments_max_age: Option<Age>,
    /// Size of the log above which the threads that were not used for the longest time are removed.
    pub max_size: Option<Size>,
}

impl Section for RetentionSettings {
    const ABOUT: About = About {
        reload: Reload::Live,
        settings: &[Setting::new(
            "",
            "table: [Retention](#retention)",
            "nothing is removed",
        )],
        template: r#"# Limits beyond which old threads and attachments are removed: docs/data.md.
[retention]
#max_age = "365d"
#archived_max_age = "30d"
#attachments_max_age = "90d"
#max_size = "20 GiB"
"#,
    };
}

impl RetentionSettings {
    /// Returns whether there is any limit.
    pub fn is_on(&self) -> bool {
        *self != Self::default()
    }
}

const HOUR: i64 = 60 * 60 * 1000;

/// The units of ages, in milliseconds.
const AGES: [(&str, i64); 3] = [("h", HOUR), ("d", 24 * HOUR), ("w", 7 * 24 * HOUR)];

/// The units of sizes, in bytes.
const SIZES: [(&str, u64); 3] = [("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// An age, written as `12h`, `90d` or `2w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Age(Millis);

impl Age {
    /// Parses an age above zero.
    pub fn parse(text: &str) -> Option<Self> {
        let (count, unit) = AGES
            .iter()
            .find_map(|(name, millis)| Some((count(text.strip_suffix(name)?)?, *millis)))?;
        Some(Self(i64::from(count) * unit))
    }

    /// Returns the latest time that is older than this age.
    pub fn before(self, now: Millis) -> Millis {
        now.saturating_sub(self.0)
    }
}

/// A size, written as `500 MiB`, `20 GiB` or `1 TiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(u64);

impl Size {
    /// Parses a size above zero.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, unit) = SIZES
            .iter()
            .find_map(|(name, bytes)| Some((text.strip_suffix(name)?, *bytes)))?;
        let number = count(number.strip_suffix(' ').unwrap_or(number))?;
        u64::from(number).checked_mul(unit).map(Self)
    }

    /// Returns the size in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// Parses a number above zero, of digits alone.
fn count(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = is_number.then(|| text.parse().ok()).flatten()?;
    (count > 0).then_some(count)
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, unit) = if self.0 % AGES[1].1 == 0 { AGES[1] } else { AGES[0] };
        write!(f, "{}{name}", self.0 / unit)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fitting = SIZES.iter().rev().find(|(_, unit)| self.0.is_multiple_of(*unit));
        let (name, unit) = fitting.copied().unwrap_or(SIZES[0]);
        write!(f, "{} {name}", self.0 / unit)
    }
}

/// Reads text that a function parses. Errors say what to write.
struct Written<T> {
    parse: fn(&str) -> Option<T>,
    expected: &'static str,
}

impl<T> Visitor<'_> for Written<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.parse)(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl<'de> Deserialize<'de> for Age {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written {
            parse: Self::parse,
            expected: "an age, such as \"12h\", \"90d\" or \"26w\"",
        })
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Written {
            parse: Self::parse,
            expected: "a size, such as \"500 MiB\", \"20 GiB\" or \"1 TiB\"",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_a_unit() {
        for (text, hours, shown) in [
            ("1h", 1, "1h"),
            ("36h", 36, "36h"),
            ("48h", 48, "2d"),
            ("90d", 2160, "90d"),
            ("2w", 336, "14d"),
            ("4294967295w", 4_294_967_295 * 168, "30064771065d"),
        ] {
            let age = Age::parse(text).unwrap();
            assert_eq!((age, &*age.to_string()), (Age(hours * HOUR), shown), "{text}");
        }
        for text in [
            "",
            "d",
            "90",
            "0d",
            "-1d",
            "+1d",
            "1.5d",
            "90 d",
            " 90d",
            "90D",
            "90m",
            "3 months",
            "90days",
            "1y",
            "99999999999d",
            "٣d",
        ] {
            assert_eq!(Age::parse(text), None, "{text:?}");
        }
        assert_eq!(Age::parse("1h").unwrap().before(i64::MIN), i64::MIN);
    }

    #[test]
    fn a_size_has_a_binary_unit() {
        for (text, bytes, shown) in [
            ("1 MiB", 1 << 20, "1 MiB"),
            ("500MiB", 500 << 20, "500 MiB"),
            ("1024 MiB", 1 << 30, "1 GiB"),
            ("20 GiB", 20 << 30, "20 GiB"),
            ("2 TiB", 2 << 40, "2 TiB"),
        ] {
            let size = Size::parse(text).unwrap();
            assert_eq!((size.bytes(), &*size.to_string()), (bytes, shown), "{text}");
        }
        for text in [
            "",
            "GiB",
            "20",
            "20 G",
            "20 GB",
            "20  GiB",
            "0 GiB",
            "-1 GiB",
            "1.5 GiB",
            "20 gib",
            "20 KiB",
            "4294967295 TiB",
            "99999999999 MiB",
        ] {
            assert_eq!(Size::parse(text), None, "{text:?}");
        }
    }
}
