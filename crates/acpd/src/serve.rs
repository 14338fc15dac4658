//! `acpd serve`.

use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use acpd_runtime::agent::config::AgentConfig;
use acpd_server::Daemon;
use acpd_server::auth::owner_token::Token;
use acpd_server::auth::tokens;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::background::Running;
use crate::cli::{LogFormat, ServeArgs};
use crate::render::colors_errors;
use crate::settings::Settings;

/// Serves until SIGINT or SIGTERM.
pub fn serve(mut settings: Settings, args: &ServeArgs) -> anyhow::Result<ExitCode> {
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
    // This same program; where it is cannot always be known, and then the next start ends what is left.
    settings.daemon.keeper = std::env::current_exe().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // While all workers are busy, as with a terminal that floods, what has come in from elsewhere is looked for after so
        // many tasks. Tokio's 61 let other threads' updates wait for up to 80 ms, this for up to 30 ms.
        .event_interval(8)
        .enable_all()
        .build()?;
    runtime.block_on(serve_until_told(settings))?;
    Ok(ExitCode::SUCCESS)
}

/// How often the files are looked at that hold while the daemon runs: configuration, tokens, certificate.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);

/// What changes when a file is written, or another one put in its place.
type Stamp = Option<(SystemTime, u64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let file = std::fs::metadata(path).ok()?;
    Some((file.modified().ok()?, file.len(), file.ino()))
}

/// A file that is read again when it has changed.
struct Watched {
    path: PathBuf,
    seen: Stamp,
}

impl Watched {
    fn new(path: PathBuf) -> Self {
        let seen = stamp(&path);
        Self { path, seen }
    }

    /// One that counts as changed at the first look, if it is there.
    fn unseen(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    fn has_changed(&mut self) -> bool {
        let now = stamp(&self.path);
        std::mem::replace(&mut self.seen, now) != now
    }
}

/// A file that cannot be read changes nothing: an agent must not be allowed more because of a slip of the pen.
fn take_policies(daemon: &Daemon, path: &Path) {
    match Settings::policies(path).map(|policies| daemon.set_policies(policies)) {
        Ok(true) => tracing::info!("reloaded policies"),
        Ok(false) => {}
        Err(error) => tracing::error!("policies not reloaded: {error:#}"),
    }
}

/// A certificate that cannot be used leaves the one that is shown: half of a pair is there for a moment whenever it is
/// renewed.
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

async fn serve_until_told(settings: Settings) -> anyhow::Result<()> {
    // Before anything else, so that no signal finds us without a handler.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The terminal that a daemon was started from may close; from somebody else it means "read your files again".
    let mut hangup = signal(SignalKind::hangup())?;
    // What stands there may have changed since the settings were read: the first look takes it.
    let mut config_file = Watched::unseen(settings.config_path.clone());
    let token = settings.token.as_deref().map(Token::given).transpose()?;
    let open = settings.own_command("open");
    let data_dir = settings.daemon.data_dir.clone();
    // Looked at before they are read, so that no change in between is missed.
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
        // There may be no file, and the token in it would open nothing.
        Some(_) => "the one in ACPD_TOKEN".to_owned(),
        None => Token::path(&data_dir).display().to_string(),
    };
    let url = |address: SocketAddr| format!("{scheme}://{address}");
    let mut running = None;
    let daemon = Daemon::start(settings.daemon, token, |address| {
        running = Some(Running::announce(&data_dir, address, url(address))?);
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
    // Whoever started us may not be listening; that is no reason not to serve.
    let _ = writeln!(
        out,
        "acpd listens on {}\nagents: {agents}\naccess token: {owner}",
        url(daemon.address())
    );
    if let Some(fingerprint) = daemon.fingerprint() {
        let _ = writeln!(out, "certificate: {fingerprint}");
    }
    // A link that signs a browser in holds for half a minute and may end in a log: this says how to get one.
    let _ = writeln!(out, "web UI: run {open:?} to open it, signed in");
    tracing::info!(address = %daemon.address(), data_dir = %data_dir.display(), "ready");
    let keep_up = async {
        let mut look = tokio::time::interval(LOOK_AT_FILES);
        loop {
            let told = tokio::select! {
                _ = look.tick() => false,
                _ = hangup.recv() => true,
            };
            if config_file.has_changed() || told {
                take_policies(&daemon, &config_file.path);
            }
            if tokens.has_changed() || told {
                take_tokens(&daemon).await;
            }
            // Both are looked at, so that a pair is read once.
            let renewed = certificate
                .iter_mut()
                .filter_map(|file| file.has_changed().then_some(()))
                .count();
            if renewed > 0 || (told && !certificate.is_empty()) {
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
        .with_ansi(colors_errors())
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
        title: Some("Demo agent".to_owned()),
        ..AgentConfig::default()
    })
}
