//! What a thread spends, from what its agents report.
//!
//! Agents report the cost of their session: a counter, which may start again with a process, be reported twice or late, and
//! change its currency. They report tokens for each turn: so do all agents of which there are recordings, although ACP calls the numbers
//! those of the session. Whether they are cannot be seen, because the prompts of a session grow like a counter.

use std::collections::BTreeMap;

use acpd_model::event::Binding;
use acpd_model::limits::USAGE_CURRENCIES;
use acpd_model::usage::{NANOS, Spent};
use acpd_model::{EventKind, RawJson, SessionEvent, ThreadEvent, TurnEvent};
use serde::{Deserialize, Serialize};

/// The largest cost of a session that is believed, in units of a currency.
const MOST_COST: f64 = 1e6;
/// The largest number of tokens of a turn that is believed.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// The counters of the agent's session, by currency.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spending(BTreeMap<String, Counter>);

/// One counter, in billionths.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Counter {
    /// The value up to which it is counted.
    counted: u64,
    /// The last value, if that was lower: it came late, or the counter has started again.
    low: Option<u64>,
    /// Whether the session was opened since the last value, so that a lower one is a new start.
    is_opened: bool,
}

impl Counter {
    /// Takes a value. Returns what it adds.
    fn report(&mut self, value: u64) -> u64 {
        let starts_again =
            value < self.counted && (self.is_opened || self.low.is_some_and(|low| value > low));
        self.is_opened = false;
        let added = if starts_again {
            value
        } else if value >= self.counted {
            value - self.counted
        } else {
            // The next value shows whether this one was late.
            self.low = Some(value);
            return 0;
        };
        (self.counted, self.low) = (value, None);
        added
    }
}

impl Spending {
    /// Folds an event. Returns what it adds.
    pub fn fold(&mut self, event: &EventKind) -> Option<Spent> {
        match event {
            EventKind::Turn(TurnEvent::UsageUpdated { cost: Some(cost), .. }) => self.report(cost),
            EventKind::Turn(TurnEvent::Settled {
                usage: Some(usage), ..
            }) => tokens(usage),
            // The counters of a new session are other ones.
            EventKind::Session(SessionEvent::AgentBound {
                how: Binding::New, ..
            }) => {
                self.0.clear();
                None
            }
            EventKind::Session(SessionEvent::AgentBound { .. })
            | EventKind::Thread(ThreadEvent::Forked(_)) => {
                for counter in self.0.values_mut() {
                    counter.is_opened = true;
                }
                None
            }
            EventKind::Thread(_)
            | EventKind::Session(_)
            | EventKind::Turn(_)
            | EventKind::Item(_)
            | EventKind::Host(_)
            | EventKind::Request(_)
            | EventKind::Unknown => None,
        }
    }

    /// Takes a reported cost. Returns what it adds.
    pub fn report(&mut self, cost: &RawJson) -> Option<Spent> {
        let (currency, value) = read_cost(cost)?;
        if !self.0.contains_key(&currency) && self.0.len() >= USAGE_CURRENCIES {
            return None;
        }
        let added = self.0.entry(currency.clone()).or_default().report(value);
        (added > 0).then(|| Spent {
            costs: BTreeMap::from([(currency, added)]),
            ..Spent::default()
        })
    }
}

/// Returns the currency and the billionths of ACP's `Cost`; `None` if the amount is implausible.
pub fn read_cost(cost: &RawJson) -> Option<(String, u64)> {
    #[derive(Deserialize)]
    struct Cost {
        amount: f64,
        currency: String,
    }
    let Cost { amount, currency } = cost.read().ok()?;
    let is_code = currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase());
    if !is_code || !(0.0..=MOST_COST).contains(&amount) {
        return None;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is in the range"
    )]
    let nanos = (amount * NANOS).round() as u64;
    Some((currency, nanos))
}

/// Returns billionths as ACP's `Cost`.
pub fn write_cost(currency: &str, nanos: u64) -> RawJson {
    RawJson::from(serde_json::json!({ "amount": amount(nanos), "currency": currency }))
}

/// Returns billionths as a number of units.
pub fn amount(nanos: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "no agent spends millions")]
    let nanos = nanos as f64;
    nanos / NANOS
}

