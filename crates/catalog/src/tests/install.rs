//! Tests of `acpd agents install`.

use std::os::unix::fs::PermissionsExt;

use acpd_loopback::{serve, sha256};

use super::super::{CatalogError, Installer, LaunchMethod, Phase};
use super::{Item, Machine, binary, bz2, gz, plainly, tar, zip};

/// An npm that records its arguments and creates the files that the real one would.
pub const NPM: &str = r#"
printf '%s\n' "$@" > "$3/npm-args"
/bin/mkdir -p "$3/node_modules/@google/gemini-cli" "$3/node_modules/.bin"
echo '{ "bin": { "gemini": "x.js" } }' > "$3/node_modules/@google/gemini-cli/package.json"
: > "$3/node_modules/.bin/gemini"
/bin/chmod +x "$3/node_modules/.bin/gemini""#;

const AGENT: &str = "#!/bin/sh\necho I run\n";

fn items() -> Vec<Item<'static>> {
    vec![
        Item::Dir("dist/"),
        Item::File("dist/agent", AGENT, 0o644),
        Item::File("dist/tool", "", 0o6711),
        Item::File("./lib/deep/data", "data", 0o644),
        Item::Link("dist/data", "../lib/deep/data"),
    ]
}

#[test]
fn a_binary_is_checked_unpacked_and_run() {
    for (path, archive) in [
        ("/a.tar.gz", gz(&tar(&items()))),
        ("/a.tgz", gz(&tar(&items()))),
        ("/a.tar.bz2", bz2(&tar(&items()))),
        ("/a.zip", zip(&items())),
    ] {
        let machine = Machine::new();
        let sum = sha256(&archive).to_uppercase();
        let address = serve(|_| [(path, archive.into())]);
        machine.registry(&binary(
            "agent",
            &format!("http://{address}{path}"),
            "./dist/agent",
            Some(&sum),
        ));
        let installed = machine
            .catalog()
            .install("agent", plainly(&machine.path()))
            .unwrap();
        assert_eq!(installed.version, "1.0.0");
        let launch = machine.catalog().look().launch("agent", &machine.path()).unwrap();
        assert_eq!(
            (launch.how, &launch.command, &launch.args[..]),
            (
                LaunchMethod::Installed,
                &installed.command,
                &["acp".to_owned()][..]
            )
        );
        let said = std::process::Command::new(&launch.command)
            .output()
            .unwrap()
            .stdout;
        assert_eq!(said, b"I run\n", "{path}");
        let dist = installed.command.parent().unwrap();
        assert_eq!(std::fs::read(dist.join("data")).unwrap(), b"data", "{path}");
        let mode = |name| std::fs::metadata(dist.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("agent"), mode("tool") & 0o7700), (0o755, 0o700), "{path}");
        assert_eq!(machine.left("agent").len(), 2, "{:?}", machine.left("agent"));
    }
}

#[test]
fn a_bare_program_is_put_where_the_registry_says() {
    let machine = Machine::new();
    let address = serve(|_| [("/agent-x", AGENT.into())]);
    let sum = sha256(AGENT.as_bytes());
    machine.registry(&binary(
        "agent",
        &format!("http://{address}/agent-x"),
        "./bin/agent",
        Some(&sum),
    ));
    let installed = machine.catalog().install("agent", plainly("")).unwrap();
    let said = std::process::Command::new(&installed.command)
        .output()
        .unwrap()
        .stdout;
    assert_eq!(said, b"I run\n");
}

#[test]
fn an_uninstalled_agent_leaves_nothing_behind() {
    let machine = Machine::new();
    let address = serve(|_| [("/agent-x", AGENT.into())]);
    let sum = sha256(AGENT.as_bytes());
    machine.registry(&binary(
        "agent",
        &format!("http://{address}/agent-x"),
        "./agent",
        Some(&sum),
    ));
    let catalog = machine.catalog();
    assert_eq!(catalog.uninstall("agent").unwrap(), None);
    catalog.install("agent", plainly("")).unwrap();
    std::fs::write(machine.data().join("outside"), "").unwrap();
    for id in ["..", "agent/..", "", "/etc"] {
        assert_eq!(catalog.uninstall(id).unwrap(), None, "{id}");
    }
    assert_eq!(catalog.uninstall("agent").unwrap().as_deref(), Some("1.0.0"));
    assert_eq!(machine.left("agent"), Vec::<String>::new());
    assert!(catalog.look().launch("agent", "").is_err());
    assert_eq!(catalog.uninstall("agent").unwrap(), None);
    catalog.install("agent", plainly("")).unwrap();
}

