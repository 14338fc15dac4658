//! JSON whose text matters.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A JSON value as the text that the daemon sent. Other than in [`serde_json::Value`], members keep their order, which is the
/// order of the fields in the schema of a form.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Returns the text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the value. Parts that no type can hold, such as halves of surrogate pairs, are replaced, as in all messages.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        crate::json::read(&self.0)
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::JsonText;
    use crate::protocol::Notification;

    #[test]
    fn parts_that_no_type_can_hold_are_replaced() {
        let text: JsonText =
            serde_json::from_str(r#"{"half":"a \ud83d b","big":1e999}"#).expect("it is JSON");
        let value: Value = text.read().expect("it can be read");
        assert_eq!(
            value,
            serde_json::json!({ "half": "a \u{fffd} b", "big": "1e999" })
        );
    }

    #[test]
    fn the_fields_of_a_form_keep_the_order_of_the_agent() {
        let schema = r#"{"properties":{"z":{"type":"string"},"a":{"type":"string"}}}"#;
        let params = format!(
            r#"{{"threadId":"t","seq":1,"ts":0,"requestId":"r","title":"?","mode":"form","schema":{schema}}}"#
        );
        let params = serde_json::from_str(&params).expect("it is JSON");
        let Notification::ItemToolRequestUserInput(wanted) =
            Notification::read("item/tool/requestUserInput", params)
        else {
            panic!("it is a question");
        };
        assert_eq!(wanted.schema.as_ref().map(JsonText::get), Some(schema));
        let written = serde_json::to_string(&wanted).expect("it can be written");
        assert!(written.contains(schema), "{written}");
    }
}
