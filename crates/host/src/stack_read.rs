//! Reads from pipes that are usually silent.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one read.
const READ_BYTES: usize = 512;

/// Reads once, and passes the bytes to `take`. Returns their number, 0 at the end. The buffer is on the stack, so a task
/// that waits for input reserves no space for it. Cancel safe.
pub async fn read_through_stack(
    pipe: &mut (impl AsyncRead + Unpin),
    mut take: impl FnMut(&[u8]),
) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut bytes = [0; READ_BYTES];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut *pipe).poll_read(cx, &mut buffer))?;
        take(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everything_is_read_and_no_space_is_reserved() {
        let text = "x".repeat(READ_BYTES * 3 + 1);
        let mut pipe = text.as_bytes();
        let mut heard = Vec::new();
        let mut sizes = Vec::new();
        loop {
            let read = read_through_stack(&mut pipe, |bytes| heard.extend_from_slice(bytes));
            assert!(size_of_val(&read) < READ_BYTES / 4, "{}", size_of_val(&read));
            sizes.push(read.await.unwrap());
            if sizes.ends_with(&[0]) {
                break;
            }
        }
        assert!(heard == text.as_bytes());
        assert_eq!(sizes, [READ_BYTES, READ_BYTES, READ_BYTES, 1, 0]);
    }
}
