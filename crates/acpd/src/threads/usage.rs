//! `acpd usage`.

use acpd_model::text::shorten;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::{UsageArgs, UsageBy};
use crate::client::Client;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::items::short_id;
use crate::terminal::plain::plain_line;
use crate::terminal::print;
use crate::terminal::table::table;

/// Length of a printed name or folder, in characters.
const NAME_CHARS: usize = 48;

/// Shows what threads have used.
pub async fn usage(settings: &Settings, args: &UsageArgs) -> anyhow::Result<Exit> {
    let by = args.by.to_possible_value();
    let wanted = json!({
        "days": args.days,
        "by": by.map(|by| by.get_name().to_owned()),
    });
    let mut client = Client::connect(settings, false).await?;
    let read = client.request("usage/read", wanted).await?;
    let none = Vec::new();
    let rows = read["data"].as_array().unwrap_or(&none);
    if args.json {
        for row in rows {
            print::json(&row.to_string());
        }
        hint_omitted(&read);
        return Ok(Exit::Success);
    }
    if rows.is_empty() {
        let days = plain_line(read["firstDay"].as_str().unwrap_or_default());
        print::hint(&format!("no agent has reported tokens or costs since {days}"));
        return Ok(Exit::Success);
    }
    let mut cells: Vec<_> = rows.iter().map(|row| line(name(row), &row["spent"])).collect();
    cells.push(line("total".to_owned(), &read["total"]));
    let header = match args.by {
        UsageBy::Day => "DAY",
        UsageBy::Agent => "AGENT",
        UsageBy::Thread => "THREAD",
        UsageBy::Folder => "FOLDER",
    };
    table([header, "COST", "TOKENS", "INPUT", "OUTPUT"], &cells);
    hint_omitted(&read);
    Ok(Exit::Success)
}

/// Says that rows are missing, with the total, which has them: in JSON, too, whose reader would add up the rest.
fn hint_omitted(read: &Value) {
    if let Some(hint) = omitted(read) {
        print::hint(&hint);
    }
    if let Some(omitted) = read["currenciesOmitted"].as_u64().filter(|omitted| *omitted > 0) {
        print::hint(&format!(
            "{omitted} currencies that few threads report are left out"
        ));
    }
}

fn omitted(read: &Value) -> Option<String> {
    let omitted = read["omitted"].as_u64().filter(|omitted| *omitted > 0)?;
    let [_, cost, tokens, ..] = line(String::new(), &read["total"]);
    Some(format!(
        "{omitted} smaller rows are left out; the total with them: {cost}, {tokens} tokens"
    ))
}

/// Returns what a row is about.
fn name(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().map(plain_line);
    if let Some(id) = text("threadId") {
        let name = text("name").unwrap_or_default();
        return format!("{} {}", short_id(&id), shorten(&name, NAME_CHARS))
            .trim_end()
            .to_owned();
    }
    let name = text("day").or_else(|| text("agentType")).or_else(|| text("cwd"));
    shorten(&name.unwrap_or_default(), NAME_CHARS)
}

fn line(name: String, spent: &Value) -> [String; 5] {
    let tokens = |key: &str| match spent[key].as_u64() {
        None | Some(0) => "-".to_owned(),
        Some(tokens) => tokens.to_string(),
    };
    [
        name,
        costs(&spent["costs"]),
        tokens("totalTokens"),
        tokens("inputTokens"),
        tokens("outputTokens"),
    ]
}

/// Returns costs as text: `0.0842 USD + 1.20 EUR`.
fn costs(costs: &Value) -> String {
    let cost = |cost: &Value| {
        let amount = cost["amount"].as_f64()?;
        let currency = plain_line(cost["currency"].as_str()?);
        // Single turns cost fractions of a cent.
        Some(if amount < 1.0 {
            format!("{amount:.4} {currency}")
        } else {
            format!("{amount:.2} {currency}")
        })
    };
    let all: Vec<_> = costs.as_array().into_iter().flatten().filter_map(cost).collect();
    if all.is_empty() {
        "-".to_owned()
    } else {
        all.join(" + ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_costs_and_those_of_other_currencies_are_shown() {
        let spent = json!({
            "inputTokens": 5, "outputTokens": 0, "totalTokens": 7,
            "costs": [{ "amount": 0.08421, "currency": "USD" }, { "amount": 12.345, "currency": "EUR" }],
        });
        let shown = line("x".to_owned(), &spent);
        assert_eq!(
            shown,
            ["x", "0.0842 USD + 12.35 EUR", "7", "5", "-"].map(str::to_owned)
        );
        assert_eq!(line(String::new(), &json!({}))[1], "-");
    }

    #[test]
    fn omitted_rows_are_reported_with_the_total() {
        let total = json!({ "totalTokens": 7, "costs": [{ "amount": 2, "currency": "USD" }] });
        assert_eq!(omitted(&json!({ "omitted": 0, "total": total })), None);
        assert_eq!(omitted(&json!({})), None);
        assert_eq!(
            omitted(&json!({ "omitted": 3, "total": total })).as_deref(),
            Some("3 smaller rows are left out; the total with them: 2.00 USD, 7 tokens")
        );
    }

    #[test]
    fn names_of_threads_control_no_terminal() {
        let row = json!({ "threadId": "019330a0-0000-7000-8000-0000000000aa", "name": "a\u{1b}[2J\nb" });
        let shown = name(&row);
        assert!(!shown.contains(['\u{1b}', '\n']), "{shown:?}");
        assert_eq!(name(&json!({ "cwd": "/w" })), "/w");
    }
}
