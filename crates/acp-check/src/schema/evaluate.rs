//! An evaluator of the JSON Schema keywords that ACP's schemas have, with errors that name one member.
//!
//! The tests hold its verdicts against the `jsonschema` crate, which is too large for a program that needs these keywords alone.
//!
//! A value that may have several forms is read by its discriminator, such as `type`: the error is that of the form that it claims to be.

use serde_json::{Map, Value};

use super::fault::Fault;

/// Most constants that an error lists.
const LISTED: usize = 12;

/// Checks a value; returns the first fault.
pub(super) fn check(defs: &Map<String, Value>, schema: &Value, value: &Value) -> Result<(), Fault> {
    let Some(rules) = schema.as_object() else {
        // "false" permits nothing.
        return match schema {
            Value::Bool(false) => Err(Fault::new("no such member", value)),
            _ => Ok(()),
        };
    };
    // A wrong type explains all other faults.
    if let Some(types) = rules.get("type") {
        check_type(types, value)?;
    }
    for (keyword, rule) in rules {
        check_keyword(defs, rules, keyword, rule, value)?;
    }
    Ok(())
}

fn check_keyword(
    defs: &Map<String, Value>,
    rules: &Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> Result<(), Fault> {
    let wrong = |is_wrong: bool, expected: &dyn Fn() -> String| {
        if is_wrong {
            Err(Fault::new(expected(), value))
        } else {
            Ok(())
        }
    };
    match keyword {
        "$ref" => check(defs, resolve(defs, rule), value),
        "const" => wrong(!is_equal(rule, value), &|| rule.to_string()),
        "enum" => {
            let known = rule.as_array().map(Vec::as_slice).unwrap_or_default();
            wrong(!known.iter().any(|known| is_equal(known, value)), &|| {
                one_of(known.iter())
            })
        }
        "not" => wrong(check(defs, rule, value).is_ok(), &|| {
            "another form of it".to_owned()
        }),
        "anyOf" | "oneOf" => {
            let branches = rule.as_array().map(Vec::as_slice).unwrap_or_default();
            check_branches(defs, branches, keyword == "oneOf", value)
        }
        "minimum" => wrong(is_ordered(value, rule, |value, least| value < least), &|| {
            format!("at least {rule}")
        }),
        "maximum" => wrong(is_ordered(value, rule, |value, most| value > most), &|| {
            format!("at most {rule}")
        }),
        "minLength" => wrong(
            characters(value).is_some_and(|count| count < number(rule)),
            &|| format!("at least {rule} characters"),
        ),
        "maxLength" => wrong(
            characters(value).is_some_and(|count| count > number(rule)),
            &|| format!("at most {rule} characters"),
        ),
        "minItems" => {
            let count = value.as_array().map(|items| items.len() as u64);
            wrong(count.is_some_and(|count| count < number(rule)), &|| {
                format!("at least {rule} items")
            })
        }
        "items" => {
            for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                check(defs, rule, item).map_err(|fault| fault.within(format!("[{at}]")))?;
            }
            Ok(())
        }
        _ => check_members(defs, rules, keyword, rule, value),
    }
}

