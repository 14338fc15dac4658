//! A channel over an in-memory stream.

use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split};
use tokio::time::{sleep, timeout};

use super::*;
use crate::transport::lines::Lines;

type Ours = (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>);

/// Returns a channel with a stream that buffers so many bytes, and the client's end. The client may accept nothing for one second.
fn channel(ahead: usize) -> (Channel, Ours) {
    let (theirs, ours) = tokio::io::duplex(ahead);
    let (reader, writer) = split(theirs);
    let limits = Limits {
        write_secs: 1,
        ..Limits::default()
    };
    let lines = Lines::new(reader, writer, &limits);
    (Channel::new(Box::new(lines), &limits), split(ours))
}

fn letters(count: usize) -> Bytes {
    Bytes::from(vec![b'x'; count])
}

/// Lets the channel send and receive, and checks that nothing happens.
fn quiet(channel: &mut Channel) {
    let happened = channel.next().now_or_never();
    assert!(happened.is_none(), "{happened:?}");
}

/// Returns the next event.
async fn next(channel: &mut Channel) -> Result<ChannelEvent, End> {
    let happened = timeout(Duration::from_secs(20), channel.next()).await;
    happened.expect("something happens")
}

#[tokio::test]
async fn messages_are_read_while_nothing_can_be_written() {
    let (mut channel, (unread, mut write)) = channel(64);
    channel.queue(letters(100));
    quiet(&mut channel);
    write.write_all(b"stop\n").await.unwrap();
    assert_eq!(
        next(&mut channel).await,
        Ok(ChannelEvent::Received("stop".to_owned()))
    );
    drop((write, unread));
    assert_eq!(next(&mut channel).await, Err(End::Gone));
}

#[tokio::test]
async fn a_client_that_takes_a_little_now_and_then_gets_everything() {
    let (mut channel, (mut read, _write)) = channel(64);
    let number = channel.queue(letters(320));
    assert!(!channel.has_sent(number));
    let mut all = vec![0; 321];
    let began = Instant::now();
    let (happened, ()) = tokio::join!(next(&mut channel), async {
        for part in all.chunks_mut(64) {
            // The pace at which the client reads.
            sleep(Duration::from_millis(400)).await;
            read.read_exact(part).await.unwrap();
        }
    });
    assert_eq!(happened, Ok(ChannelEvent::Written));
    assert!(channel.has_sent(number) && all.ends_with(b"xx\n"));
    assert!(
        began.elapsed() > Duration::from_secs(1),
        "longer than it may take nothing"
    );
}

#[tokio::test]
async fn a_client_that_accepts_nothing_is_disconnected() {
    let (mut channel, (mut read, _write)) = channel(64);
    channel.queue(letters(1000));
    quiet(&mut channel);
    read.read_exact(&mut [0; 10]).await.unwrap();
    quiet(&mut channel);
    let began = Instant::now();
    assert_eq!(next(&mut channel).await, Err(End::Stalled));
    assert!(began.elapsed() > Duration::from_millis(900));
}

#[tokio::test]
async fn room_comes_back_when_the_client_reads() {
    let (mut channel, (mut read, _write)) = channel(64);
    while channel.has_room() {
        channel.queue(letters(1000));
    }
    quiet(&mut channel);
    assert!(!channel.has_room());
    let happened = tokio::select! {
        happened = next(&mut channel) => happened,
        taken = async { loop { read.read_exact(&mut [0; 64]).await?; } } => {
            let taken: std::io::Result<()> = taken;
            panic!("{taken:?}")
        }
    };
    assert_eq!(happened, Ok(ChannelEvent::Written));
    assert!(channel.has_room());
}

#[tokio::test]
async fn a_client_that_sends_requests_and_reads_nothing_is_disconnected() {
    // Many small responses, or a few large ones.
    for (bytes, most) in [(10, UNREAD_ANSWERS), (OUTBOX_BYTES / 4 + 1, 3)] {
        let (mut channel, (_unread, mut write)) = channel(64);
        channel.queue(letters(2 * OUTBOX_BYTES));
        let mut answered = 0;
        let end = loop {
            write.write_all(b"?\n").await.unwrap();
            match next(&mut channel).await {
                Ok(ChannelEvent::Received(_)) => answered += 1,
                Ok(ChannelEvent::Written) => panic!("nothing was taken"),
                Err(end) => break end,
            }
            channel.queue(letters(bytes));
            assert!(answered < 1000, "it is bounded");
        };
        assert_eq!((end, answered), (End::Flooding, most + 1));
    }
}

#[tokio::test]
async fn a_client_that_asks_on_and_on_leaves_turns_to_others() {
    let (mut channel, (_unread, mut write)) = channel(1 << 16);
    write.write_all(&b"?\n".repeat(1000)).await.unwrap();
    let mut received = 0;
    loop {
        tokio::select! {
            biased;
            happened = channel.next() => match happened {
                Ok(ChannelEvent::Received(_)) => received += 1,
                other => panic!("{other:?}"),
            },
            () = std::future::ready(()) => break,
        }
    }
    assert_eq!(received, IN_A_ROW);
}

#[tokio::test]
async fn remaining_messages_are_written_when_a_channel_ends() {
    let (mut channel, (mut read, _write)) = channel(64);
    channel.queue(letters(1000));
    let mut all = Vec::new();
    let ((), read) = tokio::join!(
        async {
            channel.close(End::Stopping).await;
            drop(channel);
        },
        read.read_to_end(&mut all),
    );
    assert_eq!((read.unwrap(), all.len()), (1001, 1001));
}
