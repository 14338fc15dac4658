//! Whether the host's clock can be trusted with deletions.
//!
//! A clock that leaps makes every thread old. So nothing is removed while the time does not fit to what is stored: to the newest
//! event, and to the last look at which it was right. After days without a look, it must keep fitting for a day. A client that
//! requests a sweep confirms the time.
//!
//! The same looks tell which time is known to have been right, for a clock that is set back.
//!
//! In: the time, and when the newest event was stored. Out: a reason to remove nothing, and the known time. Owns: `retention.json`.
//! Never: reads a clock.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acpd_files::data_files::RETENTION;
use acpd_files::{Form, StateFile};
use acpd_model::Millis;
use acpd_model::limits::{CLOCK_SLACK_MILLIS, CLOCK_STEADY_LOOKS};
use serde::{Deserialize, Serialize};

/// Time, in milliseconds, after the newest event and the last sweep beyond which retention removes nothing.
const RETENTION_UNUSED_MILLIS: i64 = 2 * 24 * 60 * 60 * 1000;
/// Time, in milliseconds, after the last sweep beyond which retention removes nothing until a client confirms the time.
const RETENTION_AWAY_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Hourly looks at which the time must fit, after [`RETENTION_UNUSED_MILLIS`] without one, before retention removes something.
const RETENTION_LOOKS: u32 = 24;
/// Size of the file in which retention remembers the time, in bytes.
const RETENTION_FILE_BYTES: u64 = 4096;
/// The form of `retention.json`. A member that is absent has its default, so that it needs no version.
const FORM: Form = Form {
    versions: &[],
    bytes: RETENTION_FILE_BYTES,
    is_pretty: false,
    is_private: true,
};

/// The content of `retention.json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TrustRecord {
    /// When the clock was last trusted, in milliseconds since the epoch.
    pub trusted_at: Option<Millis>,
    /// The time that is known to have been right, in milliseconds since the epoch. The daemon's time is not before it.
    pub known_at: Option<Millis>,
    /// Hourly looks at which the time must still fit before a sweep removes something.
    pub looks_left: u32,
    /// The newest event when a client last confirmed the time.
    pub confirmed_newest: Option<Millis>,
    /// Why sweeps have removed nothing since the last one that trusted the clock.
    pub held: Option<Held>,
}

/// A look at the clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The time by the host's clock.
    pub now: Millis,
    /// The time since the host has started, with that in which it slept.
    pub at: Duration,
    /// Whether the daemon has run for an hour since the look before.
    pub is_hourly: bool,
    /// The daemon's time, if the host's clock is behind it.
    pub ahead: Option<Millis>,
}

/// A time that does not fit to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// The time by the host's clock.
    pub now: Millis,
    /// The time that is known to be right: of the newest event or of the last sweep.
    pub known: Millis,
}

impl Held {
    /// Returns what is odd about the time, for people.
    pub fn reason(self) -> String {
        let Self { now, known } = self;
        let apart = match now.abs_diff(known) / (1000 * 60 * 60) {
            0 => "less than an hour".to_owned(),
            hours @ 1..48 => format!("{hours} h"),
            hours => format!("{} days", hours / 24),
        };
        let direction = if now < known { "behind" } else { "ahead of" };
        format!("the clock of this host is {apart} {direction} the last activity of this daemon")
    }
}

/// Decides whether a sweep may remove something.
#[derive(Debug)]
pub(super) struct Trust {
    path: Option<PathBuf>,
    record: TrustRecord,
    /// The host's time at the look before.
    seen: Option<(Millis, Duration)>,
    /// Hourly looks in a row since which the host's clock has not been set.
    steady: u32,
}

/// Returns the path of the file in a data directory.
pub fn path(data_dir: &Path) -> PathBuf {
    RETENTION.path(data_dir)
}

/// Reads the file; returns `None` if there is none. Blocks.
pub fn read(path: &Path) -> Result<Option<TrustRecord>, String> {
    file_at(path).read().map_err(|error| error.to_string())
}

fn file_at(path: &Path) -> StateFile<TrustRecord> {
    StateFile::new(path.to_owned(), &FORM)
}

/// Returns the time of a daemon that starts now: the host's, unless that is behind the time that is known. Blocks.
pub fn time_of_daemon(path: &Path, host: Millis) -> Millis {
    let stored = read(path).ok().flatten();
    let known = stored.and_then(|stored| stored.known_at);
    known
        .filter(|known| host.saturating_add(CLOCK_SLACK_MILLIS) < *known)
        .unwrap_or(host)
}

