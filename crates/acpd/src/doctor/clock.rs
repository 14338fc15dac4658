//! The clock of the host, and its time zones.
//!
//! In: the time, and times of files that acpd wrote. Out: findings. Never: sets a clock.

use std::path::Path;
use std::time::UNIX_EPOCH;

use acpd_model::limits::{CLOCK_SLACK_MILLIS, CLOCK_STEADY_LOOKS};
use acpd_runtime::retention;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::report::{Finding, Group};
use super::subject::Subject;

/// Time by which clocks of one host may differ without meaning, in seconds.
const SLACK_SECS: i64 = 120;

/// A time that is past for every copy of this program: 2026-01-01.
const BUILT_SECS: i64 = 1_767_225_600;

/// What is known about the clock.
#[derive(Debug, Clone)]
struct Facts {
    now: i64,
    /// When the log was last written, in seconds since the epoch.
    last_event: Option<i64>,
    /// The time that the daemon knows to have been right, in seconds since the epoch.
    known: Option<i64>,
    /// Why retention removes nothing.
    held: Option<retention::Held>,
    /// The time zone, or why there is none.
    zone: Result<String, String>,
}

/// Checks the clock.
pub fn check(subject: &Subject) -> Vec<Finding> {
    let data_dir = &subject.settings.daemon.data_dir;
    let written = ["log.db", "log.db-wal"].map(|name| modified(&data_dir.join(name)));
    let is_on = subject.settings.daemon.retention.is_on();
    // The check of the data directory reports a file that cannot be read.
    let stored = retention::read(&retention::path(data_dir)).unwrap_or_default();
    let zone = TimeZone::try_system();
    findings(&Facts {
        now: Timestamp::now().as_second(),
        last_event: written.into_iter().flatten().max(),
        known: stored
            .and_then(|stored| stored.known_at)
            .map(|known| known / 1000),
        held: stored.filter(|_| is_on).and_then(|stored| stored.held),
        zone: zone
            .map(|zone| zone.iana_name().unwrap_or("local time").to_owned())
            .map_err(|error| error.to_string()),
    })
}

fn modified(path: &Path) -> Option<i64> {
    let time = path.metadata().ok()?.modified().ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

fn findings(facts: &Facts) -> Vec<Finding> {
    let group = Group::Clock;
    let now = date(facts.now);
    let set = "set the clock, for example with timedatectl set-ntp true";
    let time = match facts.last_event {
        _ if facts.now < BUILT_SECS => Finding::problem(
            group,
            format!("it is {now} by the clock of this host: certificates are refused"),
        )
        .fix(set),
        Some(last) if last > facts.now + SLACK_SECS => Finding::warning(
            group,
            format!(
                "the last event was stored at {}, and it is {now}: the clock went back",
                date(last)
            ),
        )
        .fix(set),
        _ => Finding::ok(group, format!("it is {now}")),
    };
    let zone = match &facts.zone {
        Ok(zone) => Finding::ok(group, format!("times are shown in {zone}")),
        Err(reason) => Finding::warning(
            group,
            format!("the time zone cannot be read, so times are shown in UTC: {reason}"),
        )
        .fix("install tzdata, and set TZ or /etc/localtime"),
    };
    let known = facts
        .known
        .filter(|known| known - facts.now > CLOCK_SLACK_MILLIS / 1000);
    let known = known.map(|known| {
        Finding::warning(
            group,
            format!(
                "acpd does not follow the clock of this host: it continues from {}, which was right, and it is {now} by the clock",
                date(known)
            ),
        )
        .fix(format!(
            "set the clock; if it is right, confirm it with \"acpd prune --confirm-clock\", or let acpd run for {CLOCK_STEADY_LOOKS} h without a restart"
        ))
    });
    let held = facts.held.map(|held| {
        Finding::warning(
            group,
            format!(
                "retention removes nothing since {}: {} ({})",
                date(held.now / 1000),
                held.reason(),
                date(held.known / 1000)
            ),
        )
        .fix(
            "set the clock; if it is right, confirm it with \"acpd prune --confirm-clock\": what is too old by it is then removed as usual",
        )
    });
    [time, zone].into_iter().chain(known).chain(held).collect()
}

fn date(secs: i64) -> String {
    let time = Timestamp::from_second(secs).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::report::Level;
    use crate::doctor::report::assert_found;

    #[test]
    fn each_state_has_its_finding() {
        let now = BUILT_SECS + 1000;
        let zone = || Ok("Europe/Berlin".to_owned());
        for (facts, level, part) in [
            (
                Facts {
                    now,
                    last_event: None,
                    known: None,
                    held: None,
                    zone: zone(),
                },
                Level::Ok,
                "it is 2026-01-01 00:16:40 UTC",
            ),
            (
                Facts {
                    now,
                    last_event: Some(now + SLACK_SECS),
                    known: None,
                    held: None,
                    zone: zone(),
                },
                Level::Ok,
                "Europe/Berlin",
            ),
            (
                Facts {
                    now,
                    last_event: Some(now + SLACK_SECS + 1),
                    known: None,
                    held: None,
                    zone: zone(),
                },
                Level::Warning,
                "the clock went back",
            ),
            (
                Facts {
                    now: 0,
                    last_event: None,
                    known: None,
                    held: None,
                    zone: zone(),
                },
                Level::Problem,
                "1970-01-01",
            ),
            (
                Facts {
                    now,
                    last_event: None,
                    known: None,
                    held: None,
                    zone: Err("none".to_owned()),
                },
                Level::Warning,
                "UTC: none",
            ),
            (
                Facts {
                    now,
                    last_event: Some(now),
                    known: Some(now + 400),
                    held: None,
                    zone: zone(),
                },
                Level::Warning,
                "acpd does not follow the clock of this host: it continues from 2026-01-01 00:23:20 UTC",
            ),
            (
                Facts {
                    now,
                    last_event: Some(now),
                    known: Some(now - 60),
                    held: Some(retention::Held {
                        now: now * 1000,
                        known: (now - 400 * 24 * 3600) * 1000,
                    }),
                    zone: zone(),
                },
                Level::Warning,
                "retention removes nothing since 2026-01-01 00:16:40 UTC: the clock of this host is 400 days ahead",
            ),
        ] {
            let found = findings(&facts);
            assert_found(&found, level, part);
        }
    }
}
