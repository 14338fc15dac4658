//! What an agent prints while a user signs in to it: the address to open, and the code to enter there. In a terminal of its own
//! the user would see it.
use acpd_model::text::shorten;

use crate::wire::without_sequences;

/// Lines with addresses and codes that an agent may show a user during one sign-in.
const SIGN_IN_LINES: usize = 16;
/// Characters of a line that are shown at most. Addresses have some hundred.
const LINE_CHARS: usize = 2000;

/// Maximum size of a line whose end is still to come, in bytes.
const BEGUN_BYTES: usize = 4 * LINE_CHARS;

/// Reads what an agent prints on stderr during a sign-in.
#[derive(Debug, Default)]
pub struct SignInOutput {
    /// The beginning of a line.
    begun: String,
    /// The lines that were returned.
    known: Vec<String>,
}

impl SignInOutput {
    /// Adds text. Returns the lines that a user needs, each once.
    pub fn push(&mut self, text: &str) -> Vec<String> {
        self.begun.push_str(text);
        let ended = self.begun.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let rest = self.begun.split_off(ended);
        let whole = std::mem::replace(&mut self.begun, rest);
        if self.begun.len() > BEGUN_BYTES {
            self.begun.clear();
        }
        self.needed(&whole)
    }

    /// Returns the line that has begun, if a user needs it: the agent has stopped in it, and waits.
    pub fn pause(&mut self) -> Vec<String> {
        let begun = self.begun.clone();
        self.needed(&begun)
    }

    fn needed(&mut self, text: &str) -> Vec<String> {
        let mut needed = Vec::new();
        for line in text.split(['\n', '\r']) {
            let line = without_sequences(line);
            let line = line.trim();
            let is_known = self.known.iter().any(|known| known == line);
            if is_needed(line) && !is_known && self.known.len() < SIGN_IN_LINES {
                self.known.push(line.to_owned());
                needed.push(shorten(line, LINE_CHARS));
            }
        }
        needed
    }
}

/// Returns whether a line has an address, or a code to enter.
fn is_needed(line: &str) -> bool {
    if line.contains("https://") || line.contains("http://") {
        return true;
    }
    let mut words = line.split_whitespace();
    let says_code = line.to_lowercase().contains("code");
    if says_code {
        return words.any(|word| is_code(word.trim_matches(|c: char| !c.is_ascii_alphanumeric())));
    }
    // A code on a line of its own.
    words.next().is_some_and(is_code) && words.next().is_none()
}

/// Returns whether a word looks like a code that a person enters, such as `WDJB-MJHT` or `123456`.
fn is_code(word: &str) -> bool {
    let is_part = |part: &str| {
        part.len() >= 3
            && part
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    (6..=20).contains(&word.len()) && word.split('-').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_codes_are_reported() {
        let mut output = SignInOutput::default();
        let text = "DEBUG starting\n\u{1b}[1mOpen https://a.example/device?x=1\u{1b}[0m\r\nand enter the code: WDJB-MJHT.\nwait";
        assert_eq!(
            output.push(text),
            [
                "Open https://a.example/device?x=1",
                "and enter the code: WDJB-MJHT."
            ]
        );
        assert_eq!(
            output.push("ing\n  123456\nexit code 1\nerror code E1\nHTTP 200\nABCDEF GHI\n"),
            ["123456"]
        );
        // Spinners repeat it.
        assert_eq!(output.push("Open https://a.example/device?x=1\n"), [""; 0]);
    }

    #[test]
    fn an_unfinished_line_is_reported_once_the_agent_waits() {
        let mut output = SignInOutput::default();
        assert_eq!(output.push("Paste the code from https://a.exam"), [""; 0]);
        assert_eq!(output.push("ple here: "), [""; 0]);
        assert_eq!(output.pause(), ["Paste the code from https://a.example here:"]);
        assert_eq!(output.pause(), [""; 0]);
        // It had only paused.
        assert_eq!(
            output.push("now\n"),
            ["Paste the code from https://a.example here: now"]
        );
    }

    #[test]
    fn a_spinner_and_colours_do_not_hide_an_address() {
        let mut output = SignInOutput::default();
        let frames: String = (0..9999).map(|n| format!("\r{} waiting", n % 8)).collect();
        assert_eq!(output.push(&frames), [""; 0]);
        let line = "\r{\"msg\": \"\u{1b}[1mhttps://a.example/device\u{1b}[0m\r";
        assert_eq!(output.push(line), ["{\"msg\": \"https://a.example/device"]);
        output.push(&"x".repeat(10 * BEGUN_BYTES));
        assert!(output.begun.len() <= BEGUN_BYTES);
    }

    #[test]
    fn an_agent_that_prints_for_ever_is_cut_off() {
        let mut output = SignInOutput::default();
        let lines: String = (0..1000).map(|n| format!("http://a.example/{n}\n")).collect();
        assert_eq!(output.push(&lines).len(), SIGN_IN_LINES);
        assert_eq!(output.push("http://a.example/more\n"), [""; 0]);
    }
}
