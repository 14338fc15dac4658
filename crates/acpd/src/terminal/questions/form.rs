//! A form of the agent, filled in line by line.
//!
//! In: the parts of a question for information, then the lines that the user typed. Out: the text to write
//! next, and finally the response. Owns: the answers so far. Never: reads or writes a terminal, or invents an answer
//! that came from neither the user nor the agent's default.

use std::fmt;

use acpd_client::JsonText;
use anyhow::{Context, bail};
use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::{Map, Value, json};

use super::field::Field;
use crate::terminal::plain::{plain, plain_line, visible_line};

/// A form, or a URL to open, and the user's progress in it.
pub struct Form {
    title: String,
    url: Option<String>,
    fields: Vec<Field>,
    /// Index of the current field; after the last one, only consent remains.
    at: usize,
    answers: Map<String, Value>,
}

/// The effect of a typed line.
pub enum Taken {
    /// Ask for the next field.
    Next,
    /// The line is invalid, and why; ask for the same field again.
    Again(String),
    /// The response to the question.
    Done(Value),
}

/// Returns the response for a question without an answer.
pub fn dismissed() -> Value {
    json!({ "dismissed": true })
}

#[derive(Default, Deserialize)]
struct Schema {
    #[serde(default)]
    properties: Properties,
    #[serde(default)]
    required: Option<Vec<String>>,
}

