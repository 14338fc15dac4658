//! Rules for commands.

use acpd_policy::{Effect, Form, Layers, Request};

use crate::table::{check, policy};

#[test]
fn policy_ask_bash_does_not_hide_allow_bash_git() {
    let rows = check(
        "ask Bash, allow Bash(git *) :: $ git status => allow
        ask Bash, allow Bash(git *) :: $ ls => ask
        ask Bash, allow Bash(git *) :: $ git status && ls => ask
        allow Bash, ask Bash(git push *) :: $ git push origin => ask
        allow Bash, ask Bash(git push *) :: $ git status => allow
        allow Bash, ask Bash(git push *) :: $ git fetch && git push => ask
        ask Bash(git *), allow Bash(git *) :: $ git status => ask
        ask Bash, allow Bash :: $ git status => ask
        ask *, allow Bash :: $ git status => allow
        allow *, ask Bash :: $ git status => ask",
    );
    assert_eq!(rows, 10);
}

#[test]
fn policy_git_star_does_not_match_git_status_and_rm() {
    check(
        "allow Bash(git *) :: $ git status && rm -rf x => ask
        allow Bash(git *) :: $ git status; rm -rf x => ask
        allow Bash(git *) :: $ git status || rm -rf x => ask
        allow Bash(git *) :: $ git status | rm -rf x => ask
        allow Bash(git *) :: $ git status |& rm -rf x => ask
        allow Bash(git *) :: $ git status & rm -rf x => ask
        allow Bash(git *) :: $ git status&&rm -rf x => ask
        allow Bash(git *) :: $ git status\\nrm -rf x => ask
        allow Bash(git *) :: $ git status $(rm -rf x) => ask
        allow Bash(git *) :: $ git status \"$(rm -rf x)\" => ask
        allow Bash(git *) :: $ git status \"a `rm -rf x` b\" => ask
        allow Bash(git *) :: $ git status `rm -rf x` => ask
        allow Bash(git *) :: $ git status <(rm -rf x) => ask
        allow Bash(git *) :: $ git status >(rm -rf x) => ask
        allow Bash(git *) :: $ (git status; rm -rf x) => ask
        allow Bash(git *) :: $ { git status; rm -rf x; } => ask
        allow Bash(git *) :: $ if git status; then rm -rf x; fi => ask
        allow Bash(git *) :: $ while git status; do rm -rf x; done => ask
        allow Bash(git *) :: $ for f in a b; do rm $f; done => ask
        allow Bash(git *) :: $ for f do rm x; git status; done => ask
        allow Bash(git *) :: $ for f in $(rm x); do git add $f; done => ask
        allow Bash(git *) :: $ ! rm -rf x => ask
        allow Bash(git *) :: $ git log <<E\\n$(rm x)\\nE\\n => ask
        allow Bash(git *) :: $ git log <<E\\nx\\nE\\nrm x => ask
        allow Bash(git *) :: $ git log <<E\\nx\\\\\\nE\\n'\\nE\\nrm x #' => ask
        allow Bash(git *) :: $ git log <<'E'\\n$(rm x)\\nE\\n => allow
        allow Bash(git *) :: $ git log <<-E\\n\\tx\\n\\tE\\nrm x => ask
        allow Bash(git *) :: $ X=$(rm x) git status => ask
        allow Bash(git *) :: $ git status ${x:-$(rm x)} => ask
        allow Bash(git *) :: $ git status $((1+$(rm x))) => ask
        allow Bash(git *) :: $ git status $((rm x) || (ls)) => ask
        allow Bash(git *) :: $ sh -c 'git status; rm x' => ask
        allow Bash(git *) :: $ git() { rm x; }; git status => ask
        allow Bash(git *) :: $ alias git=rm; git status => ask
        allow Bash(git *) :: $ git commit -m 'a && rm x' => allow
        allow Bash(git *) :: $ git commit -m \"a; rm x\" => allow
        allow Bash(git *) :: $ git commit -m a\\&\\& => allow
        allow Bash(git *) :: $ git status && git log | git shortlog => allow
        allow Bash(git *) :: $ (git status; git log) => allow
        allow Bash(git *) :: $ git status # and rm x => allow
        allow Bash(git *) :: $ git log $(git rev-parse HEAD) => allow
        allow Bash(git *) :: $ if git diff; then git add .; else git log; fi => allow
        allow Bash(git *) :: $ for f in a b; do git add $f; done => allow
        allow Bash(git *), allow Bash(cargo test *) :: $ git pull && cargo test => allow",
    );
}

