//! The builtins of shells, and the arguments with which they only do what they are known for.
//!
//! In: the words of a command. Out: why the command cannot be analyzed. A builtin of any shell is accepted only with the
//! arguments that are listed here. The others run or evaluate text, or change the meaning of later commands. Several
//! shells evaluate a number as arithmetic, in which the index of an array (`a[$(…)]`) runs commands. So where a builtin
//! takes a number, only digits are accepted.

use super::shell::{Assignment, Why, Word, is_name};
use super::variables::{is_harmless, is_harmless_in_line};
use super::wrapper::SHELL_OPTIONS;

/// Builtins of bash, dash, zsh, mksh, ksh93, busybox and yash that are never accepted. A name that is neither here nor
/// below is a program, or a builtin that does the same as a program.
const OPAQUE: &str = "\
     . - alias alarm array autoload bg bind bindkey bool builtin bye caller cap clone comparguments compcall \
     compctl compdescribe compfiles compgen compgroups complete compopt compound compquote comptags comptry \
     compvalues declare disable disown echotc echoti emulate enable enum eval fc fg float functions getcap \
     getln getopts global hash hist history integer let limit local login logout mapfile nameref newgrp noglob \
     nocorrect print private pushln r readarray readonly redirect rehash sched setcap setopt shopt source stop \
     suspend sysopen sysread sysseek syswrite times trap ttyctl typeset unalias unfunction unhash unlimit \
     unsetopt vared whence where zcompile zcurses zdelattr zformat zftp zgetattr zle zlistattr zmodload \
     zparseopts zprof zpty zregexparse zselect zsetattr zsocket zstyle zsystem ztcp";
const RUNS_TEXT: Why = "runs text as a command, or changes what commands mean";
const EVALUATES: Why = "has a shell evaluate text, which may run a command";
const SETS: Why = "sets a variable that may change what a command does";

/// Returns why the builtin `name` with `args` cannot be analyzed. Returns `None` if it can, or if `name` is a program.
pub fn unreadable(name: &str, args: &[Word]) -> Option<Why> {
    let unless = |accepted: bool, why| (!accepted).then_some(why);
    match name {
        "set" => unless(sets_options(args), RUNS_TEXT),
        _ if OPAQUE.split(' ').any(|builtin| builtin == name) => Some(RUNS_TEXT),
        "printf" => unless(prints(args), EVALUATES),
        "test" => unless(condition(args), EVALUATES),
        "[" => match args.split_last() {
            Some((last, args)) if last.text == "]" && condition(args) => None,
            _ => Some(EVALUATES),
        },
        "exit" | "return" | "break" | "continue" | "shift" => unless(
            args.iter().all(|word| is_number(word) || word.text == "$?"),
            EVALUATES,
        ),
        "umask" => unless(args.iter().all(is_number), EVALUATES),
        "ulimit" => {
            let known = |word: &Word| is_number(word) || is_letter_option(word) || word.text == "unlimited";
            unless(args.iter().all(known), EVALUATES)
        }
        "jobs" => unless(
            args.iter().all(|word| matches!(word.text.as_str(), "-l" | "-p")),
            RUNS_TEXT,
        ),
        "wait" | "kill" => {
            let is_option = |word: &Word| name == "wait" && word.text.starts_with('-');
            let known = |word: &Word| word.text == "$!" || (word.is_plain() && !is_option(word));
            unless(args.iter().all(known), EVALUATES)
        }
        "export" => args.iter().find_map(|word| unknown(word, is_harmless)),
        "read" | "unset" => args.iter().find_map(|word| unknown(word, is_harmless_in_line)),
        _ => None,
    }
}

