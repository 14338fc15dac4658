//! The mode, the model and the other options of a thread, as users name them.
//!
//! In: `configOptions` of a thread, and names. Out: the requests that set them. Never: sets a value that the agent does not
//! offer, or guesses between two.

use acpd_model::similar::nearest;
use anyhow::Context;
use serde_json::{Value, json};

use crate::cli::SessionArgs;
use crate::client::Client;
use crate::exit::Exit;
use crate::terminal::plain::plain_line;

/// Number of names that an error lists.
const LISTED: usize = 30;

/// An option of the agent's session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOption {
    pub id: String,
    pub name: String,
    /// `mode`, `model`, or another word of the agent.
    pub category: Option<String>,
    /// The current value: the id of a choice, or a boolean.
    pub current: Value,
    /// The values to choose from. A boolean option has none.
    pub choices: Vec<Choice>,
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub id: String,
    pub name: String,
}

impl SessionOption {
    /// Reads `configOptions` of a thread. Leaves out options of an unknown type.
    pub fn all(options: &Value) -> Vec<Self> {
        let options = options.as_array().into_iter().flatten();
        options.filter_map(Self::read).collect()
    }

    fn read(option: &Value) -> Option<Self> {
        let text = |key: &str| option[key].as_str();
        let id = text("id")?;
        let current = option["currentValue"].clone();
        if !current.is_string() && !current.is_boolean() {
            return None;
        }
        let entries = option["options"].as_array().into_iter().flatten();
        let values = entries.flat_map(|entry| match entry["options"].as_array() {
            Some(group) => group.iter().collect::<Vec<&Value>>(),
            None => vec![entry],
        });
        let choices = values.filter_map(Choice::read);
        Some(Self {
            id: id.to_owned(),
            name: text("name").unwrap_or(id).to_owned(),
            category: text("category").map(str::to_owned),
            choices: if current.is_string() {
                choices.collect()
            } else {
                Vec::new()
            },
            current,
        })
    }

    /// Returns the option of a category, such as `mode`.
    pub fn of_category<'o>(options: &'o [Self], category: &str) -> Option<&'o Self> {
        options
            .iter()
            .find(|option| option.category.as_deref() == Some(category))
            .or_else(|| options.iter().find(|option| option.id == category))
    }

    /// Returns the value that a user names by its id or its label.
    fn value(&self, given: &str) -> Result<Value, String> {
        if self.current.is_boolean() {
            return match &*given.to_lowercase() {
                "true" | "on" | "yes" => Ok(json!(true)),
                "false" | "off" | "no" => Ok(json!(false)),
                _ => Err(format!(
                    "{:?} is on or off, and {given:?} is neither",
                    plain_line(&self.id)
                )),
            };
        }
        let what = plain_line(self.category.as_deref().unwrap_or(&self.id));
        let choice = pick(&what, given, &self.choices, |choice| (&choice.id, &choice.name))?;
        Ok(json!(choice.id))
    }
}

impl Choice {
    fn read(value: &Value) -> Option<Self> {
        let id = value["value"].as_str()?;
        Some(Self {
            id: id.to_owned(),
            name: value["name"].as_str().unwrap_or(id).to_owned(),
        })
    }
}

/// One setting that a user wants.
#[derive(Debug, Clone, Copy)]
enum Wish<'a> {
    /// A value of the option with this category.
    Category(&'static str, &'a str),
    /// A value of the option with this id or label.
    Named(&'a str, &'a str),
}

impl<'a> Wish<'a> {
    /// Returns the wishes of a command line. The model comes first, since other options can depend on it.
    fn all(args: &'a SessionArgs) -> anyhow::Result<Vec<Self>> {
        let model = args.model.iter().map(|model| Self::Category("model", model));
        let mode = args.mode.iter().map(|mode| Self::Category("mode", mode));
        let mut wishes: Vec<Self> = model.chain(mode).collect();
        for set in &args.set {
            let (name, value) = set
                .split_once('=')
                .filter(|(name, _)| !name.trim().is_empty())
                .ok_or_else(|| Exit::Usage.error(format!("invalid setting {set:?}: use --set NAME=VALUE")))?;
            wishes.push(Self::Named(name.trim(), value.trim()));
        }
        Ok(wishes)
    }

