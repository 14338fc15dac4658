//! `acpd policy`: reads the configuration and the remembered answers of an agent in the data directory. It requires no
//! daemon, and does not see answers that were remembered for a thread.

use std::sync::Arc;

use acpd_model::RawJson;
use acpd_model::similar::nearest;
use acpd_policy::{Effect, Explanation, Layers, Policy, Request};
use acpd_runtime::agent::registry::Agents;
use acpd_runtime::host::paths;
use acpd_runtime::policy::remembered;
use anyhow::{Context, bail};

use crate::cli::PolicyTestArgs;
use crate::exit::Exit;
use crate::path_text::path_text;
use crate::settings::Settings;
use crate::terminal::print;

/// `acpd policy test`.
pub fn test(settings: &Settings, args: &PolicyTestArgs) -> anyhow::Result<Exit> {
    let answers = args
        .agent
        .as_ref()
        .map(|name| remembered::remembered(&settings.daemon.data_dir, name))
        .transpose()?;
    let agent = match &args.agent {
        Some(name) => {
            let agents = Agents::fixed(settings.daemon.agent_book(), &settings.daemon.data_dir);
            if !agents.knows(name) {
                return Err(unknown(&agents, name));
            }
            let agent = settings.daemon.agents.get(name);
            agent.and_then(|agent| agent.policy.as_ref())
        }
        None => None,
    };
    let thread = args.thread_policy.as_deref().map(read_policy).transpose()?;
    let layers = Layers {
        daemon: settings.daemon.policy.as_ref(),
        agent,
        thread: thread.as_ref(),
        remembered: answers.as_deref().into_iter().collect(),
    };
    let explanation = layers.explain(&request(settings, args, &layers)?);
    if args.json {
        print::json(&serde_json::to_string(&explanation)?);
    } else {
        print::out(&in_words(&explanation));
    }
    Ok(match explanation.decision.effect {
        Effect::Allow => Exit::Success,
        Effect::Ask => Exit::PolicyAsks,
        Effect::Deny => Exit::PolicyDenies,
    })
}

fn unknown(agents: &Agents, name: &str) -> anyhow::Error {
    let known = agents.list();
    let advice = match nearest(name, known.iter().map(|agent| agent.id.as_str())) {
        Some(similar) => format!("did you mean {similar:?}?"),
        None => "\"acpd agents list\" lists the known agents".to_owned(),
    };
    Exit::NotFound.error(format!("agent {name:?} does not exist; {advice}"))
}

fn read_policy(text: &str) -> anyhow::Result<Policy> {
    let json = if text.trim_start().starts_with('{') {
        text.to_owned()
    } else {
        serde_json::to_string(text)?
    };
    serde_json::from_str(&json).context("--thread-policy is not a valid policy")
}

fn request(settings: &Settings, args: &PolicyTestArgs, layers: &Layers<'_>) -> anyhow::Result<Request> {
    let cwd = match &args.cwd {
        Some(cwd) => std::path::absolute(cwd)?,
        None => std::env::current_dir().context("the current directory is not known")?,
    };
    let cwd = path_text(&cwd)?;
    let cwd = cwd.as_str();
    let request = if let Some(line) = &args.subject.bash {
        Request::command_line(line, cwd)
    } else if let Some(path) = &args.subject.read {
        Request::read_file(path, cwd)
    } else if let Some(path) = &args.subject.write {
        Request::write_file(path, cwd)
    } else if let Some(name) = &args.subject.mcp {
        let (server, tool) = name
            .split_once('/')
            .context("--mcp takes a server and a tool, as in --mcp github/create_issue")?;
        Request::mcp(server, tool, cwd)
    } else if let Some(json) = &args.subject.tool_call {
        let call = RawJson::parse(json.as_str()).context("--tool-call is not valid JSON")?;
        Request::from_tool_call(&call, cwd)
    } else {
        bail!("nothing to test: pass --bash, --read, --write, --mcp or --tool-call");
    };
    let request = match std::env::var("HOME") {
        Ok(home) => request.with_home(&home),
        Err(_) => request,
    };
    let reserved = Arc::new(settings.daemon.reserved());
    Ok(paths::with_real_paths(request, layers, cwd, reserved))
}

fn in_words(explanation: &Explanation) -> String {
    let decision = &explanation.decision;
    let effect = word(decision.effect);
    let mut text = format!("{effect}: {}\n", decision.reason);
    for subject in &explanation.subjects {
        let decision = &subject.decision;
        text.push_str(&format!("\n  {}: {}\n", decision.subject, word(decision.effect)));
        for rule in &subject.rules {
            let mark = if rule.decided { "*" } else { " " };
            let list = serde_json::to_string(&rule.list).unwrap_or_default();
            let list = list.trim_matches('"');
            text.push_str(&format!("  {mark} {} {list} {}\n", rule.scope.name(), rule.rule));
        }
    }
    text
}

fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "allow",
        Effect::Ask => "ask",
        Effect::Deny => "deny",
    }
}
