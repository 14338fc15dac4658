//! The parts of a tool call that more than one reader looks at.

use serde_json::{Map, Value};

type Object = Map<String, Value>;

fn items<'a>(call: &'a Object, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    call.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// Returns the paths of a call's locations; `null` for a location without one.
pub(super) fn locations_of(call: &Object) -> impl Iterator<Item = &Value> {
    items(call, "locations").map(|location| &location["path"])
}

/// Returns the diffs that a call shows.
pub(super) fn diffs_of(call: &Object) -> impl Iterator<Item = &Value> {
    items(call, "content").filter(|content| content["type"] == "diff")
}