    /// Returns the id of the option, and the value.
    fn resolve(self, options: &[SessionOption]) -> Result<(String, Value), String> {
        let (option, value) = match self {
            Self::Category(category, value) => {
                let option = SessionOption::of_category(options, category);
                let option = option.ok_or_else(|| format!("the agent offers no {category} to choose"))?;
                (option, value)
            }
            Self::Named(name, value) => {
                let option = pick("option", name, options, |option| (&option.id, &option.name))?;
                (option, value)
            }
        };
        Ok((option.id.clone(), option.value(value)?))
    }
}

/// Fails if a setting is not of the form `NAME=VALUE`.
pub fn check(args: &SessionArgs) -> anyhow::Result<()> {
    Wish::all(args).map(drop)
}

/// Sets what the user wants. `thread` is the thread as the daemon returned it. Nothing is set if the agent offers none of it.
pub async fn apply(client: &mut Client, thread: &Value, args: &SessionArgs) -> anyhow::Result<()> {
    let id = &thread["id"];
    let mut options = SessionOption::all(&thread["configOptions"]);
    let mut done: Vec<String> = Vec::new();
    for wish in Wish::all(args)? {
        if !done.is_empty() {
            // Another model can have other options.
            let read = client.request("thread/read", json!({ "threadId": id })).await?;
            options = SessionOption::all(&read["thread"]["configOptions"]);
        }
        let (option, value) = wish.resolve(&options).map_err(|why| {
            let already = if done.is_empty() {
                String::new()
            } else {
                format!("; already set: {}", done.join(", "))
            };
            Exit::Usage.error(format!("{why}{already}"))
        })?;
        let params = json!({ "threadId": id, "configId": option, "value": value });
        let set = client.request("thread/config/set", params).await;
        set.with_context(|| format!("{} cannot be set", plain_line(&option)))?;
        done.push(plain_line(&option));
    }
    Ok(())
}

