//! Folders of the host over the app protocol.

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use support::{Client, Daemon};

#[test]
fn a_client_chooses_a_folder_creates_one_and_works_there() {
    let daemon = Daemon::start();
    let mut client = Client::new(&daemon);
    let home = daemon.place.home().canonicalize().unwrap();
    for folder in ["code/app/.git", "code/lib", "code/.cache"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let mut list = |path: &str| client.call("folder/list", &json!({ "path": path }));
    let code = list("~/code");
    assert_eq!(
        code["folders"],
        json!([
            { "name": ".cache", "repository": false },
            { "name": "app", "repository": true },
            { "name": "lib", "repository": false },
        ])
    );
    assert_eq!(
        code["path"].as_str().unwrap(),
        format!("{}/code", code["home"].as_str().unwrap())
    );
    assert_eq!(
        (&code["parent"], &code["truncated"]),
        (&code["home"], &json!(false))
    );
    assert!(!code["host"].as_str().unwrap().is_empty());
    assert_eq!(list("/")["parent"], Value::Null);

    let mut create = |path: &str| client.try_call("folder/create", &json!({ "path": path }));
    let made = create("~/code/new").unwrap();
    assert_eq!(create("~/code/new").unwrap_err()["data"]["code"], "conflict");
    assert_eq!(create("~/nowhere/new").unwrap_err()["data"]["code"], "not_found");
    assert_eq!(create("relative").unwrap_err()["data"]["code"], "invalid_params");
    let thread = client.call(
        "thread/start",
        &json!({ "agentType": "fake", "cwd": made["path"] }),
    );
    assert_eq!(thread["thread"]["cwd"], made["path"]);

    let refused = |client: &mut Client, path: &str| {
        let refused = client.refused("folder/list", &json!({ "path": path }));
        refused["data"]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(&mut client, "~/code/none"), "not_found");
    let locked = home.join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root reads everything.
    if std::fs::read_dir(&locked).is_err() {
        assert_eq!(refused(&mut client, "~/locked"), "forbidden");
    }
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();
}
