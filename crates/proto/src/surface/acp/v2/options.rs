//! The options of a session in the form of version 2. Modes and models are options there.

use acpd_model::{RawJson, json};

use crate::wire::{decoded, has_string, member, members, object};

/// Returns options of version 1 in the form of version 2, without those that have no id or no name.
pub(in crate::surface::acp) fn options(list: &[RawJson]) -> Vec<RawJson> {
    let named = list
        .iter()
        .filter(|option| has_string(option, "id") && has_string(option, "name"));
    named.map(option).collect()
}

fn option(option: &RawJson) -> RawJson {
    object(|out| {
        members(option, |key, value| match &*decoded(key) {
            "id" => {
                out.raw("configId", value);
            }
            "options" => {
                out.list("options", &choices(value));
            }
            _ if value == "null" => {}
            _ => {
                out.raw(key, value);
            }
        });
    })
}

/// Returns the values of an option, some of which may be groups of values.
fn choices(list: &str) -> Vec<RawJson> {
    let list: Vec<RawJson> = json::read(list).unwrap_or_default();
    let choices = list.iter().map(|choice| {
        if member(choice, "group").is_none() {
            return choice.clone();
        }
        object(|out| {
            members(choice, |key, value| {
                let key = if decoded(key) == "group" { "groupId" } else { key };
                out.raw(key, value);
            });
        })
    });
    choices.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn ids_have_the_names_of_version_2() {
        let own = json!([
            { "id": "m", "name": "M", "description": null, "type": "select", "currentValue": "a",
              "options": [{ "group": "g", "name": "G", "options": [{ "value": "a", "name": "A" }] }] },
            { "id": "b", "name": "B", "type": "boolean", "currentValue": true },
            { "name": "without an id" },
            7,
        ]);
        let list: Vec<RawJson> = own.as_array().unwrap().iter().map(RawJson::from).collect();
        let translated: Vec<Value> = options(&list)
            .iter()
            .map(|option| option.read().unwrap())
            .collect();
        assert_eq!(
            json!(translated),
            json!([
                { "configId": "m", "name": "M", "type": "select", "currentValue": "a",
                  "options": [{ "groupId": "g", "name": "G", "options": [{ "value": "a", "name": "A" }] }] },
                { "configId": "b", "name": "B", "type": "boolean", "currentValue": true },
            ])
        );
    }
}
