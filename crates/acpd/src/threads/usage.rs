//! `acpd usage`.

use acpd_client::protocol::{self, CostSum, ReadUsage, UsageRow, UsageSum};
use acpd_model::text::shorten;
use clap::ValueEnum;
use serde::Deserialize;

use crate::cli::{UsageArgs, UsageBy};
use crate::client::connect::connect;
use crate::client::whole::Whole;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;

/// Length of a printed name or folder, in characters.
const NAME_CHARS: usize = 48;

/// The result of `usage/read`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Used {
    data: Vec<Whole<UsageRow>>,
    first_day: String,
    #[serde(flatten)]
    left_out: LeftOut,
}

/// What the rows leave out, with the total, which does not.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeftOut {
    omitted: u64,
    /// A daemon of an older version leaves no currencies out.
    #[serde(default)]
    currencies_omitted: u64,
    total: UsageSum,
}

/// Shows what threads have used.
pub async fn usage(settings: &Settings, args: &UsageArgs) -> anyhow::Result<Exit> {
    let by = args.by.to_possible_value();
    let wanted = ReadUsage {
        by: by.map(|by| protocol::UsageBy::from(by.get_name())),
        days: Some(args.days.into()),
    };
    let client = connect(settings, false).await?;
    let used: Used = client.call("usage/read", &wanted).await?;
    let rows = &used.data;
    if args.json {
        for row in rows {
            print::json(&row.json.to_string());
        }
        hint_omitted(&used.left_out);
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        let days = plain_line(&used.first_day);
        print::hint(&format!("no agent has reported tokens or costs since {days}"));
        return Ok(Exit::Success);
    }
    let mut cells: Vec<_> = rows.iter().map(|row| line(name(row), &row.spent)).collect();
    cells.push(line("total".to_owned(), &used.left_out.total));
    let header = match args.by {
        UsageBy::Day => "DAY",
        UsageBy::Agent => "AGENT",
        UsageBy::Thread => "THREAD",
        UsageBy::Folder => "FOLDER",
    };
    table([header, "COST", "TOKENS", "INPUT", "OUTPUT"], &cells);
    hint_omitted(&used.left_out);
    Ok(Exit::Success)
}

/// Says that rows are missing, with the total, which has them: in JSON, too, whose reader would add up the rest.
fn hint_omitted(left_out: &LeftOut) {
    if let Some(hint) = omitted(left_out) {
        print::hint(&hint);
    }
    if left_out.currencies_omitted > 0 {
        print::hint(&format!(
            "{} currencies that few threads report are left out",
            left_out.currencies_omitted
        ));
    }
}

fn omitted(left_out: &LeftOut) -> Option<String> {
    let LeftOut { omitted, total, .. } = left_out;
    let [_, cost, tokens, ..] = line(String::new(), total);
    (*omitted > 0)
        .then(|| format!("{omitted} smaller rows are left out; the total with them: {cost}, {tokens} tokens"))
}

/// Returns what a row is about.
fn name(row: &UsageRow) -> String {
    if let Some(id) = &row.thread_id {
        let name = plain_line(row.name.as_deref().unwrap_or_default());
        return format!("{} {}", short_id(&plain_line(id)), shorten(&name, NAME_CHARS))
            .trim_end()
            .to_owned();
    }
    let name = row.day.as_ref().or(row.agent_type.as_ref()).or(row.cwd.as_ref());
    shorten(&plain_line(name.map_or("", String::as_str)), NAME_CHARS)
}

fn line(name: String, spent: &UsageSum) -> [String; 5] {
    let tokens = |tokens: u64| match tokens {
        0 => "-".to_owned(),
        tokens => tokens.to_string(),
    };
    [
        name,
        costs(&spent.costs),
        tokens(spent.total_tokens),
        tokens(spent.input_tokens),
        tokens(spent.output_tokens),
    ]
}

/// Returns costs as text: `0.0842 USD + 1.20 EUR`.
fn costs(costs: &[CostSum]) -> String {
    let cost = |cost: &CostSum| {
        let currency = plain_line(&cost.currency);
        // Single turns cost fractions of a cent.
        if cost.amount < 1.0 {
            format!("{:.4} {currency}", cost.amount)
        } else {
            format!("{:.2} {currency}", cost.amount)
        }
    };
    if costs.is_empty() {
        return "-".to_owned();
    }
    costs.iter().map(cost).collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn read<T: DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    /// Returns a sum with these members.
    fn sum(members: &Value) -> Value {
        let mut sum = json!({ "inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "costs": [] });
        for (key, value) in members.as_object().unwrap() {
            sum[key] = value.clone();
        }
        sum
    }

    #[test]
    fn small_costs_and_those_of_other_currencies_are_shown() {
        let spent = sum(&json!({
            "inputTokens": 5, "totalTokens": 7,
            "costs": [{ "amount": 0.08421, "currency": "USD" }, { "amount": 12.345, "currency": "EUR" }],
        }));
        let shown = line("x".to_owned(), &read(spent));
        assert_eq!(
            shown,
            ["x", "0.0842 USD + 12.35 EUR", "7", "5", "-"].map(str::to_owned)
        );
        assert_eq!(line(String::new(), &read(sum(&json!({}))))[1], "-");
    }

    #[test]
    fn omitted_rows_are_reported_with_the_total() {
        let total = sum(&json!({ "totalTokens": 7, "costs": [{ "amount": 2, "currency": "USD" }] }));
        // A daemon of an older version counts no currencies.
        let none: LeftOut = read(json!({ "omitted": 0, "total": total }));
        assert_eq!((omitted(&none), none.currencies_omitted), (None, 0));
        let some = read(json!({ "omitted": 3, "currenciesOmitted": 1, "total": total }));
        assert_eq!(
            omitted(&some).as_deref(),
            Some("3 smaller rows are left out; the total with them: 2.00 USD, 7 tokens")
        );
    }

    #[test]
    fn names_of_threads_control_no_terminal() {
        let spent = sum(&json!({}));
        let id = "019330a0-0000-7000-8000-0000000000aa";
        let shown = name(&read(
            json!({ "threadId": id, "name": "a\u{1b}[2J\nb", "spent": spent }),
        ));
        assert!(!shown.contains(['\u{1b}', '\n']), "{shown:?}");
        assert_eq!(name(&read(json!({ "cwd": "/w", "spent": spent }))), "/w");
    }
}
