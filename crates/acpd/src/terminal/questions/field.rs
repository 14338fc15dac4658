//! One property of a form.
//!
//! In: its JSON schema, then a line that the user typed. Out: the text that asks for it, and the value of the line.
//! Never: accepts a value that violates the checked part of the schema. `pattern` and `format` are shown, and left for
//! the agent to check.

use serde_json::{Number, Value, json};

use crate::terminal::plain::{plain, plain_line};

/// A property whose value fits on one line.
pub struct Field {
    /// The property's name in the schema.
    pub name: String,
    /// Whether the form is invalid without it.
    pub required: bool,
    /// The value of an empty line.
    pub default: Option<Value>,
    title: String,
    /// Lines of explanation, shown above the prompt.
    about: Vec<String>,
    kind: Kind,
}

enum Kind {
    Text { length: Bounds },
    Whole { bounds: Bounds },
    Decimal { bounds: Bounds },
    YesNo,
    One(Vec<Choice>),
    Many { choices: Vec<Choice>, count: Bounds },
}

struct Choice {
    value: Value,
    label: String,
}

/// Smallest and largest allowed value, both inclusive.
struct Bounds {
    least: Option<Number>,
    most: Option<Number>,
}

impl Bounds {
    fn read(schema: &Value, least: &str, most: &str) -> Self {
        let number = |name: &str| schema[name].as_number().cloned();
        Self {
            least: number(least),
            most: number(most),
        }
    }

    /// Describes the bounds; returns `None` if there are none.
    fn words(&self) -> Option<String> {
        match (&self.least, &self.most) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        }
    }

    fn allow(&self, value: &Number) -> bool {
        let not_below = |a: &Number, b: &Number| match (whole(a), whole(b)) {
            (Some(a), Some(b)) => a >= b,
            _ => a.as_f64() >= b.as_f64(),
        };
        self.least.as_ref().is_none_or(|least| not_below(value, least))
            && self.most.as_ref().is_none_or(|most| not_below(most, value))
    }
}

fn whole(number: &Number) -> Option<i128> {
    number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from))
}

impl Field {
    /// Reads a property's schema; returns `None` if its value does not fit on one line.
    pub fn read(name: &str, schema: &Value, required: bool) -> Option<Self> {
        let kind = match schema["type"].as_str()? {
            "string" => match choices(schema) {
                Some(choices) => Kind::One(choices),
                None => Kind::Text {
                    length: Bounds::read(schema, "minLength", "maxLength"),
                },
            },
            "integer" => Kind::Whole {
                bounds: Bounds::read(schema, "minimum", "maximum"),
            },
            "number" => Kind::Decimal {
                bounds: Bounds::read(schema, "minimum", "maximum"),
            },
            "boolean" => Kind::YesNo,
            "array" => Kind::Many {
                choices: choices(&schema["items"])?,
                count: Bounds::read(schema, "minItems", "maxItems"),
            },
            _ => return None,
        };
        let mut about = Vec::new();
        if let Some(description) = schema["description"].as_str() {
            about.extend(plain(description).lines().map(str::to_owned));
        }
        for member in ["format", "pattern"] {
            if let Some(text) = schema[member].as_str() {
                about.push(format!("{member}: {}", plain_line(text)));
            }
        }
        let mut field = Self {
            name: name.to_owned(),
            required,
            default: None,
            title: plain_line(schema["title"].as_str().unwrap_or(name)),
            about,
            kind,
        };
        let default = &schema["default"];
        field.default = field.described(default).map(|_| default.clone());
        Some(field)
    }

    /// Returns the lines above the prompt.
    pub fn explanation(&self) -> String {
        let mut text = String::new();
        for line in &self.about {
            text.push_str(&format!("  {line}\n"));
        }
        if let Kind::One(choices) | Kind::Many { choices, .. } = &self.kind {
            for (at, choice) in choices.iter().enumerate() {
                text.push_str(&format!("  {}) {}\n", at + 1, choice.label));
            }
        }
        text
    }

