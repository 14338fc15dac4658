//! What threads have used.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use acpd_log::{Filter, ListCursor, ListedThread, LogError, SharedLog};
use acpd_model::Failure;
use acpd_model::limits::{LIST_PAGE, USAGE_READ_DAYS, USAGE_READ_DAYS_MAX, USAGE_ROWS};
use acpd_model::usage::{DAY_MILLIS, DailyUsage, Spent, day_of};
use acpd_proto::surface::reply::{Reply, UsageKey, UsageReport, UsageRow};
use acpd_proto::surface::request::{ReadUsage, UsageBy};

use crate::service::Service;
use crate::thread::directory::log_failure;

impl Service {
    pub(super) async fn read_usage(&self, wanted: ReadUsage) -> Result<Reply, Failure> {
        let days = wanted
            .days
            .unwrap_or(USAGE_READ_DAYS)
            .clamp(1, USAGE_READ_DAYS_MAX);
        let last_day = day_of(self.context.clock.now().wall);
        let first_day = last_day - i64::from(days) + 1;
        let gathering = self
            .context
            .read_log(move |log| async move { gather(&log, first_day, wanted.by).await });
        let sums = gathering.await.map_err(|error| log_failure(&error))?;
        let mut total = Spent::default();
        for spent in sums.values() {
            total.add(spent);
        }
        let mut rows: Vec<_> = sums
            .into_iter()
            .map(|(of, spent)| UsageRow { of, spent })
            .collect();
        match wanted.by {
            UsageBy::Day => rows.reverse(),
            UsageBy::Agent | UsageBy::Thread | UsageBy::Folder => {
                rows.sort_by_cached_key(|row| Reverse(rank(&row.spent)));
            }
        }
        let omitted = rows.len().saturating_sub(USAGE_ROWS);
        rows.truncate(USAGE_ROWS);
        Ok(Reply::Usage(Box::new(UsageReport {
            first_day,
            last_day,
            rows,
            total,
            omitted,
        })))
    }
}

/// Returns what orders rows: the largest cost, then the tokens.
fn rank(spent: &Spent) -> (u64, u64) {
    let cost = spent.costs.values().copied().max();
    (cost.unwrap_or(0), spent.total_tokens)
}

/// Adds what all threads have used since a day. A thread that has not changed since the day before it has used nothing.
async fn gather(log: &SharedLog, first_day: i64, by: UsageBy) -> Result<BTreeMap<UsageKey, Spent>, LogError> {
    let oldest = (first_day - 1).saturating_mul(DAY_MILLIS);
    let mut sums: BTreeMap<UsageKey, Spent> = BTreeMap::new();
    let mut cursor = None;
    loop {
        let page = log.list(Filter::default(), cursor, LIST_PAGE).await?;
        for listed in &page {
            // A turn that runs for long has changed its thread when it started.
            if listed.summary.updated_at < oldest && !listed.summary.status.is_active() {
                return Ok(sums);
            }
            add(&mut sums, listed, first_day, by);
        }
        let Some(last) = page.last().filter(|_| page.len() == LIST_PAGE) else {
            return Ok(sums);
        };
        cursor = Some(ListCursor {
            updated_at: last.summary.updated_at,
            thread: last.thread,
        });
    }
}

fn add(sums: &mut BTreeMap<UsageKey, Spent>, listed: &ListedThread, first_day: i64, by: UsageBy) {
    let ListedThread { thread, summary } = listed;
    let days = summary.usage.as_deref().into_iter().flat_map(DailyUsage::days);
    for (day, spent) in days.filter(|(day, _)| *day >= first_day) {
        let key = match by {
            UsageBy::Day => UsageKey::Day(day),
            UsageBy::Agent => UsageKey::Agent(summary.agent.clone()),
            UsageBy::Thread => UsageKey::Thread(*thread, summary.name.clone()),
            UsageBy::Folder => UsageKey::Folder(summary.cwd.clone()),
        };
        sums.entry(key).or_default().add(spent);
    }
}
