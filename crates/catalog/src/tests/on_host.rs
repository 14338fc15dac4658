//! The agents that are on a host already.

use std::path::PathBuf;

use super::Machine;
use crate::{Catalog, InstallMethod, LaunchMethod, OnHost, Presence, package_version, usual_places};

/// Returns what the shipped registry finds on a host.
fn found(machine: &Machine, places: &[PathBuf]) -> Vec<OnHost> {
    Catalog::new(&machine.data())
        .look()
        .on_host(&machine.path(), places)
}

#[test]
fn an_empty_host_has_no_agents() {
    assert_eq!(found(&Machine::new(), &[]), []);
    // A runner alone is no agent.
    let machine = Machine::new();
    machine.program("npx", "#!/bin/sh\n");
    machine.program("uvx", "#!/bin/sh\n");
    assert_eq!(found(&machine, &[]), []);
}

#[test]
fn an_agent_on_path_runs_as_it_is() {
    let machine = Machine::new();
    machine.program("gemini", "#!/bin/sh\n");
    machine.program("claude-agent-acp", "#!/bin/sh\n");
    // The adapter is there, so the vendor's program does not matter.
    machine.program("claude", "#!/bin/sh\n");
    let ids: Vec<_> = found(&machine, &[])
        .into_iter()
        .map(|agent| (agent.id, agent.presence))
        .collect();
    let runs = Presence::Runs(LaunchMethod::Path);
    assert_eq!(
        ids,
        [
            ("claude-acp".to_owned(), runs.clone()),
            ("gemini".to_owned(), runs)
        ]
    );
}

#[test]
fn a_vendors_program_needs_its_adapter() {
    let machine = Machine::new();
    let claude = machine.program("claude", "#!/bin/sh\n");
    let without_npm = &found(&machine, &[])[0];
    assert_eq!(without_npm.id, "claude-acp");
    let Presence::Adapter {
        program,
        install: Err(reason),
    } = &without_npm.presence
    else {
        panic!("{without_npm:?}");
    };
    assert_eq!(*program, claude);
    assert!(reason.contains("npm"), "{reason}");
    machine.program("npm", "#!/bin/sh\n");
    assert!(matches!(
        &found(&machine, &[])[0].presence,
        Presence::Adapter {
            install: Ok(InstallMethod::Npm),
            ..
        }
    ));
}

#[test]
fn a_program_beside_path_gets_a_command() {
    let machine = Machine::new();
    let place = machine.root.path().join("other");
    std::fs::create_dir(&place).expect("it can be made");
    super::executable(&place.join("gemini"), "#!/bin/sh\n");
    super::executable(&place.join("kimi"), "#!/bin/sh\n");
    machine.program("hermes-acp", "#!/bin/sh\n");
    let found: Vec<_> = found(&machine, std::slice::from_ref(&place))
        .into_iter()
        .map(|agent| (agent.id, agent.presence))
        .collect();
    let command = |command: PathBuf, args: &[&str]| Presence::Command {
        command: command.display().to_string(),
        args: args.iter().map(|&arg| arg.to_owned()).collect(),
    };
    assert_eq!(
        found,
        [
            ("gemini".to_owned(), command(place.join("gemini"), &["--acp"])),
            ("hermes".to_owned(), command("hermes-acp".into(), &[])),
            ("kimi-code".to_owned(), command(place.join("kimi"), &["acp"])),
        ]
    );
}

#[test]
fn the_usual_places_are_below_the_home_and_of_all_users() {
    let home = tempfile::tempdir().expect("it can be made");
    for version in ["v20.1.0", "v22.0.0"] {
        std::fs::create_dir_all(home.path().join(".nvm/versions/node").join(version))
            .expect("it can be made");
    }
    let places = usual_places(Some(home.path()));
    assert!(places.contains(&home.path().join(".local/bin")));
    let newest = places.iter().position(|place| place.ends_with("v22.0.0/bin"));
    let oldest = places.iter().position(|place| place.ends_with("v20.1.0/bin"));
    assert!(newest.is_some() && newest < oldest, "{places:?}");
    assert!(usual_places(None).iter().all(|place| place.is_absolute()));
}

#[test]
fn the_version_of_a_package_is_read_beside_its_program() {
    let machine = Machine::new();
    let package = machine.root.path().join("node_modules/@google/gemini-cli");
    std::fs::create_dir_all(package.join("dist")).expect("it can be made");
    super::executable(&package.join("dist/index.js"), "#!/usr/bin/env node\n");
    std::fs::write(package.join("package.json"), r#"{ "version": "0.61.0" }"#).expect("it is written");
    let link = machine.bin().join("gemini");
    std::os::unix::fs::symlink(package.join("dist/index.js"), &link).expect("it can be made");
    assert_eq!(package_version(&link).as_deref(), Some("0.61.0"));
    std::fs::write(package.join("package.json"), "no JSON").expect("it is written");
    assert_eq!(package_version(&link), None);
    // A description elsewhere is of another program.
    let other = machine.program("other", "#!/bin/sh\n");
    std::fs::write(machine.bin().join("package.json"), r#"{ "version": "9" }"#).expect("it is written");
    assert_eq!(package_version(&other), None);
}