    /// Returns the prompt line.
    pub fn prompt(&self) -> String {
        let mut hints = Vec::new();
        hints.extend(match &self.kind {
            Kind::Text { length } => length.words().map(|words| format!("{words} characters")),
            Kind::Whole { bounds } => Some(match bounds.words() {
                Some(words) => format!("a whole number, {words}"),
                None => "a whole number".to_owned(),
            }),
            Kind::Decimal { bounds } => Some(match bounds.words() {
                Some(words) => format!("a number, {words}"),
                None => "a number".to_owned(),
            }),
            Kind::YesNo => Some("y/n".to_owned()),
            Kind::One(choices) => Some(format!("1-{}", choices.len())),
            Kind::Many { choices, count } => {
                let words = count.words().map(|words| format!(", {words} of them"));
                let words = words.unwrap_or_default();
                let none = if count.allow(&Number::from(0)) {
                    ", 0 for none"
                } else {
                    ""
                };
                Some(format!("numbers in 1-{}{words}{none}", choices.len()))
            }
        });
        hints.push(
            match self.default.as_ref().and_then(|value| self.described(value)) {
                Some(default) => format!("default {default}"),
                None if self.required => "required".to_owned(),
                None => "optional".to_owned(),
            },
        );
        format!("{} ({}): ", self.title, hints.join("; "))
    }

    /// Parses a line into a value, or returns why it is invalid.
    pub fn check(&self, line: &str) -> Result<Value, String> {
        let word = line.trim();
        match &self.kind {
            Kind::Text { length } => {
                if length.allow(&Number::from(line.chars().count())) {
                    Ok(line.into())
                } else {
                    Err(refusal("This takes", length, " characters"))
                }
            }
            Kind::Whole { bounds } => {
                let number = word.parse::<i64>().map(Number::from);
                let number = number.or_else(|_| word.parse::<u64>().map(Number::from));
                match number {
                    Ok(number) if bounds.allow(&number) => Ok(number.into()),
                    Ok(_) => Err(refusal("This takes", bounds, "")),
                    Err(_) => Err(format!(
                        "{:?} is not a whole number that acpd can send.",
                        plain(word)
                    )),
                }
            }
            Kind::Decimal { bounds } => {
                let exact = word.parse::<Number>().ok();
                let number = exact.or_else(|| Number::from_f64(word.parse().ok()?));
                match number {
                    Some(number) if bounds.allow(&number) => Ok(number.into()),
                    Some(_) => Err(refusal("This takes", bounds, "")),
                    None => Err(format!("{:?} is not a number.", plain(word))),
                }
            }
            Kind::YesNo => match word.to_lowercase().as_str() {
                "y" | "yes" | "true" => Ok(true.into()),
                "n" | "no" | "false" => Ok(false.into()),
                _ => Err("Please answer y or n.".to_owned()),
            },
            Kind::One(choices) => match chosen(choices, word) {
                Some(choice) => Ok(choice.value.clone()),
                None => Err(format!("Please choose a number in 1-{}.", choices.len())),
            },
            Kind::Many { choices, count } => {
                let mut picked = Vec::new();
                let words = word.split([',', ' ', '\t']).filter(|word| !word.is_empty());
                for word in words.filter(|_| word != "0") {
                    let Some(choice) = chosen(choices, word) else {
                        return Err(format!("Please choose numbers in 1-{}.", choices.len()));
                    };
                    if !picked.contains(&choice.value) {
                        picked.push(choice.value.clone());
                    }
                }
                if count.allow(&Number::from(picked.len())) {
                    Ok(picked.into())
                } else {
                    Err(refusal("Please choose", count, " of them"))
                }
            }
        }
    }

    /// Formats a value of the agent as the user would type it; returns `None` if the field does not allow it.
    fn described(&self, value: &Value) -> Option<String> {
        let place = |choices: &[Choice], value: &Value| {
            let at = choices.iter().position(|choice| choice.value == *value)?;
            Some((at + 1).to_string())
        };
        match (&self.kind, value) {
            (Kind::Text { .. }, Value::String(text)) => Some(plain(text)),
            (Kind::Whole { .. }, Value::Number(number)) => whole(number).map(|_| number.to_string()),
            (Kind::Decimal { .. }, Value::Number(number)) => Some(number.to_string()),
            (Kind::YesNo, Value::Bool(yes)) => Some(if *yes { "y" } else { "n" }.to_owned()),
            (Kind::One(choices), value) => place(choices, value),
            (Kind::Many { .. }, Value::Array(values)) if values.is_empty() => Some("0".to_owned()),
            (Kind::Many { choices, .. }, Value::Array(values)) => {
                let places: Option<Vec<_>> = values.iter().map(|value| place(choices, value)).collect();
                places.map(|places| places.join(","))
            }
            _ => None,
        }
    }
}

fn refusal(what: &str, bounds: &Bounds, unit: &str) -> String {
    format!("{what} {}{unit}.", bounds.words().unwrap_or_default())
}

