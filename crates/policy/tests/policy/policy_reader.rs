//! Which command lines the reader accepts: those that all shells read alike. Everything else is asked about.

use acpd_policy::{Effect, Form, Layers, Request};
use serde_json::Value;

use crate::table::policy;

/// Returns whether `line` is readable: it is allowed where every command and every file is.
fn is_read(line: &str) -> bool {
    let policy = policy("allow Bash, allow Edit");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    layers.decide(&Request::command_line(line, "/w")).effect == Effect::Allow
}

/// Asserts that each line is asked about, whatever is allowed. `evil` stands for what some shell runs.
fn asks(lines: &[&str]) {
    let wrong: Vec<_> = lines.iter().filter(|line| is_read(line)).collect();
    assert!(wrong.is_empty(), "read: {wrong:#?}");
}

fn reads(lines: &[&str]) {
    let wrong: Vec<_> = lines.iter().filter(|line| !is_read(line)).collect();
    assert!(wrong.is_empty(), "not read: {wrong:#?}");
}

#[test]
fn policy_asks_about_here_documents_that_shells_end_differently() {
    asks(&[
        "echo $(echo <<'E'\nE)\nevil\nE\n)",
        "echo $(echo <<'E'\nE foo)\nevil\nE\n)",
        "echo <(echo <<'E'\nE)\nevil\nE\n)",
        "echo \"$(echo <<-'E'\n\tE)\nevil\n\tE\n)\"",
        "echo $(cat <<E\nEnd)\nevil\nE\n)",
        "echo `cat <<E\na\nE\n`",
        // An older bash counts quotes and parentheses of the body.
        "echo \"$(cat <<'E'\nit's )\" ; evil ; echo \"(\nE\n)\"",
        "echo \"$(cat <<'E'\n) ; evil ; echo (\nE\n)\"",
        "echo \"$(cat <<'E'\n# '\n) ; evil ; #'\nE\n)\"",
        "cat <<-'E' <<F\n\tE\n$(evil)\nF\n",
        "cat <<'E' \"\nE\n\" ; evil\nE\n",
        "cat <<E\\ F\na\nE F\n",
        "cat <<'E'F\na\nEF\n",
        "cat <<''\n\nevil\n",
    ]);
}

#[test]
fn policy_asks_about_options_that_shells_read_differently() {
    asks(&[
        "bash -kc 'ls LD_PRELOAD=./x.so'",
        "bash -k -c 'ls LD_PRELOAD=./x.so'",
        "bash -o keyword -c 'ls LD_PRELOAD=./x.so'",
        "ksh -ko errexit -c 'ls LD_PRELOAD=./x.so'",
        "set -k; ls LD_PRELOAD=./x.so",
        "set -o keyword; ls LD_PRELOAD=./x.so",
        "set -eo keyword; ls LD_PRELOAD=./x.so",
        "zsh -covi 'evil' 'echo hi'",
        "zsh -co vi 'evil' 'echo hi'",
        "sh -oc evil 'echo hi'",
        "sh -ec -o errexit 'echo hi'",
        "bash --init-file evil -ic 'echo hi'",
        "bash -ic 'echo hi'",
        "bash -Oextglob -c 'echo hi'",
        "bash +c 'echo hi'",
        "sh -c -- 'echo hi'",
        "zsh -fc 'echo hi'",
        "dash --login -c 'echo hi'",
        "env -S 'evil' ls",
        "env -i bash -c 'ls'",
        "env - bash -c 'ls'",
        "env -iv bash -c 'ls'",
        "env --ignore-environment ls",
        "env --ignore-env ls",
        "env -u PATH bash -c 'ls'",
        "env -uPATH bash -c 'ls'",
        "env -v -u CI -u PATH ls",
        "env --unset PATH bash -c 'ls'",
        "env --unset=PATH bash -c 'ls'",
        "env --uns=PATH bash -c 'ls'",
        "nice env -u HOME ls",
        "timeout --unknown 5 ls",
        "nice --adjustment-x 5 ls",
        "command -x ls",
        "exec -a x ls",
        "builtin ls",
        "stdbuf -x ls",
        "shopt -s extglob",
        "setopt extendedglob; ls",
        "emulate sh; ls",
    ]);
}

#[test]
fn policy_asks_about_orders_of_words_that_shells_read_differently() {
    asks(&[
        "{ echo hi } always { evil }",
        "{ echo hi; } always { evil; }",
        "if { echo hi } evil",
        "if (echo hi) evil",
        "if { echo hi; } { evil; }",
        "while { echo hi } { evil }",
        "while (echo hi) evil",
        "until { echo hi; } evil",
        "for x (a b) evil",
        "for x in a b; evil",
        "for x in a b; { evil; }",
        "for x; do echo; done",
        "repeat 2 evil",
        "foreach x (a b) evil; end",
        "echo hi }; evil",
        "echo { evil",
        "{echo hi}",
        "(echo hi) evil",
        "{ echo hi; } evil",
        "fi; echo",
        "then echo",
        "if echo; fi",
        "if echo; then fi",
        "while echo; done",
        "if echo; then echo; done",
        "! ! echo",
        "! time echo",
        "time { echo hi; }",
        "time v=1 echo",
        "echo; ; echo",
        "; echo",
        "echo &| evil",
        "echo &! evil",
        "echo | ! echo",
        "noglob echo *",
        "- evil",
        "nocorrect evil",
        "coproc evil",
        "x=1 if echo; then evil; fi",
        "> x",
        "not echo",
        "begin; echo; end",
    ]);
}

