//! `acpd serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use acpd_runtime::agent::config::AgentConfig;
use acpd_server::Daemon;
use acpd_server::auth::owner_token::Token;
use acpd_server::auth::tokens;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, ServeArgs};
use crate::daemon::background::Running;
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::print::has_colors;

/// Runs the daemon until SIGINT or SIGTERM.
pub fn serve(mut settings: Settings, args: &ServeArgs) -> anyhow::Result<Exit> {
    acpd_host::give_back_large_buffers();
    start_logging(args.log_format);
    if args.demo {
        settings
            .daemon
            .agents
            .entry("demo".to_owned())
            .or_insert(demo_agent()?);
    }
    settings.daemon.server.insecure_listen |= args.insecure_listen;
    // The keeper runs this same program. Its path may be unknown; then the next daemon terminates leftover processes.
    settings.daemon.keeper = std::env::current_exe().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // While all workers are busy, for example with a flooding terminal, they poll for I/O only after this many
        // tasks. Tokio's default of 61 delayed updates of other threads by up to 80 ms; this value delays them by up to
        // 30 ms.
        .event_interval(8)
        .enable_all()
        .build()?;
    runtime.block_on(serve_until_stopped(settings, args.repeated()))?;
    Ok(Exit::Success)
}

/// Interval at which the daemon checks its configuration, tokens and certificate files for changes.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);

/// Modification time, size and inode: differs when a file is written or replaced.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len(), file.ino()))
}

/// A file that is reloaded when it changes.
struct Watched {
    path: PathBuf,
    seen: Stamp,
}

impl Watched {
    fn new(path: PathBuf) -> Self {
        let seen = stamp(&path);
        Self { path, seen }
    }

    /// Creates a watch that reports a change at the first check, if the file exists.
    fn unseen(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    fn has_changed(&mut self) -> bool {
        let now = stamp(&self.path);
        std::mem::replace(&mut self.seen, now) != now
    }
}

/// Keeps the current policies if the file is invalid: a typing error must not allow an agent more.
fn take_policies(daemon: &Daemon, path: &Path) {
    match Settings::policies(path).map(|policies| daemon.set_policies(policies)) {
        Ok(true) => tracing::info!("reloaded policies"),
        Ok(false) => {}
        Err(error) => tracing::error!("policies not reloaded: {error:#}"),
    }
}

/// Keeps the current certificate if the files are invalid: while they are renewed, only one of the pair is new.
fn take_certificate(daemon: &Daemon) {
    match daemon.reload_certificate() {
        Ok(()) => tracing::info!("reloaded certificate"),
        Err(error) => tracing::error!("certificate not reloaded: {error}"),
    }
}

async fn take_tokens(daemon: &Daemon) {
    if let Err(error) = daemon.reload_keys().await {
        tracing::error!("tokens not reloaded: {error}");
    }
}

async fn serve_until_stopped(settings: Settings, options: Vec<String>) -> anyhow::Result<()> {
    // First of all, so that no signal arrives without a handler.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Closing the terminal must not stop the daemon. A SIGHUP from elsewhere means "reload your files".
    let mut hangup = signal(SignalKind::hangup())?;
    // The file may have changed since the settings were read: the first check reloads it.
    let mut config_file = Watched::unseen(settings.config_path.clone());
    let token = settings.token.as_deref().map(Token::given).transpose()?;
    let open = settings.own_command("open");
    let data_dir = settings.daemon.data_dir.clone();
    // Stamped before the files are read, so that no later change is missed.
    let mut tokens = Watched::new(tokens::path(&data_dir));
    let mut certificate: Vec<_> = match &settings.daemon.server.tls {
        Some(tls) => <[_; 2]>::from(tls.files(&data_dir)?).map(Watched::new).into(),
        None => Vec::new(),
    };
    let scheme = if settings.daemon.server.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let exposed = !settings.daemon.listen.ip().is_loopback() && settings.daemon.server.tls.is_none();
    let agents: Vec<_> = settings.daemon.agents.keys().cloned().collect();
    let owner = match &token {
        // With ACPD_TOKEN, the owner's token file may be missing, and its token is not valid.
        Some(_) => "the one in ACPD_TOKEN".to_owned(),
        None => Token::path(&data_dir).display().to_string(),
    };
    let url = |address: SocketAddr| format!("{scheme}://{address}");
    let mut running = None;
    let daemon = Daemon::start(settings.daemon, token, |address| {
        running = Some(Running::announce(&data_dir, address, url(address), options)?);
        Ok(())
    });
    let daemon = daemon.await?;
    if exposed {
        tracing::warn!("listening on the network without TLS: tokens and threads are sent in clear text");
    }
    let agents = if agents.is_empty() {
        "none configured".to_owned()
    } else {
        agents.join(", ")
    };
    let mut out = std::io::stdout();
    // The parent process may have closed the pipe; the daemon runs anyway.
    let _ = writeln!(
        out,
        "acpd listens on {}\nagents: {agents}\naccess token: {owner}",
        url(daemon.address())
    );
    if let Some(fingerprint) = daemon.fingerprint() {
        let _ = writeln!(out, "certificate: {fingerprint}");
    }
    // A sign-in link expires after half a minute, and may end up in a log. So the output only names the command.
    let _ = writeln!(out, "web UI: run {open:?} to open it, signed in");
    tracing::info!(address = %daemon.address(), data_dir = %data_dir.display(), "ready");
    acpd_host::give_back_free_memory();
    let keep_up = async {
        let mut look = tokio::time::interval(LOOK_AT_FILES);
        loop {
            let is_notified = tokio::select! {
                _ = look.tick() => false,
                _ = hangup.recv() => true,
            };
            if config_file.has_changed() || is_notified {
                take_policies(&daemon, &config_file.path);
            }
            if tokens.has_changed() || is_notified {
                take_tokens(&daemon).await;
            }
            // Check both files, so that a renewed pair is reloaded once.
            let renewed = certificate
                .iter_mut()
                .filter_map(|file| file.has_changed().then_some(()))
                .count();
            if renewed > 0 || (is_notified && !certificate.is_empty()) {
                take_certificate(&daemon);
            }
        }
    };
    tokio::select! {
        () = keep_up => {}
        _ = terminate.recv() => tracing::info!("received SIGTERM, stopping"),
        _ = interrupt.recv() => tracing::info!("received SIGINT, stopping"),
    }
    drop(running);
    daemon.stop().await;
    Ok(())
}

fn start_logging(format: LogFormat) {
    let filter = EnvFilter::try_from_env("ACPD_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colors(&std::io::stderr()))
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().init(),
    }
}

/// Returns the scripted agent, which is built next to this executable.
fn demo_agent() -> anyhow::Result<AgentConfig> {
    let path = std::env::current_exe()?.with_file_name("acpd-fake-agent");
    anyhow::ensure!(
        path.is_file(),
        "the demo agent {} is not built: run cargo build",
        path.display()
    );
    Ok(AgentConfig {
        command: path.to_string_lossy().into_owned(),
        title: Some("Demo agent".to_owned()),
        ..AgentConfig::default()
    })
}