fn tokens(usage: &RawJson) -> Option<Spent> {
    #[derive(Deserialize)]
    struct Usage {
        #[serde(rename = "inputTokens")]
        input: Option<u64>,
        #[serde(rename = "outputTokens")]
        output: Option<u64>,
        #[serde(rename = "totalTokens")]
        total: Option<u64>,
    }
    let usage: Usage = usage.read().ok()?;
    let believed = |tokens: Option<u64>| tokens.filter(|tokens| *tokens <= MOST_TOKENS).unwrap_or(0);
    let (input, output) = (believed(usage.input), believed(usage.output));
    let spent = Spent {
        input_tokens: input,
        output_tokens: output,
        total_tokens: believed(usage.total).max(input + output),
        ..Spent::default()
    };
    Some(spent).filter(|spent| !spent.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(amount: &str, currency: &str) -> EventKind {
        let cost = format!(r#"{{"amount":{amount},"currency":"{currency}"}}"#);
        EventKind::Turn(TurnEvent::UsageUpdated {
            used: 1,
            size: 2,
            cost: Some(RawJson::parse(&cost).unwrap()),
            thread_cost: None,
        })
    }

    /// Opens the session again, as every start of an agent does.
    fn open(spending: &mut Spending) {
        for counter in spending.0.values_mut() {
            counter.is_opened = true;
        }
    }

    /// Returns what the reports add, in thousandths.
    fn added(spending: &mut Spending, amounts: &[&str]) -> Vec<u64> {
        let nanos = |amount: &&str| {
            let spent = spending.fold(&cost(amount, "USD"));
            spent.map_or(0, |spent| spent.costs["USD"] / 1_000_000)
        };
        amounts.iter().map(nanos).collect()
    }

    #[test]
    fn a_counter_is_counted_once() {
        let mut spending = Spending::default();
        assert_eq!(
            added(&mut spending, &["0.17", "0.17", "0.2", "0"]),
            [170, 0, 30, 0]
        );
        // A process that continues with its session continues its counter; another one starts again.
        open(&mut spending);
        assert_eq!(added(&mut spending, &["0.2", "0.25"]), [0, 50]);
        open(&mut spending);
        assert_eq!(added(&mut spending, &["0.08", "0.09"]), [80, 10]);
    }

    fn bind(how: Binding) -> EventKind {
        EventKind::Session(SessionEvent::AgentBound {
            session_id: "s".into(),
            how,
            agent: RawJson::parse("{}").unwrap(),
            session: RawJson::parse("{}").unwrap(),
            protocol: None,
        })
    }

    #[test]
    fn a_new_session_has_a_counter_of_its_own() {
        let mut spending = Spending::default();
        spending.fold(&bind(Binding::New));
        assert_eq!(added(&mut spending, &["0.2"]), [200]);
        for (how, first) in [
            (Binding::Load, 50),
            (Binding::Resume, 0),
            // It has cost as much as the last one, or more.
            (Binding::New, 250),
            (Binding::New, 250),
        ] {
            spending.fold(&bind(how));
            assert_eq!(added(&mut spending, &["0.25"]), [first], "{how:?}");
        }
    }

    #[test]
    fn a_late_report_does_not_restart_the_count() {
        let mut spending = Spending::default();
        assert_eq!(added(&mut spending, &["0.2", "0.15", "0.21"]), [200, 0, 10]);
        assert_eq!(added(&mut spending, &["0.2", "0.2", "0.21"]), [0, 0, 0]);
        // A counter that starts again without a new process is seen when it rises.
        assert_eq!(added(&mut spending, &["0.01", "0.03", "0.05"]), [0, 30, 20]);
    }

    #[test]
    fn absurd_costs_are_not_counted() {
        let mut spending = Spending::default();
        for amount in ["-1", "1e7", "1e308", "\"1\"", "null", "[]"] {
            assert_eq!(spending.fold(&cost(amount, "USD")), None, "{amount}");
        }
        for currency in ["", "usd", "USDT", "\\u202EUS", "$"] {
            assert_eq!(spending.fold(&cost("1", currency)), None, "{currency}");
        }
        assert_eq!(spending, Spending::default());
        for letter in 'A'..='Z' {
            spending.fold(&cost("1", &format!("XX{letter}")));
        }
        assert_eq!(spending.0.len(), USAGE_CURRENCIES);
        assert_eq!(
            added(&mut Spending::default(), &["0", "0.001", "1000000"]),
            [0, 1, 999_999_999]
        );
    }

    #[test]
    fn currencies_have_counters_of_their_own() {
        let mut spending = Spending::default();
        assert_eq!(added(&mut spending, &["0.2"]), [200]);
        let euros = spending.fold(&cost("0.1", "EUR")).unwrap();
        assert_eq!(euros.costs, BTreeMap::from([("EUR".to_owned(), 100_000_000)]));
        assert_eq!(added(&mut spending, &["0.2", "0.3"]), [0, 100]);
    }

    #[test]
    fn tokens_are_those_of_each_turn() {
        let read = |usage: &str| tokens(&RawJson::parse(usage).unwrap());
        let spent = read(r#"{"inputTokens":5,"outputTokens":7,"totalTokens":20}"#).unwrap();
        assert_eq!(
            (spent.input_tokens, spent.output_tokens, spent.total_tokens),
            (5, 7, 20)
        );
        assert_eq!(
            read(r#"{"inputTokens":5,"outputTokens":7}"#)
                .unwrap()
                .total_tokens,
            12
        );
        for nothing in [
            "{}",
            "7",
            "null",
            r#"{"totalTokens":-1}"#,
            r#"{"totalTokens":1e300}"#,
            r#"{"totalTokens":18446744073709551615}"#,
        ] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
    }
}
