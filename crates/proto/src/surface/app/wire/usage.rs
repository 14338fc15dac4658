//! What threads have used.

use acpd_model::ThreadId;
use acpd_model::usage::{DAY_MILLIS, Spent};

use crate::projection::amount;
use crate::surface::export::rfc3339;
use crate::surface::reply::{self, UsageKey};

wire! {
    /// Result of `usage/read`.
    struct UsageRead<'a> {
        /// The first day, such as `2026-11-01`, in UTC.
        first_day: String,
        /// The last day: today.
        last_day: String,
        /// Days from the last, other rows from the most expensive. Rows without usage are left out.
        data: &'a [reply::UsageRow],
        /// What all threads have used in these days.
        total: &'a Spent,
        /// Number of rows that are left out, because there are too many.
        omitted: usize as u64,
        /// Number of currencies that the total leaves out: a sum has the 8 that most threads report.
        currencies_omitted: usize as u64,
    }

    /// What a part of the threads has used.
    struct UsageRow<'a> {
        /// The day, such as `2026-11-29`, in UTC.
        day: Option<String>,
        /// The agent of the threads.
        agent_type: Option<&'a String>,
        /// The thread.
        thread_id: Option<ThreadId>,
        /// The thread's name.
        name: Option<&'a String>,
        /// The working directory of the threads.
        cwd: Option<&'a String>,
        spent: &'a Spent,
    }

    /// Tokens and costs, as agents reported them.
    struct UsageSum<'a> {
        /// Tokens of prompts and of what agents read.
        input_tokens: u64,
        /// Tokens that agents wrote.
        output_tokens: u64,
        /// All tokens, also those of caches and thoughts.
        total_tokens: u64,
        /// Costs, one for each currency.
        costs: Vec<CostSum<'a>>,
    }

    /// A cost.
    struct CostSum<'a> {
        amount: f64,
        /// The code of the currency, such as `USD`.
        currency: &'a str,
    }
}

shown! { Spent as UsageSum, |spent| UsageSum {
    input_tokens: spent.input_tokens,
    output_tokens: spent.output_tokens,
    total_tokens: spent.total_tokens,
    costs: spent
        .costs
        .iter()
        .map(|(currency, nanos)| CostSum { amount: amount(*nanos), currency })
        .collect(),
} }

shown! { reply::UsageRow as UsageRow, |row| UsageRow::of(row) }

shown! { reply::UsageReport as UsageRead, |report| UsageRead {
    first_day: day(report.first_day),
    last_day: day(report.last_day),
    data: &report.rows,
    total: &report.total,
    omitted: report.omitted,
    currencies_omitted: report.currencies_omitted,
} }

impl<'a> UsageRow<'a> {
    fn of(row: &'a reply::UsageRow) -> Self {
        let mut shown = Self {
            day: None,
            agent_type: None,
            thread_id: None,
            name: None,
            cwd: None,
            spent: &row.spent,
        };
        match &row.of {
            UsageKey::Day(number) => shown.day = Some(day(*number)),
            UsageKey::Agent(agent) => shown.agent_type = Some(agent),
            UsageKey::Thread(thread, name) => {
                (shown.thread_id, shown.name) = (Some(*thread), name.as_ref());
            }
            UsageKey::Folder(cwd) => shown.cwd = Some(cwd),
        }
        shown
    }
}

/// Returns a day as its date.
fn day(number: i64) -> String {
    let mut date = rfc3339(number.saturating_mul(DAY_MILLIS));
    date.truncate("2026-11-29".len());
    date
}
