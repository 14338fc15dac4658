//! The loop between the terminal, the state and the connection.

use std::io;
use std::time::{Duration, Instant};

use anyhow::Context;
use crossterm::event::{Event, EventStream, KeyEventKind};
use futures_util::StreamExt;
use rustix::process::{Signal as Kill, getpid, kill_process};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::link::{Link, News, until};
use super::screen::Screen;
use super::state::exchange::Failure;
use super::state::{App, Effect, End};
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
pub async fn run(app: &mut App, screen: &mut Screen, theme: Theme, link: &mut Link) -> anyhow::Result<End> {
    let mut signals = Signals::listen()?;
    let mut events = EventStream::new();
    let mut drawn_at: Option<Instant> = None;
    let mut is_dirty = true;
    loop {
        if let Some(end) = carry_out(app, screen, link, &mut is_dirty)? {
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
            news = link.next() => {
                is_dirty = true;
                let now = Instant::now();
                match news {
                    News::Connected(abilities) => app.handle_connected(abilities, now),
                    News::Lost(why) => app.handle_lost(&why),
                    News::Notification(notification) => app.handle_notification(&notification, now),
                    News::Reply { token, reply } => app.handle_reply(token, reply, now),
                    News::Unfollowed { thread, failure } => app.handle_unfollowed(&thread, &failure, now),
                    News::Ended(error) => return Err(error),
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
    link: &mut Link,
    is_dirty: &mut bool,
) -> anyhow::Result<Option<End>> {
    while let Some(effect) = app.poll_effect() {
        let sent: Result<(), (u64, Failure)> = match effect {
            Effect::Request { token, request } => {
                link.request(token, request).map_err(|failure| (token, failure))
            }
            Effect::Follow { token, thread } => {
                link.follow(token, thread).map_err(|failure| (token, failure))
            }
            Effect::Unfollow { thread } => {
                link.unfollow(thread);
                Ok(())
            }
            Effect::Suspend => {
                suspend(screen)?;
                *is_dirty = true;
                Ok(())
            }
            Effect::Redraw => {
                screen.clear()?;
                *is_dirty = true;
                Ok(())
            }
            Effect::End(end) => return Ok(Some(end)),
        };
        if let Err((token, failure)) = sent {
            *is_dirty = true;
            app.handle_reply(token, Err(failure), Instant::now());
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
