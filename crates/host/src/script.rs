//! The first line of a script, which names its interpreter.
//!
//! In: a file. Out: the words behind `#!`. Never: runs anything.

use std::path::Path;

use crate::small::read_beginning;

/// The first bytes of a script, in which its interpreter is named.
const FIRST_LINE_BYTES: u64 = 512;

/// Returns the words of a script's first line, without `#!`; `None` if the file is not a script.
pub fn interpreter_words(script: &Path) -> Option<Vec<String>> {
    let begin = read_beginning(script, FIRST_LINE_BYTES).ok()?;
    let line = begin.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    let line = String::from_utf8_lossy(line);
    Some(line.split_whitespace().map(str::to_owned).collect())
}

/// Returns the interpreter among these words: the program, or the one that `env` runs.
pub fn interpreter_of(words: &[String]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    if !program.ends_with("/env") {
        return Some(program);
    }
    let mut named = rest
        .iter()
        .filter(|word| !word.starts_with('-') && !word.contains('='));
    named.next().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        for (text, expected) in [
            ("#!/usr/bin/env -S A=b python3 -u\nx", Some("python3")),
            ("#! /x/python3 -u\n", Some("/x/python3")),
            ("#!/bin/sh", Some("/bin/sh")),
            ("#!\n", None),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            std::fs::write(&path, text).unwrap();
            let words = interpreter_words(&path).unwrap_or_default();
            assert_eq!(interpreter_of(&words), expected, "{text}");
        }
    }
}
