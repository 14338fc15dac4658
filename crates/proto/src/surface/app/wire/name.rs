//! Names on the wire, made from Rust's at compile time.

/// A name in camel case, in space for the name as Rust has it.
pub struct Camel<const SPACE: usize> {
    name: [u8; SPACE],
    length: usize,
}

impl<const SPACE: usize> Camel<SPACE> {
    /// Makes the name from that of a member or a variant: `item_id` and `ItemId` become `itemId`, `r#type` becomes `type`.
    pub const fn new(name: &str) -> Self {
        let from = name.as_bytes();
        let mut camel = Self {
            name: [0; SPACE],
            length: 0,
        };
        let mut at = if SPACE > 2 && from[1] == b'#' { 2 } else { 0 };
        while at < SPACE {
            if from[at] != b'_' {
                camel.name[camel.length] = if camel.length == 0 {
                    from[at].to_ascii_lowercase()
                } else if from[at - 1] == b'_' {
                    from[at].to_ascii_uppercase()
                } else {
                    from[at]
                };
                camel.length += 1;
            }
            at += 1;
        }
        camel
    }

    /// Returns the name.
    pub const fn text(&self) -> &str {
        match std::str::from_utf8(self.name.split_at(self.length).0) {
            Ok(text) => text,
            Err(_) => panic!("names are ASCII"),
        }
    }
}

#[test]
fn names_of_rust_become_camel_case() {
    assert_eq!(Camel::<7>::new("item_id").text(), "itemId");
    assert_eq!(Camel::<6>::new("ItemId").text(), "itemId");
    assert_eq!(Camel::<6>::new("r#type").text(), "type");
    assert_eq!(Camel::<2>::new("ts").text(), "ts");
}
