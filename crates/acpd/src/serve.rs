//! `acpd serve`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use acpd_gateway::{AgentConfig, Daemon, Token};
use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::background::Running;
use crate::cli::{LogFormat, ServeArgs};
use crate::settings::Settings;

/// Serves until SIGINT or SIGTERM.
pub fn serve(mut settings: Settings, args: &ServeArgs) -> anyhow::Result<ExitCode> {
    start_logging(args.log_format);
    if args.demo {
        settings
            .daemon
            .agents
            .entry("demo".to_owned())
            .or_insert(demo_agent()?);
    }
    // This same program; where it is cannot always be known, and then the next start ends what is left.
    settings.daemon.keeper = std::env::current_exe().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve_until_told(settings))?;
    Ok(ExitCode::SUCCESS)
}

/// How often the configuration file is looked at for other policies.
const LOOK_AT_CONFIG: Duration = Duration::from_secs(1);

/// What changes when a file is written.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let file = std::fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len()))
}

/// A file that cannot be read changes nothing: an agent must not be allowed more because of a slip of the pen.
fn take_policies(daemon: &Daemon, path: &Path) {
    match Settings::policies(path).map(|policies| daemon.set_policies(policies)) {
        Ok(true) => tracing::info!("the policies have changed"),
        Ok(false) => {}
        Err(error) => tracing::error!("the policies stay as they are: {error:#}"),
    }
}

async fn serve_until_told(settings: Settings) -> anyhow::Result<()> {
    // Before anything else, so that no signal finds us without a handler.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The terminal that a daemon was started from may close; from somebody else it means "read the policies again".
    let mut hangup = signal(SignalKind::hangup())?;
    let path = settings.config_path.clone();
    let token = settings.token.as_deref().map(Token::given).transpose()?;
    let data_dir = settings.daemon.data_dir.clone();
    let agents: Vec<_> = settings.daemon.agents.keys().cloned().collect();
    let daemon = Daemon::start(settings.daemon, token).await?;
    let running = Running::announce(&data_dir, daemon.address()).context("the daemon cannot be announced")?;
    let agents = if agents.is_empty() {
        "none configured".to_owned()
    } else {
        agents.join(", ")
    };
    let mut out = std::io::stdout();
    // Whoever started us may not be listening; that is no reason not to serve.
    let _ = writeln!(
        out,
        "acpd listens on http://{}\nagents: {agents}\naccess token: {}",
        daemon.address(),
        Token::path(&data_dir).display()
    );
    tracing::info!(address = %daemon.address(), data_dir = %data_dir.display(), "ready");
    let keep_policies = async {
        let mut look = tokio::time::interval(LOOK_AT_CONFIG);
        // The first look is at a file that may have changed since the settings were read.
        let mut seen = None;
        loop {
            let told = tokio::select! {
                _ = look.tick() => false,
                _ = hangup.recv() => true,
            };
            let now = stamp(&path);
            if told || now != seen {
                seen = now;
                take_policies(&daemon, &path);
            }
        }
    };
    tokio::select! {
        () = keep_policies => {}
        _ = terminate.recv() => tracing::info!("told to stop by SIGTERM"),
        _ = interrupt.recv() => tracing::info!("told to stop by SIGINT"),
    }
    running.withdraw();
    daemon.stop().await;
    Ok(())
}

fn start_logging(format: LogFormat) {
    let filter = EnvFilter::try_from_env("ACPD_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// The scripted agent that is built beside this program.
fn demo_agent() -> anyhow::Result<AgentConfig> {
    let path = std::env::current_exe()?.with_file_name("acpd-fake-agent");
    anyhow::ensure!(
        path.is_file(),
        "the demo agent {} is not built: run cargo build",
        path.display()
    );
    Ok(AgentConfig {
        command: path.to_string_lossy().into_owned(),
        args: Vec::new(),
        env: std::collections::BTreeMap::new(),
        pass_env: Vec::new(),
        title: Some("Demo agent".to_owned()),
        share: false,
        quirks: acpd_gateway::Quirks::default(),
        policy: None,
    })
}
