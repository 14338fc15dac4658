//! `acpd` alone on a terminal, as a person sees it.

#![allow(clippy::unwrap_used, reason = "what is not there fails the test")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::{Background, Place, Screen, fake_agent, outcome, wait_until};

/// A home without a configuration, and with these programs on `PATH`, each of which is the scripted agent.
fn home(programs: &[&str]) -> Place {
    let place = Place::new("");
    let bin = place.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in programs {
        program(&bin, name, &format!("exec '{}' --pace 0", fake_agent().display()));
    }
    place
}

fn program(bin: &Path, name: &str, line: &str) {
    std::fs::write(bin.join(name), format!("#!/bin/sh\n{line}\n")).unwrap();
    std::fs::set_permissions(bin.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the command of a person at a desktop without a browser.
fn alone(place: &Place) -> Command {
    let mut command = place.command(&[]);
    command.env(
        "PATH",
        format!("{}:/usr/bin:/bin", place.home().join("bin").display()),
    );
    for name in [
        "ACPD_CONFIG",
        "BROWSER",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "SSH_CONNECTION",
        "SSH_TTY",
        "XDG_RUNTIME_DIR",
    ] {
        command.env_remove(name);
    }
    command
}

fn start(command: &Command) -> Screen {
    Screen::start(command, 200, 50)
}

/// Waits for the daemon in the background.
fn background(place: &Place) -> Background {
    let mut found = None;
    wait_until("a daemon in the background", || {
        found = place.background();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_newcomer_chooses_an_agent_and_comes_back_without_questions() {
    let place = home(&["gemini", "opencode"]);
    let screen = start(&alone(&place));
    screen.wait_for("Which one? Its number, or Enter for 1:");
    let shown = screen.text();
    for line in ["1) gemini", "2) opencode", "3) demo"] {
        assert!(shown.contains(line), "{shown}");
    }
    screen.press("9\r");
    screen.wait_for("type a number from 1 to 3");
    screen.press("2\r");
    screen.wait_for("What next?");
    let _daemon = background(&place);
    let shown = screen.text();
    assert!(shown.contains("with opencode in"), "{shown}");
    screen.press("q\r");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(0), "{shown}");
    let file = std::fs::read_to_string(place.home_config()).unwrap();
    assert!(
        file.contains("default_agent = \"opencode\"") && file.contains("\n[agents.gemini]\n"),
        "{file}"
    );

    // The second time, there is only the menu; its help is that of the command.
    let screen = start(&alone(&place));
    screen.wait_for("What next?");
    assert!(!screen.text().contains("Which one?"), "{}", screen.text());
    screen.press("3\r");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert!(shown.contains("acpd help COMMAND explains a command"), "{shown}");
    assert_eq!(std::fs::read_to_string(place.home_config()).unwrap(), file);
}

/// Types a prompt into the thread that is shown.
fn prompt(screen: &Screen, text: &str) {
    screen.press(text);
    screen.wait_for(text);
    screen.press("\r");
}

#[test]
fn a_newcomer_gets_an_answer_a_file_and_a_command() {
    let place = home(&["opencode"]);
    // As its installer leaves it: the program in a directory of its own.
    let own = place.home().join(".opencode/bin");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::copy(fake_agent(), own.join("agent")).unwrap();
    let line = format!("exec '{}' --pace 0", own.join("agent").display());
    program(&place.home().join("bin"), "opencode", &line);
    let screen = start(&alone(&place));
    screen.wait_for("Which one? Its number, or Enter for 1:");
    screen.press("1\r");
    screen.wait_for("What next?");
    let _daemon = background(&place);
    screen.press("\r");
    screen.wait_for("Prompt");
    prompt(&screen, "say here I am");
    screen.wait_until("the answer", |shown| shown.contains("\nhere I am\n"));
    prompt(&screen, "write path=note.txt text=kept");
    screen.wait_for("wrote 4 bytes");
    let note = std::fs::read_to_string(place.work().join("note.txt")).unwrap();
    assert_eq!(note, "kept");
    prompt(
        &screen,
        "permission command=\"cat note.txt\"; terminal cat note.txt",
    );
    screen.wait_for("1) Allow once");
    screen.press("\t1");
    screen.wait_for("─ Answer");
    screen.wait_until("the answer is given", |shown| {
        // The key counts only after the question was in sight for a moment.
        screen.press("\r");
        shown.contains("allowed (allow_once)")
    });
    screen.wait_for("exit 0: kept");
    screen.press("\u{3}");
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(0));
}

#[test]
fn the_demo_is_the_default_once_it_is_chosen() {
    let place = home(&[]);
    let screen = start(&alone(&place));
    screen.wait_for("No agent was found on this host.");
    screen.wait_for("Which one?");
    screen.press("\r");
    screen.wait_for("What next?");
    let _daemon = background(&place);
    // Without a browser, Enter is a thread in the terminal.
    screen.press("\r");
    screen.wait_for("Prompt");
    screen.press("say hello to me");
    screen.wait_for("say hello to me");
    screen.press("\r");
    screen.wait_until("the turn", |shown| shown.contains("> say hello to me"));
    screen.press("\u{3}");
    screen.press("\u{3}");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert!(shown.contains("detached"), "{shown}");
    let file = std::fs::read_to_string(place.home_config()).unwrap();
    assert!(
        file.lines().any(|line| line == "default_agent = \"demo\""),
        "{file}"
    );
    // Commands and pages have the same default as the menu.
    let listed = outcome(alone(&place).args(["agents", "list"]));
    assert!(
        listed
            .stdout
            .lines()
            .nth(1)
            .is_some_and(|row| row.starts_with("demo ") && row.contains("builtin (default)")),
        "{}",
        listed.stdout
    );

    let screen = start(&alone(&place));
    screen.wait_for("Continue the last thread: say hello to me");
    assert!(!screen.text().contains("Which one?"), "{}", screen.text());
    screen.press("3\r");
    screen.wait_for("> say hello to me");
    screen.press("\u{3}");
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(0));
}

#[test]
fn an_own_configuration_is_used_and_stays_as_it_is() {
    let place = home(&["gemini"]);
    let text = format!(
        "{}{}",
        place.agent("one", &["--pace", "0"], &[]),
        place.agent("two", &["--pace", "0"], &[])
    );
    std::fs::create_dir_all(place.home_config().parent().unwrap()).unwrap();
    std::fs::write(place.home_config(), &text).unwrap();
    let screen = start(&alone(&place));
    // None of them is the default, and what else is on the host is not offered.
    screen.wait_for("Which one?");
    let shown = screen.text();
    assert!(shown.contains("2) two") && !shown.contains("gemini"), "{shown}");
    screen.press("2\r");
    screen.wait_for("with two in");
    let _daemon = background(&place);
    screen.press("1\r");
    screen.wait_for("Prompt");
    screen.press("say from two");
    screen.wait_for("say from two");
    screen.press("\r");
    screen.wait_until("the answer", |shown| shown.contains("\nfrom two\n"));
    screen.press("\u{3}");
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(0));
    assert_eq!(std::fs::read_to_string(place.home_config()).unwrap(), text);
}

#[test]
fn ctrl_c_leaves_nothing_behind() {
    let place = home(&["gemini"]);
    for key in ["\u{3}", "\u{4}"] {
        let screen = start(&alone(&place));
        screen.wait_for("Which one?");
        screen.press(key);
        let (status, shown) = screen.finish();
        assert_eq!(status.code(), Some(130), "{shown}");
        assert!(!place.home_config().exists() && !place.data().exists());
    }
}

#[test]
fn over_ssh_no_browser_is_started_and_the_way_is_shown() {
    let place = home(&["gemini"]);
    let opened = place.home().join("opened");
    program(
        &place.home().join("bin"),
        "xdg-open",
        &format!("touch '{}'", opened.display()),
    );
    let mut command = alone(&place);
    command
        .env("DISPLAY", ":0")
        .env("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
        .env("USER", "ann");
    let screen = start(&command);
    screen.wait_for("Which one?");
    screen.press("\r");
    screen.wait_for("2) Print a link for a browser");
    let _daemon = background(&place);
    screen.press("2\r");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(0), "{shown}");
    assert!(
        shown.contains("ssh -N -L ") && shown.contains(" ann@192.0.2.2"),
        "{shown}"
    );
    assert!(shown.contains("/#ticket="), "{shown}");
    assert!(!opened.exists());
}

#[test]
fn beside_a_browser_enter_opens_the_web_ui() {
    let place = home(&["gemini"]);
    let opened = place.home().join("opened");
    let browser = place.home().join("bin/browser");
    program(
        &place.home().join("bin"),
        "browser",
        &format!("echo \"$1\" > '{}'", opened.display()),
    );
    let mut command = alone(&place);
    command.env("BROWSER", &browser);
    let screen = start(&command);
    screen.wait_for("Which one?");
    screen.press("\r");
    screen.wait_for("1) Open the web UI");
    let _daemon = background(&place);
    screen.press("\r");
    wait_until("the browser", || {
        std::fs::read_to_string(&opened).is_ok_and(|page| page.starts_with("file://"))
    });
    screen.press("\u{3}");
    assert_eq!(screen.finish().0.code(), Some(0));
}

#[test]
fn a_vendors_program_is_offered_with_its_adapter() {
    let place = home(&["claude"]);
    // An npm that cannot install anything.
    program(
        &place.home().join("bin"),
        "npm",
        "grep realtime /proc/self/limits >&2; echo 'no network here' >&2; exit 1",
    );
    let screen = start(&alone(&place));
    screen.wait_for("1) claude-acp");
    screen.wait_for("(needs its adapter)");
    screen.press("\r");
    screen.wait_for("Install it with npm? [y/N]");
    screen.press("n\r");
    screen.wait_until("the question once more", |shown| {
        shown.matches("Which one?").count() == 2
    });
    screen.press("1\r");
    screen.wait_until("the second question", |shown| shown.matches("[y/N]").count() == 2);
    screen.press("y\r");
    screen.wait_for("no network here");
    // It has the mark of an agent, so that it is not the owner at the daemon's socket.
    if cfg!(target_os = "linux") {
        screen.wait_for("Max realtime timeout");
        let shown = screen.text();
        assert!(
            shown.contains("Max realtime timeout") && !shown.contains("unlimited"),
            "{shown}"
        );
    }
    screen.wait_until("the question once more", |shown| {
        shown.matches("Which one?").count() == 3
    });
    screen.press("\u{3}");
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(130), "{shown}");
    assert!(!place.home_config().exists());
}