/// Properties in the order in which the agent wrote them; a map would lose it.
#[derive(Default)]
struct Properties(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Properties;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("properties by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Properties, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    list.push(entry);
                }
                Ok(Properties(list))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Form {
    /// Reads a question with this title. `url` is an address to open. `schema` is the form's JSON schema, as its agent wrote
    /// it. Fails if it requires a value that cannot be typed on one line.
    pub fn read(title: &str, url: Option<&str>, schema: Option<&JsonText>) -> anyhow::Result<Self> {
        let Schema {
            properties: Properties(properties),
            required,
        } = match schema {
            Some(schema) => schema.read().context("it cannot be read")?,
            None if url.is_some() => Schema::default(),
            None => bail!("it is of a kind that acpd run does not know"),
        };
        let required = required.unwrap_or_default();
        let mut fields = Vec::with_capacity(properties.len());
        for (name, property) in properties {
            let needed = required.contains(&name);
            match Field::read(&name, &property, needed) {
                Some(field) => fields.push(field),
                None if needed => bail!("acpd run cannot ask for {:?}", plain(&name)),
                None => {}
            }
        }
        Ok(Self {
            title: title.to_owned(),
            url: url.map(str::to_owned),
            fields,
            at: 0,
            answers: Map::new(),
        })
    }

    /// Returns the text above the first field.
    pub fn heading(&self) -> String {
        format!("{}(Ctrl-D dismisses the question)\n", self.subject())
    }

    /// Returns the whole form, with the names by which a script answers.
    pub fn outline(&self) -> String {
        let mut text = self.subject();
        for field in &self.fields {
            let prompt = field.prompt();
            let prompt = prompt.trim_end_matches(": ");
            text.push_str(&format!(
                "  {}: {prompt}\n{}",
                plain_line(&field.name),
                field.explanation()
            ));
        }
        text
    }

    /// Returns the title of the question.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Returns whether the question only sends the user to an address.
    pub fn is_url(&self) -> bool {
        self.url.is_some()
    }

    fn subject(&self) -> String {
        let mut text = format!("The agent wants to know: {}\n", plain(&self.title));
        if let Some(url) = &self.url {
            text.push_str(&format!(
                "It sends you to this address:\n  {}\n",
                visible_line(url)
            ));
        }
        text
    }

    /// Returns the whole current question, ending where the user types.
    pub fn question(&self) -> String {
        match self.fields.get(self.at) {
            Some(field) => format!("{}{}", field.explanation(), field.prompt()),
            None => self.prompt(),
        }
    }

    /// Returns only the last line of the current question.
    pub fn prompt(&self) -> String {
        match self.fields.get(self.at) {
            Some(field) => field.prompt(),
            None => "Continue? (y/n): ".to_owned(),
        }
    }

    /// Handles a typed line; `None` is an end of input, which dismisses the question.
    pub fn take(&mut self, line: Option<&str>) -> Taken {
        let Some(line) = line else {
            return Taken::Done(dismissed());
        };
        let Some(field) = self.fields.get(self.at) else {
            return match line.trim().to_lowercase().as_str() {
                "y" | "yes" => Taken::Done(self.accepted()),
                "" | "n" | "no" => Taken::Done(dismissed()),
                _ => Taken::Again("Please answer y or n.".to_owned()),
            };
        };
        let answer = if line.trim().is_empty() {
            field.default.clone()
        } else {
            match field.check(line) {
                Ok(answer) => Some(answer),
                Err(why) => return Taken::Again(why),
            }
        };
        match answer {
            Some(answer) => {
                self.answers.insert(field.name.clone(), answer);
            }
            None if field.required => return Taken::Done(dismissed()),
            None => {}
        }
        self.at += 1;
        // A URL always requires consent, even after other answers.
        if self.at == self.fields.len() && self.url.is_none() {
            return Taken::Done(self.accepted());
        }
        Taken::Next
    }

    fn accepted(&mut self) -> Value {
        if self.url.is_some() {
            return json!({ "decision": "accept" });
        }
        json!({ "answers": std::mem::take(&mut self.answers) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Form, JsonText, Taken};

    fn read(schema: &str) -> anyhow::Result<Form> {
        let schema: JsonText = serde_json::from_str(schema).expect("it is JSON");
        Form::read("t", None, Some(&schema))
    }

    fn form(schema: &str) -> Form {
        read(schema).expect("it can be asked")
    }

    #[test]
    fn a_schema_with_half_of_a_pair_can_be_asked() {
        let mut form = form(r#"{"properties":{"a":{"type":"string","title":"x \ud83d"}}}"#);
        assert_eq!(form.question(), "x \u{fffd} (optional): ");
        assert_eq!(
            response(&mut form, &["2"]),
            Some(json!({ "answers": { "a": "2" } }))
        );
    }

    /// Returns the response to these lines, all of which must be valid.
    fn response(form: &mut Form, lines: &[&str]) -> Option<Value> {
        for line in lines {
            match form.take(Some(line)) {
                Taken::Next => {}
                Taken::Done(response) => return Some(response),
                Taken::Again(why) => panic!("{line:?}: {why}"),
            }
        }
        None
    }

    #[test]
    fn fields_come_in_the_agents_order() {
        let mut form = form(r#"{"properties":{"z":{"type":"string"},"a":{"type":"string"}}}"#);
        assert_eq!(form.question(), "z (optional): ");
        assert_eq!(response(&mut form, &["1"]), None);
        assert_eq!(form.question(), "a (optional): ");
        assert_eq!(
            response(&mut form, &["2"]),
            Some(json!({ "answers": { "a": "2", "z": "1" } }))
        );
    }

    #[test]
    fn an_empty_line_is_the_default_or_nothing_or_an_end() {
        let schema = r#"{"properties":{
            "d":{"type":"integer","default":7},"o":{"type":"string"},"r":{"type":"string"}},"required":["d","r"]}"#;
        assert_eq!(
            response(&mut form(schema), &["", "", "x"]),
            Some(json!({ "answers": { "d": 7, "r": "x" } }))
        );
        assert_eq!(
            response(&mut form(schema), &["", "", " "]),
            Some(json!({ "dismissed": true }))
        );
    }

    #[test]
    fn an_end_of_input_dismisses_whatever_is_asked() {
        for schema in [
            r#"{"properties":{"o":{"type":"string","default":"x"}}}"#,
            r#"{"properties":{}}"#,
        ] {
            let Taken::Done(response) = form(schema).take(None) else {
                panic!("it is over")
            };
            assert_eq!(response, json!({ "dismissed": true }));
        }
    }

    #[test]
    fn a_form_without_fields_is_agreed_to() {
        let mut empty = form(r#"{"type":"object"}"#);
        assert!(matches!(empty.take(Some("perhaps")), Taken::Again(_)));
        assert_eq!(response(&mut empty, &["Y"]), Some(json!({ "answers": {} })));
        let mut refused = form("{}");
        assert_eq!(response(&mut refused, &["n"]), Some(json!({ "dismissed": true })));
    }

    #[test]
    fn an_address_cannot_hide() {
        let url = "https://a.example/\u{1b}[2K\u{202e}";
        let mut form = Form::read("go", Some(url), None).expect("it can be asked");
        assert!(
            form.heading()
                .contains("\n  https://a.example/\u{fffd}[2K\u{fffd}\n")
        );
        assert_eq!(response(&mut form, &["y"]), Some(json!({ "decision": "accept" })));
    }

    #[test]
    fn unsupported_fields_are_left_out_or_fail() {
        let mut optional = form(r#"{"properties":{"o":{"type":"object"},"s":{"type":"string"}}}"#);
        assert_eq!(
            response(&mut optional, &["x"]),
            Some(json!({ "answers": { "s": "x" } }))
        );
        assert!(Form::read("neither schema nor url", None, None).is_err());
        for schema in [
            r#"{"properties":{"o":{"type":"object"}},"required":["o"]}"#,
            r#"{"properties":[]}"#,
            "5",
        ] {
            assert!(read(schema).is_err(), "{schema}");
        }
    }
}
