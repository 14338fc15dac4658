//! Times for people.

use serde_json::Value;

use crate::exit::Exit;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Milliseconds since the epoch, as objects of the daemon have them; `None` if there are none.
pub trait Millis {
    /// Returns the number, if there is one that can be a time.
    fn millis(self) -> Option<i64>;
}

impl Millis for i64 {
    fn millis(self) -> Option<i64> {
        Some(self)
    }
}

impl Millis for u64 {
    fn millis(self) -> Option<i64> {
        self.try_into().ok()
    }
}

impl<T: Millis> Millis for Option<T> {
    fn millis(self) -> Option<i64> {
        self.and_then(Millis::millis)
    }
}

impl Millis for &Value {
    fn millis(self) -> Option<i64> {
        self.as_i64()
    }
}

/// Formats milliseconds since the epoch in the host's time zone, and names the zone.
pub fn when(millis: impl Millis) -> String {
    let time = millis
        .millis()
        .and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    match time {
        Some(time) => time
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%Y-%m-%d %H:%M %Z")
            .to_string(),
        None => "-".to_owned(),
    }
}

/// Parses a duration such as `30d`, `12h`, `90m` or `2w` into milliseconds.
pub fn duration(text: &str) -> anyhow::Result<i64> {
    let wrong = || Exit::Usage.error(format!("invalid duration {text:?}: use 90m, 12h, 30d or 2w"));
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let minutes = match &text[digits.len()..] {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return Err(wrong()),
    };
    let count: u32 = digits.parse().map_err(|_| wrong())?;
    if count == 0 {
        return Err(wrong());
    }
    Ok(i64::from(count) * minutes * 60_000)
}

/// Formats milliseconds since the epoch: relative within a week, otherwise with date and time.
pub fn ago(millis: impl Millis) -> String {
    relative(millis.millis(), jiff::Timestamp::now().as_millisecond())
}

fn relative(millis: Option<i64>, now: i64) -> String {
    let secs = millis.map(|then| now.saturating_sub(then).max(0) / 1000);
    match secs {
        Some(secs) if secs < MINUTE => "now".to_owned(),
        Some(secs) if secs < 7 * DAY => format!("{} ago", span(secs)),
        _ => when(millis),
    }
}

/// Formats a number of seconds by its largest unit.
pub fn span(secs: i64) -> String {
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "min")];
    let unit = units.into_iter().find(|(unit, _)| secs >= *unit);
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{} {name}", secs / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_times_are_relative() {
        let now = 1_800_000_000_000;
        let relative = |secs: i64| relative(Some(now - secs * 1000), now);
        assert_eq!(relative(-5), "now");
        assert_eq!(relative(59), "now");
        assert_eq!(relative(60), "1 min ago");
        assert_eq!(relative(7 * HOUR + 59 * MINUTE), "7 h ago");
        assert_eq!(relative(6 * DAY + HOUR), "6 d ago");
        assert!(relative(7 * DAY).starts_with("2027-01-"), "{}", relative(7 * DAY));
        assert_eq!(super::relative(None, now), "-");
        assert_eq!(when(u64::MAX), "-");
    }

    #[test]
    fn a_time_has_a_unit() {
        for (text, minutes) in [("90m", 90), ("12h", 720), ("30d", 43_200), ("2w", 20_160)] {
            assert_eq!(duration(text).unwrap(), minutes * 60_000, "{text}");
        }
        for text in ["", "d", "30", "0d", "-1d", "1.5h", "30 d", "30x", "99999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