#[test]
fn policy_matches_commands_word_by_word() {
    check(
        "allow Bash(git status) :: $ git status => allow
        allow Bash(git status) :: $ git   status => allow
        allow Bash(git status) :: $ git 'status' => allow
        allow Bash(git status) :: $ 'git status' => ask
        allow Bash(git status) :: $ git status -s => ask
        allow Bash(git status) :: $ git => ask
        allow Bash(git *) :: $ git => allow
        allow Bash(git *) :: $ gitk => ask
        allow Bash(git*) :: $ gitk => allow
        allow Bash(git:*) :: $ git log -p => allow
        allow Bash(npm run test:*) :: $ npm run test --watch => allow
        allow Bash(git * main) :: $ git push -f origin main => allow
        allow Bash(git * main) :: $ git push -f origin next => ask
        allow Bash(git log --format=*) :: $ git log --format=%h => allow
        allow Bash(git log --format=*) :: $ git log --format=$F => ask
        allow Bash(git log *) :: $ git log --format=$F => allow
        allow Bash(git log --format=*) :: $ git log --format=*.rs => ask
        allow Bash(echo '*') :: $ echo '*' => allow
        allow Bash(echo '*') :: $ echo a => ask
        allow Bash(echo '*') :: $ echo * => ask
        allow Bash(echo 'a b') :: $ echo \"a b\" => allow
        allow Bash(echo 'a b') :: $ echo a b => ask
        allow Bash(*) :: $ anything at all => allow
        allow Bash(git *) :: $ /usr/bin/git status => ask
        allow Bash(git *) :: $ ./git status => ask
        allow Bash(./x.sh) :: $ ./x.sh => allow
        allow Bash([ *) :: $ [ -f x ] => allow
        allow Bash(ls {a}) :: $ ls {a} => allow
        allow Bash(ls {a,b}) :: $ ls {a,b} => ask",
    );
}

#[test]
fn policy_asks_about_redirections_that_write() {
    check(
        "allow Bash(git *) :: $ git log > x => ask
        allow Bash(git *) :: $ git log >> x => ask
        allow Bash(git *) :: $ git log >| x => ask
        allow Bash(git *) :: $ git log &> x => ask
        allow Bash(git *) :: $ git log 2> x => ask
        allow Bash(git *) :: $ git log >&x => ask
        allow Bash(git *) :: $ git log <> x => ask
        allow Bash(git *) :: $ git log > $X => ask
        allow Bash(git *) :: $ > x => ask
        allow Bash(git *) :: $ (git log) > x => ask
        allow Bash(git *), allow Edit :: $ git log > x => allow
        allow Bash(git *), allow Edit(src/**) :: $ git log > src/x => allow
        allow Bash(git *), allow Edit(src/**) :: $ sh -c 'git log >> ./src/x' => allow
        allow Bash(git *), allow Edit(src/**) :: $ git log > x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > src/../x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > src/$X => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > src/* => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > src/x > y => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log >| src/x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log <> src/x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log &> src/x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > file:///w/src/x => ask
        allow Bash(git *), allow Edit(src/**) :: $ git log > File:///w/src/x => ask
        allow Bash(*), allow Edit(src/**) :: $ cd a; git log > src/x => ask
        allow Bash(git *), allow Edit(src/**) :: to /w/src/x $ git log > src/x => allow
        allow Bash(git *), allow Edit(src/**) :: to /real/w/src/x $ git log > src/x => allow
        allow Bash(git *), allow Edit(src/**) :: to /etc/x $ git log > src/x => ask
        allow Bash(git *), allow Edit(src/**) :: to ? $ git log > src/x => ask
        allow Bash(git *), allow Edit, deny Edit(/etc/**) :: to /etc/x $ git log > src/x => deny
        allow Bash(git *), allow Edit(~/**) :: $ git log > $~HOME/.bashrc => ask
        allow Bash(git *), allow Edit(**) :: $ git log > =git => ask
        allow Bash(git *), default allow :: $ git log > x => allow
        allow Bash :: $ git log > x => allow
        allow * :: $ git log > x => allow
        allow Bash(git *) :: $ git log > /dev/null 2>&1 => allow
        allow Bash(git *) :: $ git log 2>/dev/null => allow
        allow Bash(git *) :: $ git log >&2 => allow
        allow Bash(git *) :: $ git log 2>&- => allow
        allow Bash(git *) :: $ git apply < x.patch => allow
        allow Bash(git *) :: $ git apply <<< text => allow
        allow Bash(git *) :: $ git log < /dev/tcp/a/1 => ask
        allow Bash, deny Edit(.env) :: $ echo x > .env => deny
        allow Bash, deny Edit(.env) :: $ echo x > /w/a/../.env => deny
        allow Bash, deny Edit(.env) :: $ cd a; echo x > .env => ask
        allow Bash, deny Edit(.env) :: $ echo x > $F => ask
        allow Bash, deny Edit(.env) :: $ echo x > other => allow
        allow Bash, deny Read(/etc/**) :: $ cat < /etc/shadow => deny
        allow Bash, ask Edit(/w/**) :: $ echo x > a/b => ask",
    );
}

#[test]
fn policy_never_allows_what_cannot_be_read() {
    check(
        "allow Bash(*) :: $ $X status => ask
        allow Bash(*) :: $ ${X} status => ask
        allow Bash(*) :: $ \"$X\" status => ask
        allow Bash(*) :: $ g$X status => ask
        allow Bash(*) :: $ $(echo git) status => ask
        allow Bash(*) :: $ /bin/gi? status => ask
        allow Bash(*) :: $ {rm,-rf,x} => ask
        allow Bash(*) :: $ $'\\x72m' x => ask
        allow Bash(*) :: $ git log $'a\\' ; rm x ' => ask
        allow Bash(*) :: $ eval git status => ask
        allow Bash(*) :: $ source x => ask
        allow Bash(*) :: $ . ./x => ask
        allow Bash(*) :: $ builtin eval x => ask
        allow Bash(*) :: $ command eval x => ask
        allow Bash(*) :: $ trap 'rm x' EXIT => ask
        allow Bash(*) :: $ git 'status => ask
        allow Bash(*) :: $ git \"status => ask
        allow Bash(*) :: $ git $(status => ask
        allow Bash(*) :: $ git `status => ask
        allow Bash(*) :: $ git status \\ => ask
        allow Bash(*) :: $ git status ) => ask
        allow Bash(*) :: $ (git status => ask
        allow Bash(*) :: $ git <<E => ask
        allow Bash(*) :: $ git > => ask
        allow Bash(*) :: $ case x in x) rm y;; esac => ask
        allow Bash(*) :: $ [[ a < b ]] => ask
        allow Bash(*) :: $ ((x)) => ask
        allow Bash(*) :: $ a=(b c) => ask
        allow Bash(*) :: $ a[0]=$(x) git => ask
        allow Bash(*) :: $ ls *(e:'rm x':) => ask
        allow Bash(*) :: $ printf -v PATH /evil; git status => ask
        allow Bash(*) :: $ => ask
        allow Bash :: $ eval git status => ask
        allow Bash :: call {\"kind\":\"execute\"} => ask
        allow * :: $ eval git status => allow
        default allow :: $ eval git status => allow
        allow Bash, default deny :: $ eval git status => ask
        allow Read, default deny :: $ eval git status => deny
        default allow, ask Bash(rm *) :: $ eval $X => ask
        default allow, ask Bash(rm *) :: $ git status => allow",
    );
}

#[test]
fn policy_denies_more_than_it_allows() {
    check(
        "allow *, deny Bash(rm *) :: $ rm x => deny
        allow *, deny Bash(rm *) :: $ ls && rm x => deny
        allow *, deny Bash(rm *) :: $ ls $(rm x) => deny
        allow *, deny Bash(rm *) :: $ /bin/rm x => deny
        allow *, deny Bash(rm *) :: $ r\\m x => deny
        allow *, deny Bash(rm *) :: $ 'r'\"m\" x => deny
        allow *, deny Bash(rm *) :: $ \\rm x => deny
        allow *, deny Bash(rm *) :: $ sudo rm x => deny
        allow *, deny Bash(rm *) :: $ sudo -u root -- rm x => deny
        allow *, deny Bash(rm *) :: $ ls | xargs -n1 rm => deny
        allow *, deny Bash(rm *) :: $ find . -exec rm {} \\; => deny
        allow *, deny Bash(rm *) :: $ ssh host 'cd x; rm y' => deny
        allow *, deny Bash(rm *) :: $ su -c \"rm y\" => deny
        allow *, deny Bash(rm *) :: $ env A=1 nohup rm x => deny
        allow *, deny Bash(rm *) :: $ bash -lc 'rm x' => deny
        allow *, deny Bash(rm *) :: $ eval 'rm x' => deny
        allow *, deny Bash(rm *) :: $ eval \"$X\" => ask
        allow *, deny Bash(rm *) :: $ $X y => ask
        allow *, deny Bash(rm *) :: call {\"kind\":\"execute\"} => ask
        allow *, deny Bash(rm *) :: call {\"kind\":\"other\"} => ask
        allow *, deny Bash(rm *) :: $ echo farm => allow
        allow *, deny Bash(rm *) :: $ echo rm => allow
        allow *, deny Bash(rm -rf *) :: $ rm -rf / => deny
        allow *, deny Bash(rm -rf *) :: $ rm $X / => ask
        allow *, deny Bash(rm -rf *) :: $ rm -r? / => ask
        allow *, deny Bash(rm -rf *) :: $ rm x => allow
        allow *, deny Bash(sudo *) :: $ sudo ls => deny
        allow *, deny Bash(env *) :: $ env ls => deny
        allow *, deny Bash :: $ $X => deny
        allow *, deny Bash :: $ > x => deny
        allow Bash(git *), deny Bash(git push *) :: $ git push => deny
        allow Bash(git push), deny Bash(git *) :: $ git push => deny
        allow *, ask Bash(rm *) :: $ sudo rm x => ask",
    );
}

/// Shell features that might bypass a deny rule. Those of programs (perl, awk, make) are a known limitation.
#[test]
fn policy_denies_in_every_spelling_of_the_shell() {
    let lines = [
        r#"$"rm" x"#,
        "time -- rm x",
        "time -p -- rm x",
        "time -o f rm x",
        "bash +c 'rm x'",
        "bash -c - 'rm x'",
        "bash -c 'rm x' _ y",
        "{x}>/dev/null rm x",
        "/bin//bash -c 'rm x'",
        "/usr/../bin/sh -c 'rm x'",
        "cd / && bin/sh -c 'rm x'",
        "../../bin/rbash -c 'rm x'",
        "export x='a[$(rm x)]'; echo $((x))",
        r"echo a >&2\`rm x\`",
        "env -C /etc rm x",
        "setpriv --reuid=1 rm x",
        "chrt -f 1 rm x",
        "prlimit --nofile=1 rm x",
        "setarch x86_64 rm x",
        "sg users 'rm x'",
        "ssh-agent rm x",
        "dbus-run-session -- rm x",
        "nice --5 rm x",
        "stdbuf --unknown rm x",
    ];
    for line in lines {
        check(&format!("default allow, deny Bash(rm *) :: $ {line} => deny"));
    }
    check(
        "default allow, deny Edit(/etc/**) :: $ echo x > $\"/etc/passwd\" => ask
        default allow, deny Edit(/etc/**) :: $ chdir /etc; echo x > passwd => ask
        default allow, deny Edit(/etc/**) :: $ env -C /etc sh -c 'echo x > passwd' => ask
        allow Bash(make) :: $ env -C /x make => ask",
    );
}

#[test]
fn policy_looks_through_wrappers() {
    check(
        "allow Bash(git *) :: $ env CI=1 git status => allow
        allow Bash(git *) :: $ CI=1 git status => allow
        allow Bash(git *) :: $ x=1; git status => allow
        allow Bash(git *) :: $ env -u CI --unset=TZ -uDEBUG NO_COLOR=1 git status => allow
        allow Bash(git *) :: $ env -u PATH git status => ask
        allow Bash(git *) :: $ env -i git status => ask
        allow Bash(git *) :: $ sh -c 'git status' => allow
        allow Bash(git *) :: $ bash -lc 'git status && git log' => allow
        allow Bash(git *) :: $ /bin/bash -euo pipefail -c 'git status' => allow
        allow Bash(git *) :: $ sh -c \"sh -c 'git status'\" => allow
        allow Bash(git *) :: $ nohup timeout -k 5 10 nice -n 5 git status => allow
        allow Bash(git *) :: $ time git status => allow
        allow Bash(git *) :: $ command git status => allow
        allow Bash(git *) :: $ exec git status => allow
        allow Bash(git *) :: $ env X=1 rm x => ask
        allow Bash(env *) :: $ env X=1 rm x => ask
        allow Bash(bash *) :: $ bash -c 'rm x' => ask
        allow Bash(bash *) :: $ bash x.sh => allow
        allow Bash(bash *) :: $ bash <<E\\nrm x\\nE\\n => ask
        allow Bash(git *) :: $ sudo git status => ask
        allow Bash(sudo git *) :: $ sudo git status => allow
        allow Bash(git *) :: $ xargs git add => ask
        allow Bash(git *) :: $ ./bash -c 'git status' => ask
        allow Bash(git *) :: $ bash -c \"$X\" => ask
        allow Bash(git *) :: $ bash -c => ask
        allow Bash(git *) :: $ bash --rcfile x -c 'git status' => ask
        allow Bash(git *) :: $ env -S 'rm x' git => ask
        allow Bash(git *) :: $ env $X git status => ask
        allow Bash(git *) :: $ PATH=/evil git status => ask
        allow Bash(git *) :: $ PATH=evil git status => ask
        allow Bash(git *) :: $ env PATH=evil git status => ask
        allow Bash(git *) :: $ PATH=evil; git status => ask
        allow Bash(git *) :: $ export PATH=evil; git status => ask
        allow Bash(git *) :: $ for PATH in evil; do git status; done => ask
        allow Bash(git *) :: $ GIT_SSH_COMMAND=rm git fetch => ask
        allow Bash(git *) :: $ LD_PRELOAD=x.so git status => ask
        allow Bash(git *) :: $ MY_PAGER=x git log => ask
        allow Bash(git *) :: $ X='a b' git log => ask
        allow Bash(git *) :: $ X=$Y git log => ask
        allow Bash :: $ PATH=/evil git status => ask",
    );
}

#[test]
fn policy_reads_terminals_as_argv() {
    let policy = policy("allow Bash(git *), allow Bash(echo *)");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let decide = |command: &str, args: &[&str], env: &[(&str, &str)]| {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let env: Vec<_> = env
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        layers
            .decide(&Request::terminal(
                command,
                &args,
                Form::Program,
                &env,
                None,
                "/w",
            ))
            .effect
    };
    assert_eq!(decide("git", &["status"], &[]), Effect::Allow);
    // No shell is involved: this prints text.
    assert_eq!(
        decide("echo", &["a && rm x", "$(rm x)", ">", "y"], &[]),
        Effect::Allow
    );
    assert_eq!(decide("bash", &["-lc", "git status"], &[]), Effect::Allow);
    assert_eq!(decide("bash", &["-lc", "git status && rm x"], &[]), Effect::Ask);
    assert_eq!(decide("env", &["CI=1", "git", "status"], &[]), Effect::Allow);
    assert_eq!(decide("rm", &["x"], &[]), Effect::Ask);
    // This is the path of a file.
    assert_eq!(decide("git status", &[], &[]), Effect::Ask);
    assert_eq!(decide("git", &[], &[]), Effect::Allow);
    assert_eq!(decide("git", &["status"], &[("CI", "true")]), Effect::Allow);
    assert_eq!(decide("git", &["status"], &[("PATH", "/evil")]), Effect::Ask);
    assert_eq!(decide("git", &[], &[("GIT_DIR", "x")]), Effect::Ask);
    assert_eq!(decide("", &[], &[]), Effect::Ask);
}

#[test]
fn policy_allows_no_line_that_shells_read_differently() {
    check(
        "allow Bash(echo *) :: $ echo hi &>/dev/null touch x => ask
        allow Bash(echo *) :: $ echo hi &>>/dev/null touch x => ask
        allow Bash(echo *) :: $ echo hi &>/dev/null => ask
        allow Bash(echo *) :: $ echo \"$\\\\n(touch x)\" => ask
        allow Bash(echo hi), allow Bash(touch x) :: $ echo hi &\\\\n>/dev/null touch x => ask
        allow Bash(echo *) :: $ echo hi \\\\n there => allow
        allow Bash(echo *) :: $ echo hi &&\\\\n echo there => allow
        allow Bash(echo a) :: $ echo a 10>/dev/null => ask
        allow Bash(echo *) :: $ echo a 2>/dev/null => allow
        allow Bash(echo *) :: $ echo a >&2-1 => ask
        allow Bash(echo *) :: $ {x}>/dev/null echo a => ask
        allow Bash(echo '$a') :: $ echo $\"a\" => ask
        allow Bash(echo *) :: $ echo $\"a\" => ask
        allow Bash(echo *), allow Bash(--) :: $ time -- echo a => ask
        allow Bash(echo *) :: $ time -p echo a => allow
        allow Bash(echo *), allow Bash(-o *) :: $ time -o x echo a => ask",
    );
}

#[test]
fn policy_allows_nothing_that_a_shell_evaluates() {
    check(
        "allow Bash(echo *) :: $ for x in 'a[$(touch x)]'; do echo $((x)); done => ask
        allow Bash(echo *) :: $ for x in 'a[$(touch x)]'; do echo ${x:x}; done => ask
        allow Bash(echo *) :: $ for x in 'a[$(touch x)]'; do echo ${!x}; done => ask
        allow Bash(echo *) :: $ for x in 'a[$(touch x)]'; do echo $x; done => ask
        allow Bash(echo *) :: $ for x in *; do echo $x; done => ask
        allow Bash(echo *) :: $ for x in a b.c; do echo $x; done => allow
        allow Bash(echo *) :: $ echo $((x)) => ask
        allow Bash(echo *) :: $ echo $(($1)) => ask
        allow Bash(echo *) :: $ echo $((1 + 2 * (3 - 4) / 5 % 6)) => allow
        allow Bash(echo *) :: $ echo $((1 + 0x1f)) => ask
        allow Bash(echo *) :: $ echo ${x:1} ${x:1:2} => allow
        allow Bash(echo *) :: $ echo ${x: -1} => ask
        allow Bash(echo *) :: $ echo ${x:-y} ${x:+y} ${x:?y} ${x-y} ${#x} ${x%.c} ${x##*/} => allow
        allow Bash(echo *) :: $ echo ${x,,} => ask
        allow Bash(echo *) :: $ echo ${x:y} => ask
        allow Bash(echo *) :: $ echo ${x:1:y} => ask
        allow Bash(echo *) :: $ echo ${x:1+1} => ask
        allow Bash(echo *) :: $ bash -c 'echo $(($1))' _ 'a[$(touch x)]' => ask
        allow Bash(echo *) :: $ bash -c 'echo $1' _ a => ask
        allow Bash(echo *) :: $ bash -c 'echo a' => allow
        allow Bash(test *), allow Bash([ *) :: $ test -v 'a[$(touch x)]' => ask
        allow Bash(test *), allow Bash([ *) :: $ [ -v 'a[$(touch x)]' ] => ask
        allow Bash(test *), allow Bash([ *) :: $ [ -R \"$x\" ] => ask
        allow Bash(test *), allow Bash([ *) :: $ [ \"$x\" 'a[$(touch x)]' ] => ask
        allow Bash(test *), allow Bash([ *) :: $ [ $x ] => ask
        allow Bash(test *), allow Bash([ *) :: $ [ -f x ] && [ \"$x\" = y ] && test -n \"$x\" => allow
        allow Bash(test *), allow Bash([ *) :: $ [ -v x ] => allow
        allow Bash(*) :: $ let 'a[$(touch x)]' => ask
        allow Bash(*) :: $ unset 'a[$(touch x)]' => ask
        allow Bash(*) :: $ unset \"$x\" => ask
        allow Bash(*) :: $ unset x => allow
        allow Bash(*) :: $ read 'a[$(touch x)]' => ask
        allow Bash(*) :: $ read PATH => ask
        allow Bash(*) :: $ export PATH=x => ask
        allow Bash(*) :: $ declare -n r='a[$(touch x)]' => ask",
    );
}

/// A program that ignores a variable cannot be distinguished from one that runs its value.
#[test]
fn policy_allows_listed_variables_only() {
    for (assignment, harmless) in [
        ("LANG=C", true),
        ("LC_ALL=C.UTF-8", true),
        ("LC_ALL=ja_JP.SJIS", false),
        ("LANG=en_US", false),
        ("TZ=UTC", true),
        ("CI=true", true),
        ("NO_COLOR=1", true),
        ("RUST_LOG=debug,hyper=info", true),
        ("TZ=/etc/x", false),
        ("CI=$x", false),
        ("CI='a b'", false),
        ("CURL_HOME=.", false),
        ("AWS_CONFIG_FILE=awscfg", false),
        ("CFLAGS=@evil", false),
        ("PHP_INI_SCAN_DIR=.", false),
        ("HGRCPATH=x", false),
        ("LUA_INIT=@x", false),
        ("WGETRC=x", false),
        ("BUNDLE_GEMFILE=x", false),
        ("PIP_CONFIG_FILE=x", false),
        ("ANSIBLE_CONFIG=x", false),
        ("TAR_OPTIONS=--x", false),
        ("RSYNC_RSH=x", false),
        ("https_proxy=evil:80", false),
        ("PATH=.", false),
        ("LD_PRELOAD=x.so", false),
        ("x=1", false),
        ("X=1", false),
    ] {
        let effect = if harmless { "allow" } else { "ask" };
        check(&format!(
            "allow Bash(tool *) :: $ {assignment} tool run => {effect}
            allow Bash(tool *) :: $ env {assignment} tool run => {effect}"
        ));
        if !harmless && !assignment.starts_with("x=") {
            check(&format!(
                "allow Bash(tool *) :: $ {assignment}; tool run => ask
                allow Bash(*) :: $ export {assignment}; tool run => ask"
            ));
        }
    }
    check(
        "allow Bash(tool *) :: $ x=1; tool $x => allow
        allow Bash(tool *) :: $ for file in a b; do tool $file; done => allow
        allow Bash(tool *) :: $ for path in a b; do tool $path; done => ask
        allow Bash(tool *) :: $ for https_proxy in evil; do tool; done => ask
        allow Bash(*) :: $ read line => allow
        allow Bash(*) :: $ read -r https_proxy => ask",
    );
}

#[test]
fn policy_compares_a_program_with_a_path_by_where_it_is() {
    check(
        "allow Bash(./x.sh) :: $ ./x.sh => allow
        allow Bash(./x.sh) :: $ /w/x.sh => allow
        allow Bash(/w/x.sh) :: $ ././x.sh => allow
        allow Bash(./x.sh) :: $ sub/x.sh => ask
        allow Bash(./x.sh) :: $ /other/x.sh => ask
        allow Bash(./x.sh), allow Bash(cd *) :: $ cd sub && ./x.sh => ask
        allow Bash(/w/x.sh), allow Bash(cd *) :: $ cd sub && /w/x.sh => allow
        allow Bash(./x.sh) :: $ sub/../x.sh => ask
        allow Bash(./bin/*) :: $ bin/tool => allow
        allow Bash(./bin/*) :: $ bin/sub/tool => ask
        allow Bash(./bin/*) :: $ bin/../evil => ask
        allow Bash(./bin/**) :: $ bin/sub/tool => allow
        allow Bash(g*) :: $ g/evil => ask
        allow Bash(g*) :: $ gcc => allow
        allow Bash(*) :: $ ./anything => allow
        allow Bash :: $ ./anything => allow
        allow Bash(~/x) :: $ /home/u/x => allow
        allow Bash(./x.sh) :: call {\"kind\":\"execute\",\"rawInput\":{\"command\":\"./x.sh\",\"cwd\":\"sub\"}} => ask
        allow Bash(sub/x.sh) :: call {\"kind\":\"execute\",\"rawInput\":{\"command\":\"./x.sh\",\"cwd\":\"sub\"}} => allow
        allow *, deny Bash(x.sh) :: $ sub/x.sh => deny
        allow *, deny Bash(./x.sh) :: $ /w/x.sh => deny
        allow *, deny Bash(/usr/bin/x) :: $ /usr/bin/x => deny",
    );
}

/// The terminal's host defines how a command is run: as a program's path, as a line, or in an editor's unknown way.
#[test]
fn policy_knows_how_a_terminal_is_run() {
    let policy = policy("allow Bash(git *), allow Bash(ls), deny Bash(rm *)");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    let decide = |command: &str, form| {
        layers
            .decide(&Request::terminal(command, &[], form, &[], None, "/w"))
            .effect
    };
    for (command, as_program, as_line, in_editor) in [
        ("ls", Effect::Allow, Effect::Allow, Effect::Allow),
        ("git status", Effect::Ask, Effect::Allow, Effect::Ask),
        ("git /x", Effect::Ask, Effect::Allow, Effect::Ask),
        ("ls ./y", Effect::Ask, Effect::Ask, Effect::Ask),
        ("CI=1 ls", Effect::Ask, Effect::Allow, Effect::Ask),
        ("git status; rm x", Effect::Ask, Effect::Deny, Effect::Deny),
        ("git$(rm x)", Effect::Ask, Effect::Deny, Effect::Deny),
    ] {
        assert_eq!(decide(command, Form::Program), as_program, "{command}");
        assert_eq!(decide(command, Form::Line), as_line, "{command}");
        assert_eq!(decide(command, Form::Unknown), in_editor, "{command}");
    }
}

#[test]
fn policy_bounds_what_it_reads_of_a_command() {
    let deep = |depth: usize| format!("{}git{}", "$(".repeat(depth), ")".repeat(depth));
    let rows = [
        (format!("git {}", "x".repeat(60_000)), Effect::Allow),
        (format!("git {}", "x".repeat(70_000)), Effect::Ask),
        (format!("git {}", deep(10)), Effect::Ask),
        (format!("git {}", "git;".repeat(400)), Effect::Allow),
        ("git;".repeat(100_000), Effect::Ask),
        ("(".repeat(10_000), Effect::Ask),
        ("`".repeat(10_001), Effect::Ask),
        ("git;".repeat(600), Effect::Ask),
        (
            format!("{}git status{}", "( ".repeat(10), ")".repeat(10)),
            Effect::Allow,
        ),
        (
            format!("{}git status{}", "( ".repeat(40), ")".repeat(40)),
            Effect::Ask,
        ),
    ];
    let policy = policy("allow Bash(git *)");
    let layers = Layers {
        daemon: Some(&policy),
        ..Layers::default()
    };
    for (line, expected) in rows {
        let decision = layers.decide(&Request::command_line(&line, "/w"));
        assert_eq!(decision.effect, expected, "{}…", &line[..line.len().min(60)]);
    }
}