#[test]
fn policy_asks_about_expansions_that_shells_read_differently() {
    asks(&[
        "echo $${a #}; evil",
        "echo $$'\\'' ; evil ;#'",
        "echo $$\"\\\" ; evil ;#\"",
        "echo $#{a #}; evil",
        "echo $?{a #}; evil",
        "echo ${ evil}",
        "echo \"${ evil;}\"",
        "cat <<E\n${ evil}\nE\n",
        "echo ${|evil;}",
        "echo ${(e)x}",
        "echo ${x@P}",
        "echo ${x:-$(evil)}",
        "echo ${x[$(evil)]}",
        "echo $x[$(evil)]",
        "echo \"$x[$(evil)]\"",
        "cat <<E\n$x[$(evil)]\nE\n",
        "echo $x[1]",
        "echo $x:F1:h",
        "echo \"$x:s/a/b/\"",
        "echo $~x",
        "echo $=x",
        "echo $^x",
        "echo $+x",
        "echo $'\\c' ; evil ; echo $'\\c'",
        "echo $'\\x27'",
        "echo $\"a\"",
        "echo $[1+1]",
        "echo $((x))",
        "echo $((0x1f))",
        "echo $((1,x))",
        "echo `echo \\`evil\\``",
        "echo \"`echo \"a\"`\"",
        "echo $(echo # )\nevil )",
        "echo <1-5>evil",
        "echo *(e:'evil':)",
        "echo [[:alpha:]",
        "echo a[x",
        "x[$(evil)]=1 echo",
        "x+=1 echo",
        "DEBUG==evil echo",
        "LINES=x echo",
        "LC_ALL=ja_JP.SJIS; echo \"\u{3042}\\\" ; evil #\"",
        "LANG=zh_CN.GBK bash -c 'echo'",
        "read LC_CTYPE",
        "for LINES in x; do echo; done",
        "read LINES",
        "read -p 'a' x",
        "echo ~evil",
        "echo a=~evil",
        "echo {a,b",
        "echo a{x}>b",
    ]);
}

#[test]
fn policy_asks_about_quotes_that_shells_read_differently() {
    asks(&[
        "echo '\\' ' ; evil ; echo \\'",
        "echo 'a\\\\\\' ; evil ; echo \\'",
        "good 'x\\' '; evil #'",
        "echo \\c' ; evil ; echo \\c'",
        "echo \\x41",
        "echo a\u{2003}b",
        "echo a\u{3000}b",
        "echo a\u{e0}b",
        "echo a\u{2713}",
        "echo a\rb",
        "echo 'a\u{1}b'",
        "echo \"a\u{7f}b\"",
        "echo # a\\\nevil",
        "echo a;#b",
        "echo 1\"2\">x",
    ]);
}

#[test]
fn policy_asks_about_builtins_that_evaluate() {
    asks(&[
        "[ 'a[$(evil)]' -eq 1 ]",
        "[ \"$x\" -eq 1 ]",
        "[ x -eq 1 ]",
        "test 1 -lt \"$(cat f)\"",
        "test $x",
        "[ -v 'a[$(evil)]' ]",
        "[ a = b -o -v 'a[$(evil)]' ]",
        "[ -t 'a[$(evil)]' ]",
        "printf %d 'a[$(evil)]'",
        "printf '%s %d' a 'a[$(evil)]'",
        "printf '%d %s' 1 a \"$x\"",
        "printf '%*d' 'a[$(evil)]' 1",
        "printf %n 'a[$(evil)]'",
        "printf '\\045d' 'a[$(evil)]'",
        "printf -v x a",
        "exit 'a[$(evil)]'",
        "exit $x",
        "return 'a[$(evil)]'",
        "break x",
        "shift x",
        "ulimit -n x",
        "umask x=1",
        "wait 'a[$(evil)]'",
        "kill \"$x\"",
        "jobs -x evil",
        "print -v x",
        "sched +0 evil",
        "alarm evil",
        "integer 'x=a[$(evil)]'",
        "typeset -i 'x=a[$(evil)]'",
        "declare 'x=a'",
        "getopts a x",
        "mapfile -C evil",
        "compgen -C evil",
        "complete -C evil x",
        "let 1",
        "hash -p evil ls",
        "alias ls=evil",
        "trap evil EXIT",
        "enable -f evil x",
        "zmodload zsh/system",
    ]);
}

