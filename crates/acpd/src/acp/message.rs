//! As much of a message as the pipe must know.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One JSON-RPC message; what stands in it is not read.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    /// Its id, as it was written.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    /// What it is about; a response has none.
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
}

/// The members of params and results that the pipe looks at.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Names {
    /// A session.
    pub session_id: Option<String>,
    /// Another request.
    pub request_id: Option<Box<RawValue>>,
}

impl<'a> Message<'a> {
    /// Reads one; `None` if it is none.
    pub fn read(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Its id, as a key.
    pub fn key(&self) -> Option<&'a str> {
        self.id.map(RawValue::get)
    }

    /// What its params name.
    pub fn named(&self) -> Names {
        names(self.params)
    }

    /// What its result names; `None` if it is an error.
    pub fn answered(&self) -> Option<Names> {
        self.result.map(|result| names(Some(result)))
    }

    /// Its params, read.
    pub fn params<T: Deserialize<'a>>(&self) -> Option<T> {
        serde_json::from_str(self.params?.get()).ok()
    }
}

fn names(from: Option<&RawValue>) -> Names {
    from.and_then(|from| serde_json::from_str(from.get()).ok())
        .unwrap_or_default()
}
