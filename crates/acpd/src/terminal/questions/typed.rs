//! Questions as the typed client delivers them.
//!
//! In: questions in the types of the app protocol. Out: their text, their options and their form. Never: answers one.

use acpd_client::protocol::{Approval, InputWanted};
use serde::Serialize;
use serde_json::Value;

use super::choice::Choice;
use super::form::Form;
use super::with_options;

/// Returns the options of a permission request, in the agent's order.
pub fn choices(approval: &Approval) -> Vec<Choice> {
    Choice::read(&value(approval))
}

/// Returns the text of a permission request, with its options as the last lines.
pub fn text(approval: &Approval) -> String {
    let params = value(approval);
    with_options(&params, &Choice::read(&params))
}

/// Reads the form of a request for information. Fails if it cannot be shown.
pub fn form(wanted: &InputWanted) -> anyhow::Result<Form> {
    #[derive(Serialize)]
    struct Message<'a> {
        params: &'a InputWanted,
    }
    Form::read(&serde_json::to_string(&Message { params: wanted })?)
}

/// Describes a request for information that cannot be shown.
pub fn not_shown(why: &anyhow::Error) -> String {
    format!("The agent asks for information that acpd cannot show: {why:#}\n")
}

fn value(approval: &Approval) -> Value {
    // It was read from JSON, and can be written as such.
    serde_json::to_value(approval).unwrap_or_default()
}
