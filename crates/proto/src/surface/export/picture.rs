//! Pictures of messages and tool calls. What one is, its first bytes say, and never the agent: documents show only what browsers draw
//! without running anything.

use acpd_model::limits::EXPORT_PICTURE_BYTES;

/// A picture that a document can show.
#[derive(Debug)]
pub struct Picture {
    media_type: &'static str,
    /// The content in base64, without any other character.
    data: String,
}

impl Picture {
    /// Returns the picture with this content in base64. Returns the content if a document cannot show it.
    pub fn of(data: String) -> Result<Self, String> {
        if size_of(&data) > EXPORT_PICTURE_BYTES || !is_base64(&data) {
            return Err(data);
        }
        match head(&data).and_then(|head| media_type(&head)) {
            Some(media_type) => Ok(Self { media_type, data }),
            None => Err(data),
        }
    }

    /// Returns the size of the picture, in bytes.
    pub fn bytes(&self) -> usize {
        size_of(&self.data)
    }

    /// Returns the words in place of a picture that is not shown.
    pub fn label(&self) -> String {
        format!("image {}, {} bytes", self.media_type, self.bytes())
    }

    /// Returns the picture as a `data:` URL, which has no character that HTML escapes.
    pub fn url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.data)
    }
}

/// Returns the number of bytes of a content in base64, which may be invalid.
pub fn size_of(data: &str) -> usize {
    let letters = data.trim_end_matches('=').len();
    letters / 4 * 3 + letters % 4 * 3 / 4
}

fn is_base64(data: &str) -> bool {
    let content = data.trim_end_matches('=');
    data.len().is_multiple_of(4)
        && data.len() - content.len() <= 2
        && content
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Returns the first 12 bytes of a content in base64.
fn head(data: &str) -> Option<[u8; 12]> {
    let mut head = [0; 12];
    let (groups, _) = data.as_bytes().as_chunks::<4>();
    if groups.len() < 4 {
        return None;
    }
    for (bytes, group) in head.chunks_exact_mut(3).zip(groups) {
        let mut bits = 0_u32;
        for letter in group {
            bits = bits << 6 | u32::from(value(*letter)?);
        }
        bytes.copy_from_slice(&bits.to_be_bytes()[1..]);
    }
    Some(head)
}

/// Returns the value of a letter of base64.
fn value(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn media_type(head: &[u8; 12]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(data: &str) -> Option<(&'static str, usize)> {
        let picture = Picture::of(data.to_owned()).ok()?;
        Some((picture.media_type, picture.bytes()))
    }

    #[test]
    fn the_first_bytes_say_what_a_picture_is() {
        assert_eq!(found("iVBORw0KGgpyZXN0"), Some(("image/png", 12)));
        assert_eq!(found("/9j/4AAQSkZJRgABAQ=="), Some(("image/jpeg", 13)));
        assert_eq!(found("R0lGODlhAQABAIAAAA=="), Some(("image/gif", 13)));
        assert_eq!(found("R0lGODdhAQABAIAAAAA="), Some(("image/gif", 14)));
        assert_eq!(found("UklGRiQAAABXRUJQVlA4"), Some(("image/webp", 15)));
        // A sound in the same container, an SVG image, a PDF, and nothing.
        for other in [
            "UklGRiQAAABXQVZFVlA4",
            "PHN2ZyB4bWxucz0iaHR0cDov",
            "JVBERi0xLjcKMSAw",
            "iVBORw0KGgo=",
            "",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn invalid_base64_makes_no_picture() {
        for bad in [
            "iVBORw0KGgpyZXN0\"",
            "iVBORw0KGgpyZXN0\"><b",
            "iVBORw0KGgpyZXN0\n\n\n\n",
            "iVBORw0KGgpyZXN0a===",
            "iVBORw0KGgpyZXN0=AAA",
            "iVBORw0KGgpyZXN0-_-_",
            "iVBORw0KGgpyZXN0ab",
        ] {
            assert_eq!(found(bad), None, "{bad}");
        }
    }

    #[test]
    fn pictures_are_bounded() {
        let png = |groups: usize| format!("iVBORw0KGgpyZXN0{}", "AAAA".repeat(groups));
        let most = (EXPORT_PICTURE_BYTES - 12) / 3;
        assert!(found(&png(most)).is_some());
        assert_eq!(found(&png(most + 1)), None);
    }

    #[test]
    fn sizes_are_those_of_the_content() {
        for (data, bytes) in [
            ("", 0),
            ("AA==", 1),
            ("AAA=", 2),
            ("AAAA", 3),
            ("AAAAAA==", 4),
            ("AA", 1),
            ("====", 0),
        ] {
            assert_eq!(size_of(data), bytes, "{data}");
        }
    }
}
