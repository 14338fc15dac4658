//! The mode, the model and the other options of a thread, as users name them.
//!
//! In: config options of a thread, and names. Out: the requests that set them. Never: sets a value that the agent does not
//! offer, or guesses between two.

use acpd_client::Client;
use acpd_client::protocol::{AcpObject, ConfigValue, Thread, ThreadConfigSetParams};
use acpd_model::similar::nearest;
use anyhow::Context;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

use crate::cli::SessionArgs;
use crate::exit::Exit;
use crate::lenient::lenient;
use crate::terminal::plain::plain_line;
use crate::threads::find::read_thread;

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

/// ACP's `SessionConfigOption`, as the agent sent it. A member of an unexpected type counts as absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigOption {
    id: String,
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    category: Option<String>,
    #[serde(default)]
    current_value: Value,
    #[serde(default, deserialize_with = "lenient")]
    options: Vec<Value>,
}

/// A value of such an option, or a group of values.
#[derive(Deserialize)]
struct Entry {
    #[serde(default, deserialize_with = "lenient")]
    value: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    name: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    options: Option<Vec<Value>>,
}

/// Returns those values that are objects.
fn entries(values: Vec<Value>) -> impl Iterator<Item = Entry> {
    let objects = values.into_iter().filter(Value::is_object);
    objects.filter_map(|value| Entry::deserialize(value).ok())
}

impl SessionOption {
    /// Reads `configOptions` of the agent. Leaves out options of an unknown type.
    pub fn all(options: &Value) -> Vec<Self> {
        let options = options.as_array().into_iter().flatten();
        options.filter_map(Self::read).collect()
    }

    /// Returns the options of a thread, without those of an unknown type.
    fn of(thread: &Thread) -> Vec<Self> {
        let options: &[AcpObject] = thread.config_options.as_deref().unwrap_or_default();
        options.iter().filter_map(Self::read).collect()
    }

    fn read<'de>(option: impl Deserializer<'de>) -> Option<Self> {
        let ConfigOption {
            id,
            name,
            category,
            current_value: current,
            options,
        } = ConfigOption::deserialize(option).ok()?;
        if !current.is_string() && !current.is_boolean() {
            return None;
        }
        let values = entries(options).flat_map(|entry| match entry {
            Entry {
                options: Some(group), ..
            } => entries(group).collect::<Vec<_>>(),
            value => vec![value],
        });
        Some(Self {
            name: name.unwrap_or_else(|| id.clone()),
            id,
            category,
            choices: if current.is_string() {
                values.filter_map(Choice::of).collect()
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
    fn value(&self, given: &str) -> Result<ConfigValue, String> {
        if self.current.is_boolean() {
            return match &*given.to_lowercase() {
                "true" | "on" | "yes" => Ok(ConfigValue::Bool(true)),
                "false" | "off" | "no" => Ok(ConfigValue::Bool(false)),
                _ => Err(format!(
                    "{:?} is on or off, and {given:?} is neither",
                    plain_line(&self.id)
                )),
            };
        }
        let what = plain_line(self.category.as_deref().unwrap_or(&self.id));
        let choice = pick(&what, given, &self.choices, |choice| (&choice.id, &choice.name))?;
        Ok(ConfigValue::Text(choice.id.clone()))
    }
}

impl Choice {
    fn of(entry: Entry) -> Option<Self> {
        let id = entry.value?;
        Some(Self {
            name: entry.name.unwrap_or_else(|| id.clone()),
            id,
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
    fn resolve(self, options: &[SessionOption]) -> Result<(String, ConfigValue), String> {
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

/// Sets what the user wants in a thread, as the daemon returned it. Nothing is set if the agent offers none of it.
pub async fn set(client: &Client, thread: &Thread, args: &SessionArgs) -> anyhow::Result<()> {
    let mut options = SessionOption::of(thread);
    let mut done: Vec<String> = Vec::new();
    for wish in Wish::all(args)? {
        if !done.is_empty() {
            // Another model can have other options.
            let changed = read_thread(client, thread.id.clone()).await?;
            options = SessionOption::of(&changed);
        }
        let (option, value) = wish.resolve(&options).map_err(|why| {
            let already = if done.is_empty() {
                String::new()
            } else {
                format!("; already set: {}", done.join(", "))
            };
            Exit::Usage.error(format!("{why}{already}"))
        })?;
        let params = ThreadConfigSetParams {
            config_id: option,
            thread_id: thread.id.clone(),
            value,
        };
        let set = client.thread_config_set(&params).await;
        let option = plain_line(&params.config_id);
        set.with_context(|| format!("{option} cannot be set"))?;
        done.push(option);
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
    use serde_json::json;

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
        let text = |value: &str| ConfigValue::Text(value.to_owned());
        for (wish, id, value) in [
            (Wish::Category("mode", "code"), "acpd.mode", text("code")),
            (Wish::Category("mode", " ASK first "), "acpd.mode", text("ask")),
            (Wish::Category("model", "S-1"), "llm", text("S-1")),
            (Wish::Category("model", "small"), "llm", text("s-1")),
            (Wish::Category("model", "L-2"), "llm", text("l-2")),
            (Wish::Named("Verbose", "On"), "verbose", ConfigValue::Bool(true)),
            (
                Wish::Named("says more", "false"),
                "verbose",
                ConfigValue::Bool(false),
            ),
            (Wish::Named("LLM", "l-1"), "llm", text("l-1")),
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
    fn a_member_of_another_type_does_not_hide_an_option() {
        let odd = json!([
            "x",
            ["id", "name"],
            { "id": 1, "currentValue": "a" },
            { "id": "no-value" },
            { "id": "odd", "name": 7, "category": {}, "currentValue": "a", "options": [
                "a", ["a", "A"], { "name": "no value" }, { "value": "a", "name": 1 },
                { "options": [{ "value": "b" }, 3] }, { "value": "c", "options": 4 },
            ] },
            { "id": "none", "currentValue": "a", "options": {} },
        ]);
        let read = SessionOption::all(&odd);
        let ids: Vec<&str> = read.iter().map(|option| &*option.id).collect();
        assert_eq!(ids, ["odd", "none"]);
        assert_eq!((&*read[0].name, &read[0].category), ("odd", &None));
        let choices: Vec<&str> = read[0].choices.iter().map(|choice| &*choice.name).collect();
        assert_eq!(choices, ["a", "b", "c"]);
        assert!(read[1].choices.is_empty());
        assert!(SessionOption::all(&Value::Null).is_empty());
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