#[test]
fn without_a_terminal_there_is_only_the_help() {
    let place = home(&["gemini"]);
    let bare = outcome(&mut alone(&place));
    assert_eq!(bare.code, Some(0), "{}", bare.stderr);
    assert!(bare.stdout.contains("First steps:"), "{}", bare.stdout);
    assert!(!place.data().exists() && !place.home_config().exists());
}

#[test]
fn a_wrong_configuration_is_said_before_anything_is_asked() {
    let place = home(&["gemini"]);
    std::fs::create_dir_all(place.home_config().parent().unwrap()).unwrap();
    std::fs::write(place.home_config(), "liste = 1\n").unwrap();
    let screen = start(&alone(&place));
    let (status, shown) = screen.finish();
    assert_eq!(status.code(), Some(2), "{shown}");
    assert!(shown.contains("unknown key \"liste\""), "{shown}");
}

/// Returns the menus that the first page of the documents shows: beside a browser, and without one.
fn documented_menus() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/getting-started.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```text\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("\n```").next());
    blocks
        .filter(|block| block.starts_with("acpd runs at "))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_menus_are_those_that_the_documents_show() {
    let menus = documented_menus();
    assert_eq!(menus.len(), 2, "{menus:?}");
    for (menu, has_browser) in menus.iter().zip([true, false]) {
        let place = home(&["gemini"]);
        let mut command = alone(&place);
        if has_browser {
            let bin = place.home().join("bin");
            program(&bin, "browser", "exit 0");
            command.env("BROWSER", bin.join("browser"));
        }
        let screen = start(&command);
        screen.wait_for("Which one?");
        screen.press("\r");
        screen.wait_for("or q to quit:");
        let _daemon = background(&place);
        let shown = screen.text();
        let address = shown.split("acpd runs at ").nth(1);
        let address = address.and_then(|rest| rest.split(".\n").next()).unwrap();
        let directory = place.work().canonicalize().unwrap();
        let as_documented = shown
            .replace(address, "http://127.0.0.1:4127")
            .replace(&*directory.to_string_lossy(), "/home/ann/site");
        assert!(
            as_documented.contains(menu),
            "documented:\n{menu}\nshown:\n{as_documented}"
        );
        screen.press("q\r");
        let (status, shown) = screen.finish();
        assert_eq!(status.code(), Some(0), "{shown}");
    }
}