/// Checks a keyword about the members of objects.
fn check_members(
    defs: &Map<String, Value>,
    rules: &Map<String, Value>,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> Result<(), Fault> {
    let Some(members) = value.as_object() else {
        return Ok(());
    };
    let properties = rules.get("properties").and_then(Value::as_object);
    match keyword {
        "required" => {
            let mut names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
            match names.find(|name| !members.contains_key(*name)) {
                Some(name) => Err(Fault::missing(name)),
                None => Ok(()),
            }
        }
        "properties" => {
            for (name, schema) in properties.into_iter().flatten() {
                if let Some(member) = members.get(name) {
                    check(defs, schema, member).map_err(|fault| fault.within(name.as_str()))?;
                }
            }
            Ok(())
        }
        "additionalProperties" => {
            let is_known = |name: &String| properties.is_some_and(|known| known.contains_key(name));
            for (name, member) in members.iter().filter(|(name, _)| !is_known(name)) {
                check(defs, rule, member).map_err(|fault| fault.within(name.as_str()))?;
            }
            Ok(())
        }
        "propertyNames" => {
            for name in members.keys() {
                check(defs, rule, &Value::String(name.clone())).map_err(|_| {
                    Fault::new("an object without this member", &members[name]).within(name.as_str())
                })?;
            }
            Ok(())
        }
        // The build fails on keywords that are not listed.
        _ => Ok(()),
    }
}

/// Checks that a value has one of several forms; exactly one if `is_one`.
fn check_branches(
    defs: &Map<String, Value>,
    branches: &[Value],
    is_one: bool,
    value: &Value,
) -> Result<(), Fault> {
    let mut faults = Vec::new();
    let mut fitting = 0;
    for branch in branches {
        match check(defs, branch, value) {
            Ok(()) if !is_one => return Ok(()),
            Ok(()) => fitting += 1,
            Err(fault) => faults.push((branch, fault)),
        }
    }
    match fitting {
        1 => Ok(()),
        0 => Err(likely(defs, faults, value)),
        _ => Err(Fault::new("exactly one form", value)),
    }
}

/// Returns the fault that explains best why a value has none of these forms.
fn likely(defs: &Map<String, Value>, faults: Vec<(&Value, Fault)>, value: &Value) -> Fault {
    let constants: Vec<&Value> = faults
        .iter()
        .filter_map(|(branch, _)| branch.get("const"))
        .collect();
    let is_null = |branch: &Value| branch.get("type").and_then(Value::as_str) == Some("null");
    if !constants.is_empty()
        && faults
            .iter()
            .all(|(branch, _)| branch.get("const").is_some() || is_null(branch))
    {
        return Fault::new(one_of(constants.into_iter()), value);
    }
    let claimed = |branch: &Value| {
        let mut tags = tags(branch).peekable();
        tags.peek().is_some()
            && tags.all(|(name, constant)| value.get(name).is_some_and(|member| is_equal(constant, member)))
    };
    if let Some(at) = faults.iter().position(|(branch, _)| claimed(branch)) {
        return faults
            .into_iter()
            .nth(at)
            .map_or_else(|| Fault::new("a known form", value), |(_, fault)| fault);
    }
    // No form that it claims: the discriminator is wrong, unless some form has none.
    let tagged: Vec<(&str, &Value)> = faults
        .iter()
        .filter_map(|(branch, _)| tags(branch).next())
        .collect();
    if let Some((name, _)) = tagged.first().copied()
        && tagged.len() == faults.len()
        && let Some(members) = value.as_object()
    {
        return match members.get(name) {
            Some(found) => {
                Fault::new(one_of(tagged.iter().map(|(_, constant)| *constant)), found).within(name)
            }
            None => Fault::missing(name),
        };
    }
    let fits = |branch: &Value| takes(defs, branch, value);
    let closest = faults
        .iter()
        .filter(|(branch, _)| fits(branch))
        .max_by_key(|(_, fault)| fault.depth());
    match closest {
        Some((_, fault)) => fault.clone(),
        None => Fault::new("another type", value),
    }
}

/// Returns the members that a form must have with one constant value.
fn tags(branch: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = branch.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| Some((name.as_str(), schema.get("const")?)))
}

/// Returns whether a form is of this value's type.
fn takes(defs: &Map<String, Value>, branch: &Value, value: &Value) -> bool {
    let named = branch
        .get("$ref")
        .map(|name| resolve(defs, name))
        .is_none_or(|schema| takes(defs, schema, value));
    named
        && branch
            .get("type")
            .is_none_or(|types| check_type(types, value).is_ok())
}

fn resolve<'a>(defs: &'a Map<String, Value>, reference: &Value) -> &'a Value {
    static NOTHING: Value = Value::Bool(false);
    let name = reference.as_str().and_then(|name| name.strip_prefix("#/$defs/"));
    name.and_then(|name| defs.get(name)).unwrap_or(&NOTHING)
}

fn check_type(types: &Value, value: &Value) -> Result<(), Fault> {
    let is = |name: &Value| match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(is_whole),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    let fits = match types {
        Value::Array(types) => types.iter().any(is),
        one => is(one),
    };
    if fits {
        return Ok(());
    }
    let words = match types {
        Value::Array(types) => types
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        one => one.as_str().unwrap_or_default().to_owned(),
    };
    Err(Fault::new(words, value))
}

/// Returns whether JSON Schema counts a number as an integer: 1.0 is one.
fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Returns whether two values are equal. Numbers are by what they count, not by how they are written.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

fn is_ordered(value: &Value, limit: &Value, is_beyond: fn(f64, f64) -> bool) -> bool {
    match (value.as_f64(), limit.as_f64()) {
        (Some(value), Some(limit)) => is_beyond(value, limit),
        _ => false,
    }
}

fn number(rule: &Value) -> u64 {
    rule.as_u64().unwrap_or_default()
}

fn characters(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn one_of<'a>(known: impl Iterator<Item = &'a Value>) -> String {
    let mut words: Vec<String> = known.map(Value::to_string).collect();
    if words.len() > LISTED {
        words.truncate(LISTED);
        words.push("…".to_owned());
    }
    format!("one of {}", words.join(", "))
}
