//! What threads have used.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use acpd_log::{Filter, ListCursor, ListedThread, LogError, SharedLog};
use acpd_model::Failure;
use acpd_model::limits::{LIST_PAGE, LIST_PAGE_BYTES, USAGE_CURRENCIES, USAGE_CURRENCIES_ADDED, USAGE_ROWS};
use acpd_model::usage::{DAY_MILLIS, DailyUsage, Spent, day_of};
use acpd_proto::surface::reply::{UsageKey, UsageReport, UsageRow};
use acpd_proto::surface::request::{ReadUsage, UsageBy};

use crate::service::Service;
use crate::stored::log_failure;

/// Days of `usage/read` if the client names none.
const USAGE_READ_DAYS: u32 = 30;
/// Most days of `usage/read`.
const USAGE_READ_DAYS_MAX: u32 = 3660;

impl Service {
    pub(super) async fn read_usage(&self, wanted: ReadUsage) -> Result<Box<UsageReport>, Failure> {
        let days = wanted
            .days
            .unwrap_or(USAGE_READ_DAYS)
            .clamp(1, USAGE_READ_DAYS_MAX);
        let last_day = day_of(self.context.clock.now().wall);
        let first_day = last_day - i64::from(days) + 1;
        let gathering = self
            .context
            .read_log(move |log| async move { gather(&log, first_day, wanted.by).await });
        let Sums { rows, total } = gathering.await.map_err(|error| log_failure(&error))?;
        let (total, currencies_omitted) = total.finish();
        let row = |(of, sum): (UsageKey, Sum)| UsageRow {
            of,
            spent: sum.finish().0,
        };
        let mut rows: Vec<_> = rows.into_iter().map(row).collect();
        match wanted.by {
            UsageBy::Day => rows.reverse(),
            UsageBy::Agent | UsageBy::Thread | UsageBy::Folder => {
                rows.sort_by_cached_key(|row| Reverse(rank(&row.spent)));
            }
        }
        let omitted = rows.len().saturating_sub(USAGE_ROWS);
        rows.truncate(USAGE_ROWS);
        Ok(Box::new(UsageReport {
            first_day,
            last_day,
            rows,
            total,
            omitted,
            currencies_omitted,
        }))
    }
}

/// Returns what orders rows: the largest cost, then the tokens.
fn rank(spent: &Spent) -> (u64, u64) {
    let cost = spent.costs.values().copied().max();
    (cost.unwrap_or(0), spent.total_tokens)
}

/// What the threads have used, by parts and together.
#[derive(Default)]
struct Sums {
    rows: BTreeMap<UsageKey, Sum>,
    total: Sum,
}

/// What some threads have used, in more currencies than are shown.
#[derive(Default)]
struct Sum {
    spent: Spent,
    /// The voices of threads for each currency. A thread has the same for all of its currencies together, so that an agent that reports
    /// costs in many does not hide those of others.
    voices: BTreeMap<String, u64>,
}

/// The voices of a thread: divisible by each number of currencies that a thread has.
const VOICES: u64 = 840;

impl Sum {
    /// Adds what one thread has used.
    fn add(&mut self, of_thread: &Spent) {
        self.spent.add_within(of_thread, USAGE_CURRENCIES_ADDED);
        let share = VOICES / (of_thread.costs.len() as u64).max(1);
        for currency in of_thread.costs.keys() {
            if self.spent.costs.contains_key(currency) {
                *self.voices.entry(currency.clone()).or_default() += share;
            }
        }
    }

    /// Returns what was used, in the currencies that most threads report, and the number of the others.
    fn finish(self) -> (Spent, usize) {
        let Self { mut spent, voices } = self;
        let mut currencies: Vec<_> = voices.into_iter().collect();
        currencies.sort_by_key(|(_, voices)| Reverse(*voices));
        let omitted = currencies.len().saturating_sub(USAGE_CURRENCIES);
        for (currency, _) in currencies.into_iter().skip(USAGE_CURRENCIES) {
            spent.costs.remove(&currency);
        }
        (spent, omitted)
    }
}

