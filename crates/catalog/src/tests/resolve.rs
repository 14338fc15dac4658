//! Tests of the search order for an agent's program.

use super::super::{CatalogError, LaunchMethod};
use super::{Machine, binary, plainly};

/// An entry named `gemini` whose package provides a program that acpd knows.
const GEMINI: &str = r#"{ "id": "gemini", "name": "Gemini", "version": "2.0.0",
    "distribution": { "npx": { "package": "@google/gemini-cli@2.0.0", "args": ["--acp"], "env": { "A": "b" } } } }"#;
const PYTHON: &str = r#"{ "id": "py", "name": "Py", "version": "1.0.0",
    "distribution": { "uvx": { "package": "py-agent==1.0.0", "args": ["acp"] } } }"#;

fn words(launch: &super::super::Launch) -> Vec<String> {
    let command = launch.command.file_name().unwrap().to_str().unwrap().to_owned();
    let rest = launch.before.iter().chain(&launch.args).cloned();
    std::iter::once(command).chain(rest).collect()
}

#[test]
fn path_then_installed_then_the_runner() {
    let machine = Machine::new();
    machine.registry(GEMINI);
    let catalog = machine.catalog();
    let launch = || catalog.look().launch("gemini", &machine.path());

    let missing = launch().unwrap_err().to_string();
    assert_eq!(
        missing,
        "the agent \"gemini\" needs npx, which is not on PATH: install Node.js 22 or later"
    );

    machine.program("npx", "");
    let npx = launch().unwrap();
    assert_eq!(npx.how, LaunchMethod::Npx);
    assert_eq!(words(&npx), ["npx", "--yes", "@google/gemini-cli@2.0.0", "--acp"]);
    assert_eq!(
        (npx.env["A"].as_str(), &npx.pass_env[..]),
        ("b", &["GEMINI_*".to_owned(), "GOOGLE_*".to_owned()][..])
    );

    machine.program("npm", super::install::NPM);
    catalog.install("gemini", plainly(&machine.path())).unwrap();
    let installed = launch().unwrap();
    assert_eq!(installed.how, LaunchMethod::Installed);
    assert!(
        installed.command.ends_with("node_modules/.bin/gemini"),
        "{installed:?}"
    );
    assert!(installed.command.starts_with(machine.data()));
    assert_eq!(words(&installed), ["gemini", "--acp"]);
    assert_eq!((&installed.env, &installed.pass_env), (&npx.env, &npx.pass_env));

    let own = machine.program("gemini", "");
    let on_path = launch().unwrap();
    assert_eq!((on_path.how, &on_path.command), (LaunchMethod::Path, &own));
    assert_eq!(words(&on_path), ["gemini", "--acp"]);
}

#[test]
fn files_that_are_not_executable_are_not_found() {
    let machine = Machine::new();
    machine.registry(GEMINI);
    std::fs::write(machine.bin().join("gemini"), "").unwrap();
    std::fs::create_dir(machine.bin().join("npx")).unwrap();
    assert!(matches!(
        machine.catalog().look().launch("gemini", &machine.path()),
        Err(CatalogError::NeedsNode { program: "npx", .. })
    ));
}

#[test]
fn each_kind_says_what_it_needs() {
    let machine = Machine::new();
    let elsewhere = r#"{ "id": "moon", "name": "M", "version": "1.0.0",
        "distribution": { "binary": { "moon-z80": { "archive": "https://x/y.zip", "cmd": "./y" } } } }"#;
    let entries = [
        PYTHON,
        &binary("bin", "https://x/y.zip", "./bin-agent", None),
        elsewhere,
    ];
    machine.registry(&entries.join(","));
    let catalog = machine.catalog();
    let said = |id: &str| {
        catalog
            .look()
            .launch(id, &machine.path())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        said("py"),
        "the agent \"py\" needs uvx, which is not on PATH: install uv, or run \"acpd agents install py\""
    );
    assert_eq!(
        said("bin"),
        "the agent \"bin\" is not installed: run \"acpd agents install bin\""
    );
    assert!(
        said("moon").starts_with("the registry has nothing of the agent \"moon\" for "),
        "{}",
        said("moon")
    );
    assert!(matches!(
        catalog.look().launch("nobody", ""),
        Err(CatalogError::Unknown(_))
    ));
    // A name must not lead to another directory.
    assert!(matches!(
        catalog.look().launch("../bin", ""),
        Err(CatalogError::Unknown(_))
    ));

    machine.program("uvx", "");
    let uvx = catalog.look().launch("py", &machine.path()).unwrap();
    assert_eq!(
        (uvx.how, words(&uvx)),
        (
            LaunchMethod::Uvx,
            ["uvx", "py-agent==1.0.0", "acp"].map(str::to_owned).to_vec()
        )
    );
    machine.program("bin-agent", "");
    let own = catalog.look().launch("bin", &machine.path()).unwrap();
    assert_eq!(
        (own.how, words(&own)),
        (
            LaunchMethod::Path,
            ["bin-agent", "acp"].map(str::to_owned).to_vec()
        )
    );
}

