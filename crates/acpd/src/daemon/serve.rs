//! `acpd serve`.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use acpd_host::ServiceManager;
use acpd_runtime::agent::registry::DEMO;
use acpd_runtime::config_file::ConfigFile;
use acpd_runtime::observe::Sinks;
use acpd_runtime::record::{RecordThread, WireRecorder};
use acpd_server::auth::owner_token::Token;
use acpd_server::{Config, Daemon, PORT};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::ServeArgs;
use crate::client::local;
use crate::client::local::daemon_file::{Running, reachable};
use crate::client::local::elsewhere;
use crate::client::local::preflight;
use crate::daemon::config_changes::{self, Made};
use crate::daemon::logging::start_logging;
use crate::daemon::port;
use crate::daemon::reload::{Files, LOOK_AT_FILES};
use crate::exit::Exit;
use crate::options::Common;
use crate::own_program::own_program;
use crate::settings::Settings;
use crate::traces::Sender;

/// Seconds that the daemon waits on shutdown until a recording is written.
const RECORD_FLUSH_SECS: u64 = 2;

/// Runs the daemon until SIGINT or SIGTERM.
pub fn serve(mut settings: Settings, common: &Common, args: &ServeArgs) -> anyhow::Result<Exit> {
    local::leave_session();
    acpd_host::give_back_large_buffers();
    // Before there is a second thread, since it changes the environment.
    let (manager, mut listener) = ServiceManager::take()?;
    start_logging(args.log_format);
    if let Err(error) = acpd_host::raise_descriptor_limit() {
        tracing::warn!(%error, "the limit of open files stays as it is; \"acpd doctor\" says whether it is enough");
    }
    if listener.is_none() && settings.any_port {
        listener = port::another(settings.daemon.address(), &settings.daemon.data_dir);
    }
    let listen = listener.as_ref().map(TcpListener::local_addr).transpose()?;
    set_options(&mut settings.daemon, args, listen)?;
    if let Some(hindrance) = preflight::preflight(&settings) {
        return Err(hindrance.error());
    }
    let load = || {
        let mut settings = Settings::load(common)?.checked()?;
        set_options(&mut settings.daemon, args, listen)?;
        Ok(settings.daemon)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // While all workers are busy, for example with a flooding terminal, they poll for I/O only after this many
        // tasks. Tokio's default of 61 delayed updates of other threads by up to 80 ms; this value delays them by up to
        // 30 ms.
        .event_interval(8)
        .enable_all()
        .build()?;
    let options = |address| args.repeated(common.listen.map(|_| address));
    runtime.block_on(serve_until_stopped(settings, (&manager, listener), options, load))?;
    Ok(Exit::Success)
}

/// Applies the options of the command to the configuration. `listen` is the address of a socket that the service manager
/// opened, which overrides the configured one.
fn set_options(config: &mut Config, args: &ServeArgs, listen: Option<SocketAddr>) -> anyhow::Result<()> {
    config.listen = listen.or(config.listen);
    if let (true, Some(demo)) = (args.demo, &config.demo) {
        config.agents.entry(DEMO.to_owned()).or_insert(demo.clone());
    }
    config.server.insecure_listen |= args.insecure_listen;
    // The keeper runs this same program. Its path may be unknown; then the next daemon terminates leftover processes.
    config.keeper = own_program().ok();
    config.record_wire = args.record_wire.as_ref().map(std::path::absolute).transpose()?;
    Ok(())
}

/// Runs the daemon. `options` returns the options that a restart repeats, and `load` reads the configuration again.
async fn serve_until_stopped(
    settings: Settings,
    (manager, listener): (&ServiceManager, Option<TcpListener>),
    options: impl FnOnce(SocketAddr) -> Vec<String>,
    load: impl Fn() -> anyhow::Result<Config>,
) -> anyhow::Result<()> {
    // First of all, so that no signal arrives without a handler.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // Closing the terminal must not stop the daemon. A SIGHUP from elsewhere means "reload your files".
    let mut hangup = signal(SignalKind::hangup())?;
    let mut files = Files::of(&settings.daemon, &settings.config_path)
        .map_err(|error| preflight::explain(error.into(), &settings))?;
    let token = settings.token.as_deref().map(Token::given).transpose()?;
    let open = settings.own_command("open");
    let data_dir = settings.daemon.data_dir.clone();
    let scheme = if settings.daemon.server.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let exposed = !settings.daemon.address().ip().is_loopback() && settings.daemon.server.tls.is_none();
    let agents: Vec<_> = settings.daemon.agents.keys().cloned().collect();
    let owner = match &token {
        // With ACPD_TOKEN, the owner's token file may be missing, and its token is not valid.
        Some(_) => "the one in ACPD_TOKEN".to_owned(),
        None => Token::path(&data_dir).display().to_string(),
    };
    let url = |address: SocketAddr| format!("{scheme}://{address}");
    let traces = Sender::start(&settings.daemon.traces)?;
    let (wire, recording) = record(settings.daemon.record_wire.as_deref())?.unzip();
    let sinks = Sinks {
        traces: traces.sink(),
        wire,
    };
    let mut running = None;
    let (config_file, mut changes) = ConfigFile::channel();
    let started = Daemon::start(
        settings.daemon.clone(),
        token,
        listener,
        sinks,
        config_file,
        |address| {
            running = Some(Running::announce(
                &data_dir,
                address,
                url(address),
                options(address),
            )?);
            Ok(())
        },
    );
    let daemon = started
        .await
        .map_err(|error| preflight::explain(error, &settings))?;
    files.started();
    if settings.any_port {
        port::keep(&data_dir, daemon.address().port(), PORT);
    }
    if exposed {
        tracing::warn!("listening on the network without TLS: tokens and threads are sent in clear text");
    }
    let agents = if agents.is_empty() {
        "none configured".to_owned()
    } else {
        agents.join(", ")
    };
    let place = if daemon.address().ip().is_unspecified() {
        ", and on all other addresses of this host"
    } else {
        ""
    };
    let mut out = std::io::stdout();
    // The parent process may have closed the pipe; the daemon runs anyway.
    let _ = writeln!(
        out,
        "acpd listens on {}{place}\nagents: {agents}\naccess token: {owner}",
        reachable(&url(daemon.address()))
    );
    if let Some(address) = daemon.codex_address() {
        let scheme = scheme.replacen("http", "ws", 1);
        let _ = writeln!(out, "Codex: {}", reachable(&format!("{scheme}://{address}")));
    }
    if let Some(fingerprint) = daemon.fingerprint() {
        let _ = writeln!(out, "certificate: {fingerprint}");
    }
    // A sign-in link expires after half a minute, and may end up in a log. So the output only names the command.
    let _ = writeln!(out, "web UI: run {open:?} to open it, signed in");
    if let Some(address) = daemon.codex_address() {
        tracing::info!(%address, "ready for Codex clients");
    }
    tracing::info!(address = %daemon.address(), data_dir = %data_dir.display(), "ready");
    let status = format!("listening on {}", url(daemon.address()));
    manager.ready(&status);
    acpd_host::give_back_free_memory();
    let keep_up = async {
        let mut look = tokio::time::interval(LOOK_AT_FILES);
        let mut touch = tokio::time::interval(elsewhere::TOUCH);
        loop {
            let all = tokio::select! {
                _ = look.tick() => false,
                _ = touch.tick() => {
                    if let Some(running) = &running {
                        running.touch();
                    }
                    continue;
                }
                _ = hangup.recv() => true,
                Some(requested) = changes.recv() => {
                    let (path, known) = (settings.config_path.clone(), files.config_mode());
                    let (requested, made) = config_changes::carry_out(path, known, requested).await;
                    if let Ok(Made { mode: Some(mode), .. }) = &made {
                        files.config_written(*mode);
                    }
                    // The client is answered when the setting is in use.
                    files.apply(&daemon, false, &load).await;
                    requested.answer(made.map(|made| made.changed));
                    continue;
                }
            };
            if all {
                manager.reloading();
            }
            files.apply(&daemon, all, &load).await;
            if all {
                manager.ready(&status);
            }
        }
    };
    tokio::select! {
        () = keep_up => {}
        _ = terminate.recv() => tracing::info!("received SIGTERM, stopping"),
        _ = interrupt.recv() => tracing::info!("received SIGINT, stopping"),
    }
    manager.stopping();
    drop(running);
    daemon.stop().await;
    files.finish();
    traces.stop().await;
    if let Some(recording) = recording {
        finish(recording).await;
    }
    Ok(())
}

/// Starts to record the wire, if a directory is given.
fn record(directory: Option<&Path>) -> anyhow::Result<Option<(WireRecorder, RecordThread)>> {
    let Some(directory) = directory else {
        return Ok(None);
    };
    let started = WireRecorder::start(directory)
        .map_err(|error| anyhow::anyhow!("cannot record the wire in {}: {error}", directory.display()))?;
    tracing::warn!(
        directory = %directory.display(),
        "RECORDING all messages of agents and clients, with prompts, output and file contents; delete the files when the \
         fault is found"
    );
    Ok(Some(started))
}

/// Waits until the recording is written, for a limited time: the disk may hang.
async fn finish(recording: RecordThread) {
    let patience = Duration::from_secs(RECORD_FLUSH_SECS);
    let written = tokio::task::spawn_blocking(move || recording.finish());
    if tokio::time::timeout(patience, written).await.is_err() {
        tracing::warn!("the end of the recording of the wire may be missing");
    }
}