#[test]
fn a_wrong_checksum_installs_nothing_and_keeps_what_was_there() {
    let machine = Machine::new();
    let good = gz(&tar(&items()));
    // This archive would also fail to unpack, but the checksum is verified first.
    let evil = gz(&tar(&[Item::File("../evil", "x", 0o755)]));
    let sum = sha256(&good);
    let address = serve(|_| [("/good.tgz", good.into()), ("/evil.tgz", evil.into())]);
    let entry = |path: &str| {
        binary(
            "agent",
            &format!("http://{address}{path}"),
            "./dist/agent",
            Some(&sum),
        )
    };
    machine.registry(&entry("/evil.tgz"));
    let refused = machine.catalog().install("agent", plainly(""));
    assert!(
        matches!(&refused, Err(CatalogError::Checksum { wanted, .. }) if *wanted == sum),
        "{refused:?}"
    );
    assert_eq!(machine.left("agent"), Vec::<String>::new());
    assert!(machine.catalog().look().launch("agent", "").is_err());

    machine.registry(&entry("/good.tgz"));
    let installed = machine.catalog().install("agent", plainly("")).unwrap();
    let before = machine.left("agent");
    for path in ["/evil.tgz", "/missing.tgz"] {
        machine.registry(&entry(path));
        assert!(machine.catalog().install("agent", plainly("")).is_err());
        assert_eq!(machine.left("agent"), before);
    }
    assert_eq!(
        machine.catalog().look().launch("agent", "").unwrap().command,
        installed.command
    );
}

#[test]
fn the_version_before_stays_until_the_next_one() {
    let machine = Machine::new();
    let archive = gz(&tar(&items()));
    let sum = sha256(&archive);
    let address = serve(|_| [("/a.tgz", archive.into())]);
    machine.registry(&binary(
        "agent",
        &format!("http://{address}/a.tgz"),
        "./dist/agent",
        Some(&sum),
    ));
    let install = || machine.catalog().install("agent", plainly("")).unwrap().command;
    let (first, second, third) = (install(), install(), install());
    assert!(first != second && second != third);
    assert_eq!(
        [&first, &second, &third].map(|path| path.exists()),
        [false, true, true]
    );
    assert_eq!(
        machine.catalog().look().launch("agent", "").unwrap().command,
        third
    );
}

#[test]
fn downloads_without_checksum_need_consent() {
    let machine = Machine::new();
    let address = serve(|_| [("/a.tgz", gz(&tar(&items())).into())]);
    machine.registry(&binary(
        "agent",
        &format!("http://{address}/a.tgz"),
        "./dist/agent",
        None,
    ));
    let refused = machine.catalog().install("agent", plainly(""));
    assert!(
        matches!(refused, Err(CatalogError::NoChecksum { .. })),
        "{refused:?}"
    );
    machine
        .catalog()
        .install(
            "agent",
            Installer {
                unverified: true,
                ..plainly("")
            },
        )
        .unwrap();
}

#[test]
fn an_archive_without_the_program_is_refused() {
    let machine = Machine::new();
    let archive = gz(&tar(&[
        Item::Link("agent", "elsewhere"),
        Item::File("other", "x", 0o755),
    ]));
    let sum = sha256(&archive);
    let address = serve(|_| [("/a.tgz", archive.into())]);
    for cmd in ["./agent", "./none"] {
        machine.registry(&binary(
            "agent",
            &format!("http://{address}/a.tgz"),
            cmd,
            Some(&sum),
        ));
        let error = machine
            .catalog()
            .install("agent", plainly(""))
            .unwrap_err()
            .to_string();
        assert!(error.contains("it has no program"), "{error}");
        assert_eq!(machine.left("agent"), Vec::<String>::new());
    }
}

