//! The daemon's own log.
//!
//! In: what every crate reports. Out: lines on stderr, as text or JSON. Owns: their format, and what a panic says. Never:
//! contains prompts, output of agents, file contents or tokens, unless `ACPD_LOG` requests `acpd::panic=trace`.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::PanicHookInfo;

use tracing_subscriber::EnvFilter;

use crate::cli::LogFormat;
use crate::terminal::print::has_colors;

/// Starts to log.
pub fn start_logging(format: LogFormat) {
    let (filter, wrong) = match std::env::var("ACPD_LOG") {
        Ok(text) => match EnvFilter::try_new(&text) {
            Ok(filter) => (filter, None),
            Err(error) => (EnvFilter::new("info"), Some((text, error))),
        },
        Err(_) => (EnvFilter::new("info"), None),
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(has_colors(&std::io::stderr()))
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.init(),
        // The fields of a line, such as its thread, are members of the object itself.
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    std::panic::set_hook(Box::new(log_panic));
    if let Some((text, error)) = wrong {
        tracing::warn!("ACPD_LOG is {text:?}, which is no filter ({error}); using \"info\"");
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
    fn a_panic_shows_no_text_that_was_put_into_its_message() {
        let planted = String::from("planted");
        let payload = std::panic::catch_unwind(|| panic!("cannot handle {planted}")).unwrap_err();
        assert_eq!(fixed_message(&*payload), None);
        let payload = std::panic::catch_unwind(|| panic!("a queue is full")).unwrap_err();
        assert_eq!(fixed_message(&*payload), Some("a queue is full"));
    }
}