/// Returns the entry with this id or label. The exact id wins; otherwise case is ignored.
fn pick<'a, T>(
    what: &str,
    given: &str,
    all: &'a [T],
    names: impl Fn(&T) -> (&String, &String),
) -> Result<&'a T, String> {
    let given = given.trim();
    let wanted = given.to_lowercase();
    let by = |is_it: &dyn Fn(&str, &str) -> bool| -> Vec<&'a T> {
        let is_it = |entry: &&'a T| {
            let (id, name) = names(entry);
            is_it(id, name)
        };
        all.iter().filter(is_it).collect()
    };
    let found = [
        by(&|id, _| id == given),
        by(&|id, _| id.to_lowercase() == wanted),
        by(&|_, name| name.trim().to_lowercase() == wanted),
    ];
    let labels = |entries: &mut dyn Iterator<Item = &'a T>| -> String {
        let labels = entries.map(|entry| {
            let (id, name) = names(entry);
            match (plain_line(id), plain_line(name)) {
                (id, name) if id == name => id,
                (id, name) => format!("{id} ({name})"),
            }
        });
        labels.collect::<Vec<_>>().join(", ")
    };
    match found.iter().find(|found| !found.is_empty()).map(Vec::as_slice) {
        Some(&[only]) => return Ok(only),
        Some(several) => {
            return Err(format!(
                "{given:?} names {} entries; give the id of one: {}",
                several.len(),
                labels(&mut several.iter().take(LISTED).copied())
            ));
        }
        None if all.is_empty() => return Err(format!("the agent offers no {what} to choose")),
        None => {}
    }
    let known = all.iter().flat_map(|entry| {
        let (id, name) = names(entry);
        [&**id, &**name]
    });
    let similar = nearest(given, known);
    let similar = similar.map(|similar| format!("did you mean {:?}? ", plain_line(similar)));
    let more = match all.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Err(format!(
        "the agent has no {what} {given:?}; {}it offers {}{more}",
        similar.unwrap_or_default(),
        labels(&mut all.iter().take(LISTED))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<SessionOption> {
        let value = |value: &str, name: &str| json!({ "value": value, "name": name });
        let models = json!([
            { "group": "fast", "name": "Fast", "options": [value("s-1", "Small"), value("S-1", "Small again")] },
            { "group": "smart", "name": "Smart", "options": [value("l-1", "Large"), value("l-2", "Large")] },
        ]);
        SessionOption::all(&json!([
            { "type": "select", "id": "llm", "name": "Model", "category": "model", "currentValue": "s-1", "options": models },
            { "type": "select", "id": "acpd.mode", "name": "Mode", "category": "mode", "currentValue": "ask",
              "options": [value("ask", "Ask first"), value("code", "Code")] },
            { "type": "boolean", "id": "verbose", "name": "Says more", "currentValue": false },
            { "type": "slider", "id": "x", "currentValue": 3 },
        ]))
    }

    #[test]
    fn names_are_ids_or_labels_in_any_case() {
        let options = options();
        for (wish, id, value) in [
            (Wish::Category("mode", "code"), "acpd.mode", json!("code")),
            (Wish::Category("mode", " ASK first "), "acpd.mode", json!("ask")),
            (Wish::Category("model", "S-1"), "llm", json!("S-1")),
            (Wish::Category("model", "small"), "llm", json!("s-1")),
            (Wish::Category("model", "L-2"), "llm", json!("l-2")),
            (Wish::Named("Verbose", "On"), "verbose", json!(true)),
            (Wish::Named("says more", "false"), "verbose", json!(false)),
            (Wish::Named("LLM", "l-1"), "llm", json!("l-1")),
        ] {
            assert_eq!(wish.resolve(&options), Ok((id.to_owned(), value)), "{wish:?}");
        }
    }

    #[test]
    fn an_unknown_name_lists_what_there_is() {
        let options = options();
        for (wish, said) in [
            (
                Wish::Category("mode", "plan"),
                "the agent has no mode \"plan\"; it offers ask (Ask first), code (Code)",
            ),
            (
                Wish::Category("mode", "cod"),
                "the agent has no mode \"cod\"; did you mean \"Code\"? it offers ask (Ask first), code (Code)",
            ),
            (
                Wish::Category("model", "large"),
                "\"large\" names 2 entries; give the id of one: l-1 (Large), l-2 (Large)",
            ),
            (
                Wish::Named("verbose", "very"),
                "\"verbose\" is on or off, and \"very\" is neither",
            ),
            (
                Wish::Named("effort", "high"),
                "the agent has no option \"effort\"; it offers llm (Model), acpd.mode (Mode), verbose (Says more)",
            ),
        ] {
            assert_eq!(wish.resolve(&options), Err(said.to_owned()), "{wish:?}");
        }
        assert_eq!(
            Wish::Category("model", "x").resolve(&[]),
            Err("the agent offers no model to choose".to_owned())
        );
        // An agent with very many models does not fill the terminal.
        let values: Vec<Value> = (0..1000).map(|k| json!({ "value": format!("m{k}") })).collect();
        let many = json!([{ "type": "select", "id": "model", "currentValue": "m1", "options": values }]);
        let said = Wish::Category("model", "zzz")
            .resolve(&SessionOption::all(&many))
            .unwrap_err();
        assert!(said.ends_with(", m29, and 970 more"), "{said}");
    }

    #[test]
    fn a_setting_needs_a_name_and_a_value() {
        let args = |set: &str| SessionArgs {
            set: vec![set.to_owned()],
            ..SessionArgs::default()
        };
        assert!(check(&args("effort=high=er")).is_ok());
        for wrong in ["", "effort", "=high", " =x"] {
            let error = check(&args(wrong)).unwrap_err();
            assert_eq!(Exit::of(&error), Exit::Usage, "{wrong}");
        }
    }
}
