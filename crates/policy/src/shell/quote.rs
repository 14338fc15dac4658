//! Quotes words for a shell.

use std::borrow::Cow;

use super::word::is_text;

/// Returns `word`, quoted if a shell would interpret it differently, or if it would look like two words. As a word of a
/// rule's pattern it matches only itself.
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c == '=' || is_text(c);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.into();
    }
    // In one shell, a backslash keeps a quote from ending behind it.
    let part = |part: &str| {
        let backslashes = part.len() - part.trim_end_matches('\\').len();
        match part.strip_suffix('\\').filter(|_| backslashes % 2 == 1) {
            Some(rest) => format!(r"'{rest}'\\"),
            None => format!("'{part}'"),
        }
    };
    word.split('\'').map(part).collect::<Vec<_>>().join(r"\'").into()
}

/// Returns a command with its arguments, as a user would type it. A command without arguments is returned unchanged,
/// since it may be a whole command line.
pub fn shell_line<'a>(command: &'a str, args: impl IntoIterator<Item = &'a str>) -> String {
    let mut args = args.into_iter().peekable();
    if args.peek().is_none() {
        return command.to_owned();
    }
    let words: Vec<_> = std::iter::once(command).chain(args).map(quoted).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Found, read};
    use super::*;

    #[test]
    fn words_that_a_shell_would_change_are_quoted() {
        for (words, line) in [
            (&["ls", "-la", "/tmp/é.rs"][..], "ls -la /tmp/é.rs"),
            (
                &["/bin/bash", "-c", "cd 'work' && ls"],
                r"/bin/bash -c 'cd '\''work'\'' && ls'",
            ),
            (&["echo", "", "~", "a*", "$x", "#"], "echo '' '~' 'a*' '$x' '#'"),
            (&["my prog", "a\u{a0}b"], "'my prog' 'a\u{a0}b'"),
            (&["ls -la | wc"], "ls -la | wc"),
            (
                &["echo", r"a\", r"\\", r"\'", "=x"],
                r"echo 'a'\\ '\\' ''\\\''' '=x'",
            ),
        ] {
            assert_eq!(shell_line(words[0], words[1..].iter().copied()), line);
        }
    }

    proptest! {
        #[test]
        fn a_shell_reads_the_same_words(args in prop::collection::vec("\\PC{0,8}|[ -~\n]{0,8}", 1..5)) {
            let line = shell_line("prog", args.iter().map(String::as_str));
            let (found, result) = read(&line, 0);
            prop_assert_eq!(result, Ok(()));
            let [Found::Command(simple)] = &found[..] else {
                return Err(TestCaseError::fail(format!("{line:?}: {found:?}")));
            };
            let words: Vec<_> = simple.words.iter().map(|word| word.text.as_str()).collect();
            prop_assert_eq!(words[0], "prog");
            prop_assert_eq!(&words[1..], &args[..]);
            prop_assert!(simple.words.iter().all(|word| !word.dynamic));
        }
    }
}