#[test]
fn an_npm_package_is_installed_without_a_shell() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "gemini", "name": "G", "version": "1.0.0", "distribution": { "npx": { "package": "@google/gemini-cli@1.0.0" } } }"#,
    );
    let install = || machine.catalog().install("gemini", plainly(&machine.path()));
    assert!(matches!(
        install(),
        Err(CatalogError::NeedsNode { program: "npm", .. })
    ));
    machine.program("npm", "exit 3");
    let error = install().unwrap_err().to_string();
    assert!(
        error.contains("could not install @google/gemini-cli@1.0.0: it ended with exit status: 3"),
        "{error}"
    );
    assert_eq!(machine.left("gemini"), Vec::<String>::new());

    machine.program("npm", NPM);
    let installed = install().unwrap();
    let folder = installed.command.ancestors().nth(3).unwrap();
    let args = std::fs::read_to_string(folder.join("npm-args")).unwrap();
    let folder = folder.display().to_string();
    assert_eq!(
        args.lines().collect::<Vec<_>>(),
        [
            "install",
            "--prefix",
            &folder,
            "--cache",
            &format!("{folder}/cache"),
            "--ignore-scripts",
            "--allow-git=none",
            "--global=false",
            "--no-audit",
            "--no-fund",
            "--",
            "@google/gemini-cli@1.0.0"
        ]
    );
}

#[test]
fn a_python_package_gets_an_environment_of_its_own() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "py", "name": "P", "version": "1.0.0", "distribution": { "uvx": { "package": "py-agent@1.0.0", "args": ["acp"] } } }"#,
    );
    let install = || machine.catalog().install("py", plainly(&machine.path()));
    assert!(matches!(install(), Err(CatalogError::NeedsPython { .. })));

    // Creates a venv whose python records the packages that it should install.
    machine.program(
        "python3",
        r#"/bin/mkdir -p "$3/bin"
printf '#!/bin/sh\necho "$@" > pip-args\n: > venv/bin/py-agent\n' > "$3/bin/python"
/bin/chmod +x "$3/bin/python""#,
    );
    let installed = install().unwrap();
    assert!(installed.command.ends_with("venv/bin/py-agent"), "{installed:?}");
    let folder = installed.command.ancestors().nth(3).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.join("pip-args")).unwrap(),
        "-m pip install --disable-pip-version-check --only-binary :all: -- py-agent==1.0.0\n"
    );

    // uv is preferred if it is available.
    machine.program(
        "uv",
        r#"echo "$*" >> uv-args; echo "$UV_LINK_MODE $UV_PYTHON_INSTALL_DIR" > uv-settings; /bin/mkdir -p venv/bin; : > venv/bin/py-agent"#,
    );
    let installed = install().unwrap();
    let folder = installed.command.ancestors().nth(3).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.join("uv-args")).unwrap(),
        format!(
            "venv venv\npip install --python {}/venv/bin/python --no-build -- py-agent==1.0.0\n",
            folder.display()
        )
    );
    assert_eq!(
        std::fs::read_to_string(folder.join("uv-settings")).unwrap(),
        format!("copy {}/python\n", folder.display())
    );
    let path = machine.path();
    let builds = Installer {
        scripts: true,
        ..plainly(&path)
    };
    let built = machine.catalog().install("py", builds).unwrap();
    let folder = built.command.ancestors().nth(3).unwrap();
    let args = std::fs::read_to_string(folder.join("uv-args")).unwrap();
    assert!(!args.contains("--no-build"), "{args}");
}

/// An npm that records what it runs and where its caches are, and lists a package with an install script.
const SCRIPTED: &str = r#"
echo "$1 $6 $TMPDIR" >> "$3/runs"
/bin/mkdir -p "$3/node_modules/@google/gemini-cli" "$3/node_modules/.bin" "$5"
: > "$5/packument"
echo '{ "bin": "x.js" }' > "$3/node_modules/@google/gemini-cli/package.json"
: > "$3/node_modules/.bin/gemini-cli"
echo '{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0" },
    "node_modules/a/node_modules/@s/b": { "version": "2.0.0", "hasInstallScript": true } } }' \
    > "$3/node_modules/.package-lock.json""#;

#[test]
fn install_scripts_run_only_if_wanted_and_are_named() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "gemini", "name": "G", "version": "1.0.0", "distribution": { "npx": { "package": "@google/gemini-cli@1.0.0" } } }"#,
    );
    machine.program("npm", SCRIPTED);
    let path = machine.path();
    let phases = std::sync::Mutex::new(Vec::new());
    let confine = |program: &std::path::Path, into: &std::path::Path, phase: Phase| {
        assert_eq!(program, machine.bin().join("npm"));
        assert!(into.starts_with(machine.data()));
        phases.lock().unwrap().push(phase);
        Ok(None)
    };
    for (scripts, left, ran) in [
        (false, &["@s/b@2.0.0"][..], &["install --ignore-scripts"][..]),
        (
            true,
            &[],
            &["install --ignore-scripts", "rebuild --ignore-scripts=false"],
        ),
    ] {
        let installer = Installer {
            scripts,
            confine: &confine,
            ..plainly(&path)
        };
        let installed = machine.catalog().install("gemini", installer).unwrap();
        assert_eq!(installed.scripts_left, left);
        assert_eq!(machine.catalog().look().installed["gemini"].scripts_left, left);
        let folder = installed.command.ancestors().nth(3).unwrap();
        let ran: Vec<_> = ran
            .iter()
            .map(|ran| format!("{ran} {}/cache/tmp", folder.display()))
            .collect();
        let runs = std::fs::read_to_string(folder.join("runs")).unwrap();
        assert_eq!(runs.lines().collect::<Vec<_>>(), ran);
        assert!(!folder.join("cache").exists(), "no later installation uses it");
    }
    assert_eq!(
        *phases.lock().unwrap(),
        [Phase::Fetch, Phase::Fetch, Phase::Scripts]
    );
}

