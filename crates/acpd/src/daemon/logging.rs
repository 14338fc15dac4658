//! The daemon's own log.
//!
//! In: what every crate reports. Out: lines on stderr, as text or JSON. Owns: their format, and what a panic says. Never:
//! contains prompts, output of agents, file contents or tokens, unless `ACPD_LOG` requests `acpd::panic=trace`.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use crate::cli::LogFormat;
use crate::terminal::print::has_colors;

/// Starts to log.
pub fn start_logging(format: LogFormat) {
    let (filter, wrong) = match std::env::var("ACPD_LOG") {
        Ok(text) => match text.parse() {
            Ok(filter) => (with_errors(filter), None),
            Err(error) => (levels(LevelFilter::INFO), Some((text, error))),
        },
        Err(_) => (levels(LevelFilter::INFO), None),
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(has_colors(&std::io::stderr()))
        .with_writer(std::io::stderr);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        LogFormat::Text => registry.with(lines).init(),
        // The fields of a line, such as its thread, are members of the object itself.
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
    if let Some((text, error)) = wrong {
        tracing::warn!("invalid ACPD_LOG {text:?} ({error}); using \"info\"");
    }
}

fn levels(of_all: LevelFilter) -> Targets {
    Targets::new().with_default(of_all)
}

/// Adds the errors of everything else to a filter that only names parts of the program.
fn with_errors(filter: Targets) -> Targets {
    match filter.default_level() {
        Some(_) => filter,
        None => filter.with_default(LevelFilter::ERROR),
    }
}

/// Logs a panic. Its message may quote the text that could not be handled, for example a prompt, so only a message that is a
/// constant of the program is logged.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let location = panic.location().map(tracing::field::display);
    let message = fixed_message(panic.payload())
        .unwrap_or("its message is left out, since it may contain text of users");
    let name = std::thread::current().name().map(ToOwned::to_owned);
    let backtrace = Backtrace::capture();
    let backtrace = Some(&backtrace).filter(|backtrace| backtrace.status() == BacktraceStatus::Captured);
    tracing::error!(
        location,
        task = name,
        backtrace = backtrace.map(tracing::field::display),
        "panicked: {message}"
    );
    if let Some(text) = panic.payload().downcast_ref::<String>() {
        tracing::trace!(target: "acpd::panic", "the message of the panic: {text}");
    }
}

/// Returns the message of a panic if it was not made from other text.
fn fixed_message(payload: &(dyn std::any::Any + Send)) -> Option<&'static str> {
    payload.downcast_ref::<&'static str>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_one_part_keeps_the_errors_of_all() {
        let filter = |text: &str| with_errors(text.parse().unwrap());
        assert!(filter("acpd_runtime=debug").would_enable("acpd_server", &tracing::Level::ERROR));
        assert!(!filter("acpd_runtime=debug").would_enable("acpd_server", &tracing::Level::WARN));
        assert!(filter("acpd_runtime=debug").would_enable("acpd_runtime::thread", &tracing::Level::DEBUG));
        assert!(filter("debug").would_enable("acpd_server", &tracing::Level::DEBUG));
        assert!(!filter("off").would_enable("acpd_server", &tracing::Level::ERROR));
    }

    #[test]
    fn a_panic_shows_no_text_that_was_put_into_its_message() {
        let planted = String::from("planted");
        let payload = std::panic::catch_unwind(|| panic!("cannot handle {planted}")).unwrap_err();
        assert_eq!(fixed_message(&*payload), None);
        let payload = std::panic::catch_unwind(|| panic!("a queue is full")).unwrap_err();
        assert_eq!(fixed_message(&*payload), Some("a queue is full"));
    }
}