impl Trust {
    /// Loads what earlier daemons have stored. Without a path, nothing is stored. Blocks.
    pub fn load(path: Option<PathBuf>) -> Self {
        let stored = path.as_deref().and_then(|path| {
            file_at(path).read_or_set_aside("retention compares the clock with the log alone")
        });
        Self {
            path,
            record: stored.unwrap_or_default(),
            seen: None,
            steady: 0,
        }
    }

    /// Checks the time before a sweep that no client requested. Returns why the sweep must remove nothing. `is_hourly`: the previous
    /// check was an hour ago, by a clock that does not leap.
    pub fn check(&mut self, now: Millis, newest: Option<Millis>, is_hourly: bool) -> Option<Held> {
        let known = self.misfit(now, newest);
        let held = known.map(|known| Held { now, known });
        if let Some(held) = held {
            // One record and one line of the log for the whole time, not for every hour.
            if self.record.held.is_none() {
                tracing::warn!(
                    "retention removes nothing: {}; if that is right, confirm it with \"acpd prune --confirm-clock\"",
                    held.reason()
                );
                self.record.held = Some(held);
            }
            if !self.is_settled() {
                self.record.looks_left = RETENTION_LOOKS;
            }
        } else {
            let was_held = self.record.held.take().is_some();
            let is_before_gap = |trusted| now.saturating_sub(trusted) > RETENTION_UNUSED_MILLIS;
            let is_after_gap = self.record.trusted_at.is_some_and(is_before_gap);
            if is_after_gap {
                // A clock that has leaped by days stores events that fit to it.
                self.record.looks_left = RETENTION_LOOKS;
            } else if is_hourly {
                self.record.looks_left = self.record.looks_left.saturating_sub(1);
            }
            if was_held || is_after_gap {
                tracing::info!(
                    hours = self.record.looks_left,
                    "the clock fits to the log again, and if it still does after these hours, retention continues"
                );
            }
            self.record.trusted_at = Some(now);
        }
        held
    }

    /// Learns from a look whether the time is right: if it `fits`, and the clock was not set since the look an hour before. A clock
    /// that is behind the known time is right when it was not set for some hours. Returns whether the clock is right.
    pub fn learn(&mut self, look: Look, fits: bool) -> bool {
        let now = look.now;
        let before = self.seen.replace((now, look.at));
        let is_steady = before.is_some_and(|(was, at)| {
            let passed = look.at.saturating_sub(at).as_millis();
            let passed = i64::try_from(passed).unwrap_or(i64::MAX);
            now.abs_diff(was.saturating_add(passed)) <= CLOCK_SLACK_MILLIS.unsigned_abs()
        });
        self.steady = if look.is_hourly && is_steady {
            self.steady.saturating_add(1)
        } else {
            0
        };
        let is_right = match look.ahead {
            Some(_) => self.steady >= CLOCK_STEADY_LOOKS,
            None => self.steady > 0 && fits,
        };
        if is_right {
            self.know(now);
        } else if let Some(ahead) = look.ahead {
            // For the next daemon, and for doctor.
            self.know(ahead);
        }
        is_right
    }

    /// Sets the time that is known, whether retention trusts the clock or not.
    pub fn know(&mut self, now: Millis) {
        self.record.known_at = Some(now);
    }

    /// Returns whether the time fits to what is stored.
    pub fn fits(&self, now: Millis, newest: Option<Millis>) -> bool {
        self.misfit(now, newest).is_none()
    }

    /// Returns whether the time has fitted for long enough to remove something.
    pub fn is_settled(&self) -> bool {
        self.record.looks_left == 0
    }

    /// Records that a client has confirmed the time.
    pub fn confirm(&mut self, now: Millis, newest: Option<Millis>) {
        self.record = TrustRecord {
            trusted_at: Some(now),
            known_at: self.record.known_at,
            looks_left: 0,
            confirmed_newest: newest,
            held: None,
        };
    }

    /// Returns what to write, and where.
    pub fn unstored(&self) -> Option<(PathBuf, TrustRecord)> {
        Some((self.path.clone()?, self.record))
    }

