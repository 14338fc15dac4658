//! Shell builtins that run or evaluate text, or change the meaning of later commands.
//!
//! In: the words of a command. Out: why the command cannot be analyzed.

use super::shell::{Assignment, Why, Word, is_name};
use super::variables::{is_harmless, is_harmless_in_line};

/// Builtins that run text, or change the meaning of later commands.
const OPAQUE: [&str; 15] = [
    "eval", "source", ".", "alias", "unalias", "trap", "hash", "enable", "bind", "fc", "emulate", "autoload",
    "zmodload", "setopt", "let",
];
const RUNS_TEXT: Why = "runs text as a command, or changes what commands mean";
const EVALUATES: Why = "has a shell evaluate text, which may run a command";
const SETS: Why = "sets a variable that may change what a command does";

/// Returns why the builtin `name` with `args` cannot be analyzed. Returns `None` if it can, or if `name` is a program.
pub fn unreadable(name: &str, args: &[Word]) -> Option<Why> {
    match name {
        _ if OPAQUE.contains(&name) => Some(RUNS_TEXT),
        "printf" => {
            let sets = |word: &Word| word.dynamic || word.text.starts_with("-v");
            args.first().is_some_and(sets).then_some(RUNS_TEXT)
        }
        "test" | "[" => tests_variable(args).then_some(EVALUATES),
        // Only the last job's number is certain to expand to nothing else.
        "wait" => {
            let known = |word: &Word| word.is_plain() && !word.text.starts_with('-') || word.text == "$!";
            (!args.iter().all(known)).then_some(EVALUATES)
        }
        "export" | "declare" | "typeset" => args.iter().find_map(|word| unknown(word, is_harmless)),
        "unset" | "read" | "mapfile" | "readarray" | "getopts" | "local" | "readonly" => {
            args.iter().find_map(|word| unknown(word, is_harmless_in_line))
        }
        _ => None,
    }
}

/// Returns whether a `test` checks a variable by name. The shell then evaluates the index of an array.
fn tests_variable(args: &[Word]) -> bool {
    let is_number = |word: &Word| matches!(word.text.as_str(), "$#" | "$?" | "$$" | "$!");
    let behind = args.iter().skip(1).map(Some).chain([None]);
    args.iter().zip(behind).any(|(word, behind)| {
        if word.dynamic {
            let named = |word: &Word| word.dynamic || word.text.contains('[');
            // The expansion may be the option, and the word after it the name.
            (word.splits && !is_number(word)) || (!is_number(word) && behind.is_some_and(named))
        } else {
            matches!(word.text.as_str(), "-v" | "-R")
                && behind.is_some_and(|name| name.dynamic || !is_name(&name.text))
        }
    })
}

/// Returns why a word of a command that sets variables cannot be analyzed: an option, an element of an array, or a
/// variable that affects programs.
fn unknown(word: &Word, is_harmless: fn(&Assignment) -> bool) -> Option<Why> {
    if word.dynamic || word.text.contains('[') {
        return Some(EVALUATES);
    }
    if matches!(word.text.as_str(), "-r" | "-x" | "--") {
        return None;
    }
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    (!is_harmless(&Assignment::fixed(name, value))).then_some(SETS)
}