#[test]
fn a_configured_command_that_is_missing_has_a_stand_in() {
    let machine = Machine::new();
    machine.registry(GEMINI);
    let catalog = machine.catalog();
    assert!(catalog.look().stand_in("vim", &machine.path()).is_none());
    assert!(
        catalog
            .look()
            .stand_in("gemini", &machine.path())
            .unwrap()
            .is_err()
    );
    machine.program("npx", "");
    let launch = catalog
        .look()
        .stand_in("gemini", &machine.path())
        .unwrap()
        .unwrap();
    assert_eq!(
        (launch.how, launch.before),
        (
            LaunchMethod::Npx,
            vec!["--yes".to_owned(), "@google/gemini-cli@2.0.0".to_owned()]
        )
    );
}

#[test]
fn an_agent_that_confines_itself_is_known_however_it_runs() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "codex-acp", "name": "C", "version": "1.0.0", "distribution": {
            "npx": { "package": "@agentclientprotocol/codex-acp@1.0.0" } } }"#,
    );
    machine.program("npx", "");
    let launch = || machine.catalog().look().launch("codex-acp", &machine.path());
    for how in [LaunchMethod::Npx, LaunchMethod::Path] {
        let found = launch().unwrap();
        assert_eq!((found.how, found.confines_itself), (how, true));
        machine.program("codex-acp", "");
    }
}

/// A document may name packages of several other agents. Only the one that runs opens its files.
#[test]
fn only_the_package_that_runs_opens_its_files() {
    let machine = Machine::new();
    let entry = format!(
        r#"{{ "id": "goose", "name": "G", "version": "1.0.0", "distribution": {{
            "npx": {{ "package": "@google/gemini-cli@2.0.0" }}, "uvx": {{ "package": "fast-agent-mcp==1.0.0" }},
            "binary": {{ "{}": {{ "archive": "https://x/y.zip", "cmd": "./goose" }} }} }} }}"#,
        super::super::registry::platform()
    );
    machine.registry(&entry);
    let launch = || machine.catalog().look().launch("goose", &machine.path()).unwrap();
    let homes = || launch().homes;
    machine.program("uvx", "");
    assert_eq!(
        (homes(), launch().pass_env),
        (vec!["$HOME/.fast-agent"], vec!["FAST_AGENT_*".to_owned()])
    );
    machine.program("npx", "");
    assert_eq!(homes(), ["$HOME/.gemini"]);
    assert_eq!(launch().pass_env, ["GEMINI_*", "GOOGLE_*"]);
    machine.program("npm", super::install::NPM);
    machine
        .catalog()
        .install("goose", plainly(&machine.path()))
        .unwrap();
    std::fs::remove_file(machine.bin().join("npx")).unwrap();
    assert_eq!(homes(), ["$HOME/.gemini"], "it is installed");
    machine.program("goose", "");
    assert_eq!(homes()[0], "$XDG_CONFIG_HOME/goose");
    assert!(launch().pass_env.is_empty());
    machine.program("fast-agent-mcp", "");
    assert_eq!(homes(), ["$HOME/.fast-agent"]);
}

/// Some agents are published as a package and as a binary.
#[test]
fn a_binary_opens_the_files_of_its_package() {
    let machine = Machine::new();
    machine.registry(&format!(
        r#"{{ "id": "opencode", "name": "O", "version": "1.0.0", "distribution": {{
            "binary": {{ "{}": {{ "archive": "https://x/y.zip", "cmd": "./opencode" }} }} }} }}"#,
        super::super::registry::platform()
    ));
    machine.program("opencode", "");
    let launch = machine
        .catalog()
        .look()
        .launch("opencode", &machine.path())
        .unwrap();
    assert_eq!(launch.homes[0], "$XDG_CONFIG_HOME/opencode");
    assert_eq!(launch.pass_env, ["OPENCODE_*"]);
}