fn is_number(word: &Word) -> bool {
    !word.dynamic && !word.text.is_empty() && word.text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_letter_option(word: &Word) -> bool {
    matches!(word.text.as_bytes(), [b'-', letter] if !word.dynamic && letter.is_ascii_alphabetic())
}

/// Returns whether `set` has only options that change nothing but when a script ends, and what it prints.
fn sets_options(args: &[Word]) -> bool {
    let mut args = args.iter();
    let mut any = false;
    while let Some(word) = args.next() {
        any = true;
        let Some(letters) = word.text.strip_prefix(['-', '+']).filter(|_| !word.dynamic) else {
            return false;
        };
        let flags = letters.strip_suffix('o').unwrap_or(letters);
        let is_known = !letters.is_empty() && flags.chars().all(|letter| "eux".contains(letter));
        let names = |name: &Word| !name.dynamic && SHELL_OPTIONS.contains(&name.text.as_str());
        if !is_known || (letters.ends_with('o') && !args.next().is_some_and(names)) {
            return false;
        }
    }
    any
}

/// Returns whether `printf` has a known format. For a number, some shells evaluate the argument, and `%n` sets a
/// variable.
fn prints(args: &[Word]) -> bool {
    let Some((format, args)) = args.split_first() else {
        return true;
    };
    // One shell replaces escapes before it reads the format.
    let known = [r"\\", r"\n", r"\t", r"\r"].iter();
    let has_escapes = known
        .fold(format.text.clone(), |text, known| text.replace(known, ""))
        .contains('\\');
    if format.dynamic || format.text.starts_with('-') || has_escapes {
        return false;
    }
    // For each argument, whether it is a number.
    let mut takes = Vec::new();
    let mut pieces = format.text.split('%').skip(1);
    while let Some(piece) = pieces.next() {
        let conversion = piece.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ .".contains(c));
        match conversion.chars().next() {
            Some('s' | 'b' | 'q' | 'c') => takes.push(false),
            Some('d' | 'i' | 'u' | 'x' | 'X' | 'o' | 'f') => takes.push(true),
            // `%%`: the next piece begins with text.
            None if piece.is_empty() && pieces.next().is_some() => {}
            _ => return false,
        }
    }
    let is_fixed = !takes.contains(&true) || !args.iter().any(|word| word.splits);
    is_fixed
        && args
            .iter()
            .zip(takes.iter().cycle())
            .all(|(word, number)| !number || is_number(word))
}

/// Checks of `test` for one word.
const UNARY: [&str; 21] = [
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-O", "-G", "-p", "-r", "-s", "-S", "-u",
    "-w", "-x", "-z", "-N",
];
/// Comparisons of texts and files.
const TEXTS: [&str; 6] = ["=", "==", "!=", "-nt", "-ot", "-ef"];
/// Comparisons of numbers.
const NUMBERS: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Returns whether the words of `test` are one known check of known form, or its opposite. Expansions may be operands, if
/// each is one word, and the check compares no numbers.
fn condition(words: &[Word]) -> bool {
    let is = |word: &Word, operators: &[&str]| !word.dynamic && operators.contains(&word.text.as_str());
    let one = |word: &Word| !word.splits;
    let number = |word: &Word| is_number(word) || matches!(word.text.as_str(), "$#" | "$?" | "$$" | "$!");
    match words {
        [not, rest @ ..] if is(not, &["!"]) && !rest.first().is_some_and(|next| is(next, &["!"])) => {
            condition(rest)
        }
        [] => true,
        [operand] => one(operand),
        [operator, operand] if is(operator, &["-v"]) => !operand.dynamic && is_name(&operand.text),
        [operator, operand] => is(operator, &UNARY) && one(operand),
        [left, operator, right] if is(operator, &NUMBERS) => number(left) && number(right),
        [left, operator, right] => is(operator, &TEXTS) && one(left) && one(right),
        _ => false,
    }
}

/// Returns why a word of a command that sets variables cannot be analyzed: an option, an element of an array, or a
/// variable that affects programs.
fn unknown(word: &Word, is_harmless: fn(&Assignment) -> bool) -> Option<Why> {
    if word.dynamic || word.text.contains('[') {
        return Some(EVALUATES);
    }
    if word.text == "-r" {
        return None;
    }
    let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
    (!is_harmless(&Assignment::fixed(name, value))).then_some(SETS)
}