    /// Returns the time to which `now` does not fit.
    fn misfit(&self, now: Millis, newest: Option<Millis>) -> Option<Millis> {
        // An empty log has nothing to remove.
        let newest = newest?;
        let TrustRecord {
            trusted_at,
            confirmed_newest,
            ..
        } = self.record;
        let is_before = |known: Millis| now.saturating_add(CLOCK_SLACK_MILLIS) < known;
        let is_long_after = |known: Millis, most: Millis| now.saturating_sub(known) > most;
        if is_before(newest) && confirmed_newest.is_none_or(|confirmed| confirmed < newest) {
            return Some(newest);
        }
        match trusted_at {
            Some(trusted) if is_before(trusted) => Some(trusted),
            // Events after the leap prove nothing: the daemon itself stores some when it starts.
            Some(trusted) if is_long_after(trusted, RETENTION_AWAY_MILLIS) => Some(trusted),
            Some(trusted) if !is_long_after(trusted, RETENTION_UNUSED_MILLIS) => None,
            _ => is_long_after(newest, RETENTION_UNUSED_MILLIS).then_some(newest),
        }
    }
}

/// Writes the file. Blocks.
pub(super) fn write(path: &Path, record: TrustRecord) -> std::io::Result<()> {
    file_at(path).write(&record)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = 60 * 60 * 1000;
    const DAY: Millis = 24 * HOUR;
    const NOW: Millis = 20_000 * DAY;

    fn trust(trusted_at: Option<Millis>) -> Trust {
        let mut trust = Trust::load(None);
        trust.record.trusted_at = trusted_at;
        trust
    }

    /// Looks each hour at a host's clock that is at these hours, and returns what is known after each look. `ahead` is where the
    /// daemon's time begins if the host's clock is behind it.
    fn learned(trust: &mut Trust, hours: &[i64], ahead: Option<i64>) -> Vec<Option<i64>> {
        let known = (0_u32..).zip(hours).map(|(number, hour)| {
            let look = Look {
                now: NOW + hour * HOUR,
                at: Duration::from_hours(1) * number,
                is_hourly: number > 0,
                ahead: ahead.map(|ahead| NOW + (ahead + i64::from(number)) * HOUR),
            };
            trust.learn(look, true);
            trust.record.known_at.map(|known| (known - NOW) / HOUR)
        });
        known.collect()
    }

    #[test]
    fn the_file_is_read_and_written_in_its_form() {
        let dir = tempfile::tempdir().unwrap();
        let path = path(dir.path());
        let text =
            r#"{"trustedAt":1,"knownAt":2,"looksLeft":3,"confirmedNewest":null,"held":{"now":4,"known":5}}"#;
        file_at(&path).store(text.as_bytes()).unwrap();
        let record = read(&path).unwrap().unwrap();
        assert_eq!((record.trusted_at, record.looks_left), (Some(1), 3));
        write(&path, record).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        file_at(&path).store(b"{}").unwrap();
        assert_eq!(read(&path).unwrap(), Some(TrustRecord::default()));
        file_at(&path).store(b"{").unwrap();
        assert!(read(&path).is_err() && path.exists());
        assert_eq!(Trust::load(Some(path.clone())).record, TrustRecord::default());
        assert!(!path.exists(), "it is set aside");
    }

    #[test]
    fn a_time_is_known_after_an_hour_without_a_step() {
        let cases: [(&[i64], &[Option<i64>]); 4] = [
            (&[0, 1, 2], &[None, Some(1), Some(2)]),
            // Ahead for a minute, when a laptop starts whose clock has the local time.
            (&[8, 1, 2], &[None, None, Some(2)]),
            // Ahead at one look.
            (&[0, 1, 402, 3, 4], &[None, Some(1), Some(1), Some(1), Some(4)]),
            // Set ahead, and not set since.
            (&[0, 1, 20, 21], &[None, Some(1), Some(1), Some(21)]),
        ];
        for (hours, known) in cases {
            assert_eq!(learned(&mut trust(None), hours, None), known, "{hours:?}");
        }
        // Settings that change bring a look that is not hourly.
        let mut trust = trust(None);
        let look = |minutes: u64| Look {
            now: NOW + i64::try_from(minutes).unwrap() * 60_000,
            at: Duration::from_mins(minutes),
            is_hourly: false,
            ahead: None,
        };
        assert!(!trust.learn(look(1), true) && !trust.learn(look(3), true));
    }

    #[test]
    fn a_host_that_sleeps_does_not_set_its_clock() {
        let mut trust = trust(None);
        let nights = (0..=i64::from(CLOCK_STEADY_LOOKS)).map(|number| {
            let asleep = if number > 2 { 9 } else { 0 };
            let hours = number + asleep;
            let look = Look {
                now: NOW + hours * HOUR,
                at: Duration::from_hours(hours.unsigned_abs()),
                is_hourly: number > 0,
                ahead: Some(NOW + (20 + number) * HOUR),
            };
            trust.learn(look, true)
        });
        assert_eq!(nights.filter(|is_right| *is_right).count(), 1, "at the last look");
    }

    #[test]
    fn a_clock_that_is_behind_is_followed_when_it_was_steady_for_hours() {
        let mut trust = trust(None);
        // The clock is set once more in the meantime.
        let hours = [0, 1, 2, 7, 8, 9, 10, 11, 12, 13];
        let known = learned(&mut trust, &hours, Some(20));
        let expected: Vec<Option<i64>> = (20..29).chain([13]).map(Some).collect();
        assert_eq!(known, expected);
    }

    #[test]
    fn a_look_that_proves_nothing_leaves_what_is_known() {
        let mut trust = trust(Some(NOW));
        trust.record.known_at = Some(NOW);
        // After a weekend, and with a clock that went a year back.
        for (now, newest) in [(NOW + 3 * DAY, NOW + 3 * DAY), (NOW - 365 * DAY, NOW)] {
            let is_right = trust.check(now, Some(newest), false).is_none() && trust.is_settled();
            assert!(!is_right);
            let look = Look {
                now,
                at: Duration::ZERO,
                is_hourly: false,
                ahead: (now < NOW).then_some(NOW),
            };
            assert!(!trust.learn(look, is_right));
            assert_eq!(trust.record.known_at, Some(NOW));
        }
    }

    #[test]
    fn the_time_must_fit_to_the_newest_event_and_the_last_sweep() {
        for (trusted, newest, known) in [
            (None, None, None),
            (None, Some(NOW), None),
            (None, Some(NOW - 2 * DAY), None),
            (None, Some(NOW - 2 * DAY - 1), Some(NOW - 2 * DAY - 1)),
            (None, Some(NOW + 2 * 60 * 1000), None),
            (None, Some(NOW + HOUR), Some(NOW + HOUR)),
            // A daemon that runs and is not used.
            (Some(NOW - HOUR), Some(NOW - 90 * DAY), None),
            // A weekend, and then the first event.
            (Some(NOW - 3 * DAY), Some(NOW - 3 * DAY), Some(NOW - 3 * DAY)),
            (Some(NOW - 3 * DAY), Some(NOW - 1), None),
            // A leap, and then an event of a turn that the start interrupts.
            (Some(NOW - 400 * DAY), Some(NOW - 1), Some(NOW - 400 * DAY)),
            (Some(NOW + 400 * DAY), Some(NOW - 1), Some(NOW + 400 * DAY)),
        ] {
            let held = trust(trusted).check(NOW, newest, true);
            assert_eq!(held.map(|held| held.known), known, "{trusted:?} {newest:?}");
        }
    }

    #[test]
    fn a_confirmation_holds_while_time_passes() {
        let mut trust = trust(None);
        let future = Some(NOW + 400 * DAY);
        assert!(trust.check(NOW, future, false).is_some());
        assert!(trust.record.held.is_some());
        trust.confirm(NOW, future);
        for hours in 0..100 {
            assert_eq!(trust.check(NOW + hours * HOUR, future, true), None);
            assert!(trust.is_settled());
        }
        assert_eq!(trust.record.held, None);
        // Another leap is another question.
        assert!(trust.check(NOW + 80 * DAY, future, true).is_some());
    }

    #[test]
    fn after_days_without_a_look_the_time_must_fit_for_a_day() {
        let mut trust = trust(Some(NOW - 20 * DAY));
        // The second daemon was started soon after the first one.
        for _ in 0..2 {
            assert_eq!(trust.check(NOW, Some(NOW - 1), false), None);
        }
        for hours in 1..=24 {
            assert!(!trust.is_settled());
            assert_eq!(trust.check(NOW + hours * HOUR, Some(NOW - 1), true), None);
        }
        assert!(trust.is_settled());
        let later = NOW + 10 * DAY;
        assert_eq!(trust.check(later, Some(later), true), None);
        assert!(!trust.is_settled());
        trust.confirm(later, Some(later));
        assert!(trust.is_settled());
    }

    #[test]
    fn the_reason_says_how_far_the_times_are_apart() {
        for (known, part) in [
            (NOW - 400 * DAY - 5, "is 400 days ahead of"),
            (NOW - 47 * HOUR, "is 47 h ahead of"),
            (NOW + 30 * 60 * 1000, "is less than an hour behind"),
        ] {
            let reason = Held { now: NOW, known }.reason();
            assert!(reason.contains(part), "{reason}");
        }
    }
}
