//! What threads use: tokens, and what they cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{USAGE_CURRENCIES, USAGE_DAYS};
use crate::numbers::Millis;

/// Billionths of a unit of a currency.
pub const NANOS: f64 = 1e9;

/// Milliseconds of a day.
pub const DAY_MILLIS: Millis = 24 * 60 * 60 * 1000;

/// Tokens and costs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    /// Tokens of prompts and of what agents read.
    #[serde(skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// Tokens that agents wrote.
    #[serde(skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// All tokens, also those of caches and thoughts.
    #[serde(skip_serializing_if = "is_zero")]
    pub total_tokens: u64,
    /// Costs by currency, in billionths.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, u64>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Spent {
    /// Adds other tokens and costs. Currencies beyond [`USAGE_CURRENCIES`] are left out.
    pub fn add(&mut self, more: &Self) {
        self.add_within(more, USAGE_CURRENCIES);
    }

    /// Adds other tokens and costs. Currencies beyond this number are left out.
    pub fn add_within(&mut self, more: &Self, currencies: usize) {
        for (sum, more) in [
            (&mut self.input_tokens, more.input_tokens),
            (&mut self.output_tokens, more.output_tokens),
            (&mut self.total_tokens, more.total_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (currency, nanos) in &more.costs {
            if let Some(sum) = self.costs.get_mut(currency) {
                *sum = sum.saturating_add(*nanos);
            } else if self.costs.len() < currencies {
                self.costs.insert(currency.clone(), *nanos);
            }
        }
    }

    /// Returns whether nothing was used.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What one thread used on each day.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DailyUsage(BTreeMap<i64, Spent>);

impl DailyUsage {
    /// Adds what was used at a time. The oldest of too many days becomes a part of the next one.
    pub fn add(&mut self, at: Millis, spent: &Spent) {
        if spent.is_empty() {
            return;
        }
        self.0.entry(day_of(at)).or_default().add(spent);
        while self.0.len() > USAGE_DAYS {
            let Some((_, oldest)) = self.0.pop_first() else {
                return;
            };
            if let Some(mut next) = self.0.first_entry() {
                next.get_mut().add(&oldest);
            }
        }
    }

    /// Returns each day since 1970, in UTC, with what was used on it.
    pub fn days(&self) -> impl Iterator<Item = (i64, &Spent)> {
        self.0.iter().map(|(day, spent)| (*day, spent))
    }

    /// Returns what was used on all days.
    pub fn total(&self) -> Spent {
        let mut total = Spent::default();
        for spent in self.0.values() {
            total.add(spent);
        }
        total
    }
}

/// Returns the day of a time, in UTC: days since 1970.
pub fn day_of(at: Millis) -> i64 {
    at.div_euclid(DAY_MILLIS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(currency: &str, nanos: u64) -> Spent {
        Spent {
            costs: BTreeMap::from([(currency.to_owned(), nanos)]),
            ..Spent::default()
        }
    }

    #[test]
    fn days_are_bounded_and_their_total_stays() {
        let mut usage = DailyUsage::default();
        let days = i64::try_from(USAGE_DAYS).unwrap() + 10;
        for day in 0..days {
            usage.add(day * DAY_MILLIS + 5, &cost("USD", 2));
        }
        assert_eq!(usage.days().count(), USAGE_DAYS);
        assert_eq!(usage.days().next(), Some((10, &cost("USD", 22))));
        assert_eq!(usage.total(), cost("USD", 2 * days.unsigned_abs()));
        assert_eq!((day_of(-1), day_of(0), day_of(DAY_MILLIS)), (-1, 0, 1));
    }

    #[test]
    fn sums_neither_overflow_nor_grow() {
        let mut sum = cost("USD", u64::MAX);
        sum.add(&cost("USD", 1));
        for number in 0..USAGE_CURRENCIES * 2 {
            sum.add(&cost(&format!("X{number}"), 1));
        }
        assert_eq!((sum.costs["USD"], sum.costs.len()), (u64::MAX, USAGE_CURRENCIES));
    }

    #[test]
    fn the_stored_form_is_small() {
        let mut usage = DailyUsage::default();
        usage.add(DAY_MILLIS, &Spent::default());
        assert_eq!(serde_json::to_string(&usage).unwrap(), "{}");
        usage.add(DAY_MILLIS, &cost("USD", 7));
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(text, r#"{"1":{"costs":{"USD":7}}}"#);
        assert_eq!(serde_json::from_str::<DailyUsage>(&text).unwrap(), usage);
    }
}