fn chosen<'c>(choices: &'c [Choice], word: &str) -> Option<&'c Choice> {
    choices.get(word.parse::<usize>().ok()?.checked_sub(1)?)
}

/// Returns the choices that the schema lists, if any.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let list = ["oneOf", "anyOf", "enum"]
        .iter()
        .find_map(|name| schema[*name].as_array())
        .filter(|list| !list.is_empty())?;
    let choice = |entry: &Value| {
        let (value, title) = match entry.get("const") {
            Some(value) => (value.clone(), entry["title"].as_str()),
            None => (entry.clone(), None),
        };
        let label = match title.or(value.as_str()) {
            Some(text) => plain_line(text),
            None => plain_line(&json!(value).to_string()),
        };
        Choice { value, label }
    };
    Some(list.iter().map(choice).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Field;

    fn field(schema: &Value) -> Field {
        Field::read("f", schema, false).expect("it can be asked for")
    }

    #[test]
    fn values_are_what_the_schema_allows() {
        for (schema, good, bad) in [
            (
                json!({ "type": "string", "minLength": 2, "maxLength": 3 }),
                &[("äö", json!("äö")), (" x ", json!(" x "))][..],
                &["x", "long"][..],
            ),
            (
                json!({ "type": "integer", "minimum": -1, "maximum": u64::MAX }),
                &[
                    ("-1", json!(-1)),
                    (" 5 ", json!(5)),
                    ("18446744073709551615", json!(u64::MAX)),
                ],
                &["-2", "1.0", "x", "18446744073709551616"],
            ),
            (
                json!({ "type": "number", "minimum": 0.5 }),
                &[("0.5", json!(0.5)), ("3", json!(3)), (".75", json!(0.75))],
                &["0.4", "0", "inf", "NaN", "1,5"],
            ),
            (
                json!({ "type": "boolean" }),
                &[("Y", json!(true)), ("no", json!(false))],
                &["1", "perhaps"],
            ),
            (
                json!({ "type": "string", "enum": ["red", "green"] }),
                &[("1", json!("red")), ("2", json!("green"))],
                &["0", "3", "red", "-1"],
            ),
            (
                json!({ "type": "array", "minItems": 1, "maxItems": 2,
                    "items": { "anyOf": [{ "const": "a", "title": "A" }, { "const": "b" }, { "const": "c" }] } }),
                &[("3, 1", json!(["c", "a"])), ("2 2", json!(["b"]))],
                &["0", "1 2 3", "4", "1 0"],
            ),
        ] {
            let field = field(&schema);
            for (line, value) in good {
                assert_eq!(field.check(line).as_ref(), Ok(value), "{schema} {line:?}");
            }
            for line in bad {
                assert!(field.check(line).is_err(), "{schema} {line:?}");
            }
        }
    }

    #[test]
    fn a_field_says_what_it_takes() {
        for (schema, question) in [
            (
                json!({ "type": "string", "title": "Name\u{1b}\u{200b}", "description": "one\ntwo", "format": "email" }),
                "  one\n  two\n  format: email\nName\u{fffd}\u{fffd} (optional): ",
            ),
            (
                json!({ "type": "string", "default": "b",
                    "oneOf": [{ "const": "a", "title": "First\n  2) c" }, { "const": "b" }] }),
                "  1) First\u{fffd}  2) c\n  2) b\nf (1-2; default 2): ",
            ),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 9, "default": "x" }),
                "f (a whole number, 1 to 9; optional): ",
            ),
            (
                json!({ "type": "array", "items": { "enum": ["a", "b"] }, "default": ["b", "a"], "minItems": 1 }),
                "  1) a\n  2) b\nf (numbers in 1-2, at least 1 of them; default 2,1): ",
            ),
            (
                json!({ "type": "boolean", "default": false }),
                "f (y/n; default n): ",
            ),
        ] {
            let field = field(&schema);
            assert_eq!(format!("{}{}", field.explanation(), field.prompt()), question);
        }
        let required = Field::read("f", &json!({ "type": "string" }), true).map(|field| field.prompt());
        assert_eq!(required.as_deref(), Some("f (required): "));
    }

    #[test]
    fn values_that_one_line_cannot_hold_have_no_field() {
        for schema in [
            json!({ "type": "object" }),
            json!({ "type": "array", "items": { "type": "string" } }),
            json!({}),
            json!(true),
        ] {
            assert!(Field::read("f", &schema, false).is_none(), "{schema}");
        }
    }
}
