//! The web UI as browsers find it: the page itself, and the link that signs one in.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;
use support::{Daemon, Running, acpd, ask, body, header, send, signal, wait_until};

#[test]
fn the_page_is_there_for_everyone_and_may_do_nothing_but_come_from_here() {
    let daemon = Daemon::start();
    let host = daemon.address().to_string();
    for path in ["/", "/threads/any"] {
        let (status, page) = ask(daemon.address(), path, &[("Host", &host)]);
        assert_eq!(status, 200, "{page}");
        assert!(header(&page, "content-type").starts_with("text/html"), "{page}");
        let policy = header(&page, "content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        assert_eq!(header(&page, "x-frame-options"), "DENY");
    }
    let (status, missing) = ask(daemon.address(), "/api/nothing", &[("Host", &host)]);
    assert_eq!(
        (status, &body(&missing)["error"]["code"]),
        (404, &json!("not_found"))
    );
    let (status, _) = ask(daemon.address(), "/", &[("Host", "elsewhere.example")]);
    assert_eq!(status, 403, "a name that points here is not ours");
}

#[test]
fn the_link_signs_one_browser_in_and_no_second() {
    let daemon = Daemon::start();
    let opened = acpd(&daemon.place, &["open", "--print"]);
    assert_eq!(opened.code, Some(0), "{}", opened.stderr);
    let address = daemon.address();
    let start = format!("http://{address}/#ticket=");
    let ticket = opened
        .stdout
        .trim()
        .strip_prefix(&start)
        .unwrap_or_else(|| panic!("{}", opened.stdout));
    assert!(opened.stderr.contains("within 30 seconds"), "{}", opened.stderr);
    let host = address.to_string();
    let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
    let login = json!({ "ticket": ticket }).to_string();
    let (status, answer) = send(address, "POST", "/api/session", &headers, &login);
    assert_eq!(status, 200, "{answer}");
    assert!(header(&answer, "set-cookie").contains("HttpOnly"), "{answer}");
    assert_eq!(body(&answer)["role"], "owner");
    let (status, _) = send(address, "POST", "/api/session", &headers, &login);
    assert_eq!(status, 401);
}

/// `acpd open` with a browser that leaves its arguments in the file `opened`, all in one directory.
fn open_in(daemon: &Daemon, folder: &Path) -> (Running, PathBuf) {
    std::fs::create_dir(folder).expect("it can be made");
    let browser = folder.join("browser");
    let opened = folder.join("opened");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > '{0}.new'\nmv '{0}.new' '{0}'\n",
        opened.display()
    );
    std::fs::write(&browser, script).expect("it can be written");
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let mut command = daemon.place.command(&["open"]);
    command.env("BROWSER", &browser).env("XDG_RUNTIME_DIR", folder);
    let running = Running::start(&mut command);
    wait_until("the browser is opened", || opened.exists());
    let told = std::fs::read_to_string(&opened).expect("it is there");
    let page = told
        .trim_end()
        .strip_prefix("file://")
        .unwrap_or_else(|| panic!("{told}"));
    assert!(!told.contains("ticket"), "{told}");
    (running, PathBuf::from(page.replace("%20", " ")))
}

#[test]
fn a_browser_is_opened_without_the_ticket_in_any_arguments() {
    let daemon = Daemon::start();
    for folder in ["runtime", "with space"] {
        let folder = daemon.place.work().join(folder);
        let (running, page) = open_in(&daemon, &folder);
        assert!(page.starts_with(&folder), "{}", page.display());
        assert_eq!(
            std::fs::metadata(&page).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let text = std::fs::read_to_string(&page).unwrap();
        let start = format!("content=\"0;url=http://{}/#ticket=", daemon.address());
        let (_, link) = text.split_once(&start).unwrap_or_else(|| panic!("{text}"));
        let ticket = link.split('"').next().unwrap();
        let arguments = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
        assert!(!String::from_utf8_lossy(&arguments).contains(ticket));
        let host = daemon.address().to_string();
        let headers = [("Host", host.as_str()), ("Content-Type", "application/json")];
        let login = json!({ "ticket": ticket }).to_string();
        let (status, answer) = send(daemon.address(), "POST", "/api/session", &headers, &login);
        assert_eq!(status, 200, "{answer}");
        let outcome = running.finish();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(!page.exists(), "{}", page.display());
    }
}

#[test]
fn the_page_for_a_browser_is_gone_when_the_command_is_interrupted() {
    let daemon = Daemon::start();
    for (name, by) in [("a", Signal::INT), ("b", Signal::TERM)] {
        let (running, page) = open_in(&daemon, &daemon.place.work().join(name));
        assert!(page.exists());
        signal(running.pid(), by);
        running.finish();
        assert!(!page.exists(), "{}", page.display());
    }
}
