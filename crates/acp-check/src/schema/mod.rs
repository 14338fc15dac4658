//! The JSON schemas of ACP, and which definition each message must fit.
//!
//! In: messages. Out: the first fault of each. Owns: the definitions of one version. Never: knows what was sent before.

mod evaluate;
mod fault;

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::ZlibDecoder;
use serde_json::{Map, Value};

pub use self::fault::Fault;
use crate::version::Version;

static V1: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/v1"));
static V2: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/v2"));

/// The shape of a message, apart from its method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// The params of a request.
    Request,
    /// The params of a notification.
    Notification,
    /// The result of a response.
    Response,
}

/// The side that has a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The client calls it.
    Agent,
    /// The agent calls it.
    Client,
}

/// The schema of one version.
#[derive(Debug)]
pub struct Schema {
    definitions: Map<String, Value>,
    names: BTreeMap<(Side, Shape, String), String>,
}

impl Schema {
    /// Unpacks the schema of a version.
    pub fn of(version: Version) -> Self {
        let mut text = Vec::new();
        let packed = match version {
            Version::One => V1,
            Version::Two => V2,
        };
        // Both are made by the build script.
        let read = ZlibDecoder::new(packed).read_to_end(&mut text);
        let definitions: Map<String, Value> = read
            .ok()
            .and_then(|_| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let mut names = BTreeMap::new();
        for (name, definition) in &definitions {
            let word = |key: &str| definition.get(key).and_then(Value::as_str);
            let (Some(method), Some(side)) = (word("x-method"), word("x-side")) else {
                continue;
            };
            let shape = match name {
                name if name.ends_with("Request") => Shape::Request,
                name if name.ends_with("Notification") => Shape::Notification,
                _ => Shape::Response,
            };
            let sides: &[Side] = match side {
                "agent" => &[Side::Agent],
                "client" => &[Side::Client],
                _ => &[Side::Agent, Side::Client],
            };
            for side in sides {
                names.insert((*side, shape, method.to_owned()), name.clone());
            }
        }
        Self { definitions, names }
    }

    /// Returns whether this side has such a method.
    pub fn has(&self, side: Side, shape: Shape, method: &str) -> bool {
        self.names.contains_key(&(side, shape, method.to_owned()))
    }

    /// Returns the definitions, by their names.
    pub fn definitions(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    /// Checks the params or the result of a message. Methods that the schema does not have, such as extensions, have no faults.
    pub fn check(&self, side: Side, shape: Shape, method: &str, value: &Value) -> Result<(), Fault> {
        match self.names.get(&(side, shape, method.to_owned())) {
            Some(name) => self.check_as(name, value),
            None => Ok(()),
        }
    }

    /// Checks the `error` member of a response.
    pub fn check_error(&self, error: &Value) -> Result<(), Fault> {
        self.check_as("Error", error)
    }

    /// Checks a value against the definition with this name.
    pub fn check_as(&self, name: &str, value: &Value) -> Result<(), Fault> {
        match self.definitions.get(name) {
            Some(definition) => evaluate::check(&self.definitions, definition, value),
            None => Err(Fault::new(format!("a definition named {name}"), value)),
        }
    }
}