/// Lines as agents write them.
#[test]
fn policy_reads_what_agents_write() {
    reads(&[
        "git log --oneline -20 && git show HEAD~2^ stash@{0} HEAD^{commit} @{u}",
        "git diff origin/main...HEAD -- 'src/*.rs' | head -50",
        "git add -A && git commit -m \"feat(parser)!: don't fail on $USER's input\"",
        "git commit -m \"$(cat <<'EOF'\nfix: a \"quoted\" word\n\n## Why\n[Claude](https://claude.com)\n\nCo-Authored-By: A <a@b.c>\nEOF\n)\"",
        "cat > src/new.rs <<'EOF'\nfn main() {\n    println!(\"it's {}\", 1);\n}\nEOF",
        "python3 - <<'PY'\nprint('a)', `x`, \"$(x)\")\nPY",
        "cat <<EOF\n$USER has ${HOME} and $(date)\nEOF\n",
        "cd \"/w/my app\" && npm test -- --watch=false 2>&1 | tail -30",
        "(cd web && npm ci && npm run build) 2>/dev/null || echo failed",
        "if [ -f a.txt ]; then cat a.txt; elif [ ! -d b ]; then ls b; else echo \"none of: $x\"; fi",
        "for i in 1 2 3; do echo $i; sleep 1; done",
        "while true; do date; sleep 1; done",
        "find . -type f \\( -name '*.js' -o -name \"*.ts\" \\) ! -path './node_modules/*' -exec grep -l foo {} +",
        "grep -rnE \"foo|bar\" --include=*.{ts,tsx} src/**/*.ts [a-c]*",
        "sed -n '/^fn main/,/^}/p' src/main.rs; awk -F: '{ print $1, $2 }' /etc/passwd",
        "diff <(git show HEAD:a.txt) a.txt",
        "curl -sS -X POST -d \"{\\\"a\\\":1}\" \"http://localhost:3000/api?x=1&y=2\" | jq '.items[] | .name'",
        "docker run --rm -v \"$PWD:/app\" -e A=b -w /app node:20 npm test",
        "timeout 30s nice -n 5 cargo test -p acpd -- --exact a::b",
        "bash -lc 'set -euo pipefail; make -j4' && zsh -lc \"git status\"",
        "nohup npm start > server.log 2>&1 &",
        "# Lists the files, and don't stop\nls -la # all of them",
        "printf '%s: %d%%\\n' done 100; echo \"exit: $?\" $((2 * (3 + 4)))",
        "pip install requests==2.31.0 'pytest>=8' && which python3 && command -v rg >/dev/null",
        "cat /tmp/é.rs 'à' \"✓ done\"",
        "make test \\\n  VERBOSE=1 \\\n  -j4",
        "ps aux | grep [n]ode | sort -u |& tail",
        "export CI=1; unset x; read -r line < a.txt; [ \"$line\" = b ] && test $# -gt 1",
    ]);
}

/// The commands of all recorded agents, as the texts of calls and as programs with arguments.
fn recorded() -> Vec<(String, Request)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/transcripts");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut found = Vec::new();
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "jsonl")) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            collect(&serde_json::from_str(line).unwrap(), &mut found);
        }
    }
    found
}

fn collect(value: &Value, found: &mut Vec<(String, Request)>) {
    match value {
        Value::Object(members) => {
            found.extend(command_of(members));
            members.values().for_each(|value| collect(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Returns the command of a tool call. Some agents leave out its kind in later updates, and some say `read` where the command only reads.
/// An editor of files has a `command` beside a `path`, or none that is a line.
fn command_of(call: &serde_json::Map<String, Value>) -> Option<(String, Request)> {
    call.get("toolCallId")?;
    let input = call.get("rawInput")?.as_object()?;
    let command = input.get("command").or_else(|| input.get("cmd"))?;
    match (command, call.get("kind").and_then(Value::as_str)) {
        (Value::String(line), Some("execute") | None) => {
            Some((line.clone(), Request::command_line(line, "/workspace")))
        }
        (Value::Array(_), _) => {
            let argv: Vec<String> = serde_json::from_value(command.clone()).unwrap();
            let request = Request::terminal(&argv[0], &argv[1..], Form::Program, &[], None, "/workspace");
            Some((argv.join(" "), request))
        }
        _ => None,
    }
}

/// The most of them that may be asked about where every command is allowed, in percent. So no more can be asked about than before.
const ASKED: usize = 2;

#[test]
fn policy_reads_all_commands_of_recorded_agents() {
    let commands = recorded();
    let policy = policy("allow Bash");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let asked: Vec<_> = commands
        .iter()
        .filter(|(_, request)| layers.decide(request).effect != Effect::Allow)
        .map(|(line, _)| line)
        .collect();
    let all = commands.len();
    assert!(asked.len() * 100 <= all * ASKED, "{asked:#?}");
    let figure = format!(
        "Of the {all} commands in all recorded transcripts, {} are unreadable",
        asked.len()
    );
    let decision = include_str!("../../../../docs/adr/0015-our-own-reader-of-command-lines.md");
    let decision = decision.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(decision.contains(&figure), "the decision does not say: {figure}");
}
