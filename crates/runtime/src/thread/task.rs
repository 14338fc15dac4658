//! The task of one thread: the loaded thread, or the suspended one while its log fails.

use acpd_log::LogError;
use acpd_model::ThreadId;
use tokio::sync::mpsc;

use crate::context::Context;
use crate::stored::log_failure;
use crate::thread::actor::{ThreadActor, ToThread};
use crate::thread::failed::Failed;
use crate::thread::suspended::{Suspended, Wake};

/// Runs a thread until it is unloaded or deleted. If its log fails, the thread is rebuilt from the log once that works again.
///
/// What is rare is boxed, and so is the context: the task would reserve space for it all the time.
pub async fn run_thread(
    thread: ThreadId,
    context: Box<Context>,
    create: bool,
    mut messages_rx: mpsc::Receiver<ToThread>,
) {
    let failed = match Box::pin(load(thread, context, create)).await {
        Ok(actor) => match actor.run(None, &mut messages_rx).await {
            // Dropping the remaining messages fails their callers, which then retry through the directory.
            Ok(()) => return messages_rx.close(),
            Err(failed) => failed,
        },
        Err(failed) => failed,
    };
    Box::pin(recover(thread, failed, messages_rx)).await;
}

async fn load(thread: ThreadId, context: Box<Context>, create: bool) -> Result<Box<ThreadActor>, Failed> {
    if create {
        return Ok(ThreadActor::new(thread, *context));
    }
    let loaded = ThreadActor::load(thread, Context::clone(&context), None).await;
    loaded.map_err(|error| Failed { error, context })
}

/// Waits until the thread's log works again, and runs the thread from then on.
async fn recover(thread: ThreadId, failed: Failed, mut messages_rx: mpsc::Receiver<ToThread>) {
    let Failed { mut error, context } = failed;
    let mut suspended: Option<Box<Suspended>> = None;
    let mut first = None;
    while may_recover(&error) {
        let mut waiting = match suspended.take() {
            Some(mut suspended) => {
                suspended.fail_again(&error, first.take()).await;
                suspended
            }
            None => match Suspended::begin(thread, &context, &error).await {
                Some(suspended) => suspended,
                None => break,
            },
        };
        match waiting.wait(&mut messages_rx).await {
            Wake::Unload => return messages_rx.close(),
            Wake::Retry(message) => first = message.map(|message| *message),
        }
        let loaded = ThreadActor::load(thread, Context::clone(&context), Some(waiting.cause())).await;
        error = match loaded {
            Ok(actor) => {
                waiting.end(actor.summary());
                // Its subscribers subscribe again, to the loaded thread.
                drop(waiting);
                match actor.run(first.take(), &mut messages_rx).await {
                    Ok(()) => return messages_rx.close(),
                    Err(failed) => failed.error,
                }
            }
            Err(error) => {
                suspended = Some(waiting);
                error
            }
        };
    }
    context.log_faults.clear(thread);
    refuse(thread, first, messages_rx, &error);
}

/// Returns whether the thread can be loaded again after this error.
fn may_recover(error: &LogError) -> bool {
    !matches!(
        error,
        LogError::NoSuchThread(_) | LogError::Fenced(_) | LogError::Closed
    )
}

/// Answers the messages for a thread that cannot be loaded.
fn refuse(
    thread: ThreadId,
    first: Option<ToThread>,
    mut messages_rx: mpsc::Receiver<ToThread>,
    error: &LogError,
) {
    if !matches!(error, LogError::NoSuchThread(_)) {
        tracing::error!(%thread, %error, "a thread cannot be loaded");
    }
    messages_rx.close();
    let failure = log_failure(error);
    if let Some(message) = first {
        message.refuse(&failure);
    }
    while let Ok(message) = messages_rx.try_recv() {
        message.refuse(&failure);
    }
}
