//! The loop between the terminal, the state and the connection.

use std::io;
use std::time::{Duration, Instant};

use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt;
use rustix::process::{Signal as Kill, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, Sender};

use super::link::{News, Order, until};
use super::screen::Screen;
use super::state::{App, Effect, End, Failure};
use super::view;
use super::view::theme::Theme;

/// Least time between two pictures.
const PICTURE: Duration = Duration::from_millis(33);

/// The signals that end the program, or suspend it.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    stop: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            stop: signal(SignalKind::from_raw(Kill::TSTP.as_raw()))?,
        })
    }
}

/// Runs until the user detaches, or the thread cannot be followed any more.
pub async fn run(
    app: &mut App,
    screen: &mut Screen,
    theme: Theme,
    orders: &Sender<Order>,
    mut news: Receiver<News>,
) -> anyhow::Result<End> {
    let mut signals = Signals::listen()?;
    let mut events = EventStream::new();
    let mut drawn_at: Option<Instant> = None;
    let mut is_dirty = true;
    loop {
        if let Some(end) = carry_out(app, screen, orders, &mut is_dirty)? {
            return Ok(end);
        }
        let due = drawn_at.map_or_else(Instant::now, |at| at + PICTURE);
        let now = Instant::now();
        if is_dirty && due <= now {
            app.prepare(now);
            // What the state requests now is carried out before the next picture.
            screen.terminal.draw(|frame| view::draw(frame, app, theme))?;
            app.drawn(Instant::now());
            drawn_at = Some(now);
            is_dirty = false;
            continue;
        }
        let picture = is_dirty.then_some(due);
        tokio::select! {
            biased;
            _ = signals.terminate.recv() => return Ok(End::Detached),
            _ = signals.hang_up.recv() => return Ok(End::Detached),
            _ = signals.interrupt.recv() => return Ok(End::Detached),
            _ = signals.stop.recv() => {
                suspend(screen)?;
                is_dirty = true;
            }
            event = events.next() => {
                match event {
                    Some(event) => handle_event(app, &event.context("the terminal cannot be read")?),
                    None => return Ok(End::Detached),
                }
                is_dirty = true;
            }
            () = until(picture.map(Into::into)) => {}
            received = news.recv() => {
                is_dirty = true;
                let now = Instant::now();
                match received {
                    Some(News::Connected { replaces_turns }) => app.handle_connected(replaces_turns),
                    Some(News::Lost(why)) => app.handle_lost(&why, now),
                    Some(News::Message(incoming)) => app.handle_message(&incoming, now),
                    Some(News::Reply { token, result }) => app.handle_reply(token, result, now),
                    Some(News::Ended(error)) => return Err(error),
                    None => return Ok(End::Failed("the connection ended".to_owned())),
                }
            }
            () = until(app.poll_timeout().map(Into::into)) => {
                app.handle_timeout(Instant::now());
                is_dirty = true;
            }
        }
    }
}

fn handle_event(app: &mut App, event: &Event) {
    let now = Instant::now();
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => app.handle_key(*key, now),
        Event::Paste(text) => app.handle_paste(text, now),
        Event::Resize(columns, rows) => app.handle_resize(*columns, *rows),
        _ => {}
    }
}

fn carry_out(
    app: &mut App,
    screen: &mut Screen,
    orders: &Sender<Order>,
    is_dirty: &mut bool,
) -> anyhow::Result<Option<End>> {
    while let Some(effect) = app.poll_effect() {
        let order = match effect {
            Effect::Request {
                token,
                method,
                params,
            } => Order::Request {
                token,
                method,
                params,
            },
            Effect::Respond { id, result } => Order::Respond { id, result },
            Effect::Suspend => {
                suspend(screen)?;
                *is_dirty = true;
                continue;
            }
            Effect::Redraw => {
                screen.clear()?;
                *is_dirty = true;
                continue;
            }
            Effect::End(end) => return Ok(Some(end)),
        };
        let Err(unsent) = orders.try_send(order) else {
            continue;
        };
        *is_dirty = true;
        match unsent.into_inner() {
            Order::Request { token, .. } => {
                let message = "the daemon takes no more requests; try again".to_owned();
                let failure = Failure {
                    message,
                    is_final: false,
                    is_not_found: false,
                };
                app.handle_reply(token, Err(failure), Instant::now());
            }
            Order::Respond { .. } => app.handle_unanswered(Instant::now()),
        }
    }
    Ok(None)
}

/// Gives the terminal back and stops this process, until it continues.
fn suspend(screen: &mut Screen) -> anyhow::Result<()> {
    Screen::leave();
    kill_process(getpid(), Kill::STOP).context("the process cannot be suspended")?;
    // Here the process was continued.
    screen.return_to().context("the terminal cannot be taken again")
}