/// An npm that ignores `--allow-git`, as old versions do, and lists a package from git.
const CLONING: &str = r#"
echo "$npm_config_git" >> "${0%/*}/git"
/bin/mkdir -p "$3/node_modules"
echo '{ "packages": { "": {}, "node_modules/a": { "version": "1.0.0", "resolved": "https://r/a.tgz" }, "node_modules/@s/b": {
    "version": "2.0.0", "resolved": "git+ssh://git@github.com/s/b.git#0123" } } }' > "$3/node_modules/.package-lock.json""#;

#[test]
fn a_package_from_git_is_refused_by_every_npm() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "gemini", "name": "G", "version": "1.0.0", "distribution": { "npx": { "package": "@google/gemini-cli@1.0.0" } } }"#,
    );
    machine.program("npm", CLONING);
    let path = machine.path();
    for scripts in [false, true] {
        let installer = Installer {
            scripts,
            ..plainly(&path)
        };
        let refused = machine.catalog().install("gemini", installer);
        assert!(
            matches!(&refused, Err(CatalogError::FromGit { dependency, .. }) if dependency == "@s/b@2.0.0"),
            "{refused:?}"
        );
        assert_eq!(machine.left("gemini"), Vec::<String>::new());
    }
    let git = std::fs::read_to_string(machine.bin().join("git")).unwrap();
    assert_eq!(git, "/dev/null\n/dev/null\n");
}

#[test]
fn a_list_of_packages_that_cannot_be_read_is_refused() {
    let machine = Machine::new();
    machine.registry(
        r#"{ "id": "gemini", "name": "G", "version": "1.0.0", "distribution": { "npx": { "package": "@google/gemini-cli@1.0.0" } } }"#,
    );
    let npm = format!("{NPM}\necho none > \"$3/node_modules/.package-lock.json\"");
    machine.program("npm", &npm);
    let refused = machine.catalog().install("gemini", plainly(&machine.path()));
    assert!(matches!(refused, Err(CatalogError::Disk { .. })), "{refused:?}");
}

#[test]
fn two_at_once_do_not_meet() {
    let machine = Machine::new();
    machine.registry(&binary(
        "agent",
        "https://example.invalid/a.tgz",
        "./a",
        Some(&"0".repeat(64)),
    ));
    let home = machine.data().join("agents/agent");
    std::fs::create_dir_all(&home).unwrap();
    let lock = std::fs::File::create(home.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let refused = machine.catalog().install("agent", plainly(""));
    assert!(matches!(refused, Err(CatalogError::Busy(_))), "{refused:?}");
}

#[test]
fn records_that_point_elsewhere_are_ignored() {
    let machine = Machine::new();
    let home = machine.data().join("agents/agent");
    std::fs::create_dir_all(home.join("v1")).unwrap();
    std::fs::write(home.join("v1/x"), "").unwrap();
    let file = home.join("installed.json");
    let record = |folder: &str, command: &str| {
        let record = format!(
            r#"{{ "name": "A", "version": "1", "folder": "{folder}", "command": "{command}", "args": [], "env": {{}}, "package": "a" }}"#
        );
        std::fs::write(&file, record).unwrap();
    };
    for (folder, command) in [
        ("..", "x"),
        ("v1", "../../../../bin/sh"),
        ("v1", "/bin/sh"),
        ("v1", "missing"),
    ] {
        record(folder, command);
        assert!(
            machine.catalog().look().installed.is_empty(),
            "{folder} {command}"
        );
    }
    // Earlier versions of acpd wrote it with this mode.
    record("v1", "x");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(machine.catalog().look().installed["agent"].version, "1");
}