/// Adds what all threads have used since a day. A thread that has not changed since the day before it has used nothing.
async fn gather(log: &SharedLog, first_day: i64, by: UsageBy) -> Result<Sums, LogError> {
    let oldest = (first_day - 1).saturating_mul(DAY_MILLIS);
    let filter = Filter {
        page_bytes: Some(LIST_PAGE_BYTES),
        ..Filter::default()
    };
    let mut sums = Sums::default();
    let mut cursor = None;
    loop {
        let page = log.list(filter.clone(), cursor, LIST_PAGE).await?;
        for listed in &page {
            // A turn that runs for long has changed its thread when it started.
            if listed.summary.updated_at < oldest && !listed.summary.status.is_active() {
                return Ok(sums);
            }
            add(&mut sums, listed, first_day, by);
        }
        // A page may be short, because its bytes are bounded.
        let Some(last) = page.last() else {
            return Ok(sums);
        };
        cursor = Some(ListCursor {
            updated_at: last.summary.updated_at,
            thread: last.thread,
        });
    }
}

fn add(sums: &mut Sums, listed: &ListedThread, first_day: i64, by: UsageBy) {
    let ListedThread { thread, summary } = listed;
    let mut of_thread = Spent::default();
    let days = summary.usage.as_deref().into_iter().flat_map(DailyUsage::days);
    for (day, spent) in days.filter(|(day, _)| *day >= first_day) {
        of_thread.add(spent);
        if by == UsageBy::Day {
            sums.rows.entry(UsageKey::Day(day)).or_default().add(spent);
        }
    }
    if of_thread.is_empty() {
        return;
    }
    sums.total.add(&of_thread);
    let key = match by {
        UsageBy::Day => return,
        UsageBy::Agent => UsageKey::Agent(summary.agent.clone()),
        UsageBy::Thread => UsageKey::Thread(*thread, summary.name.clone()),
        UsageBy::Folder => UsageKey::Folder(summary.cwd.clone()),
    };
    sums.rows.entry(key).or_default().add(&of_thread);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(currencies: impl IntoIterator<Item = String>) -> Spent {
        Spent {
            costs: currencies.into_iter().map(|currency| (currency, 5)).collect(),
            ..Spent::default()
        }
    }

    #[test]
    fn an_agent_with_many_currencies_hides_no_other() {
        let mut sum = Sum::default();
        let mut invented = (b'A'..=b'Z').flat_map(|one| {
            (b'A'..=b'Z').map(move |other| format!("A{}{}", char::from(one), char::from(other)))
        });
        // Its threads are the newest.
        for _ in 0..40 {
            sum.add(&costs(invented.by_ref().take(USAGE_CURRENCIES)));
        }
        // The same in other threads.
        for _ in 0..3 {
            sum.add(&costs((0..USAGE_CURRENCIES).map(|number| format!("ZZ{number}"))));
        }
        sum.add(&costs(["USD".to_owned()]));
        let (spent, omitted) = sum.finish();
        assert_eq!(spent.costs.len(), USAGE_CURRENCIES);
        assert_eq!(spent.costs["USD"], 5);
        assert_eq!(omitted, 41 * USAGE_CURRENCIES + 1 - USAGE_CURRENCIES);
        let empty = Sum::default().finish();
        assert_eq!(empty, (Spent::default(), 0));
    }

    #[test]
    fn sums_are_bounded() {
        let mut sum = Sum::default();
        for number in 0..=USAGE_CURRENCIES_ADDED {
            sum.add(&costs([format!("{number}")]));
        }
        assert_eq!(sum.voices.len(), USAGE_CURRENCIES_ADDED);
        assert_eq!(sum.spent.costs.len(), USAGE_CURRENCIES_ADDED);
    }
}
