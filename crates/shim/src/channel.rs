//! One connection between a daemon and a shim.
//!
//! In: frames and descriptors to send. Out: those of the other side. Owns: the connection. Never: waits, except in
//! [`Channel::wait`] and [`Channel::send_by`].

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::error::retried;
use crate::frame::{FRAME_BYTES, Frame};
use crate::peer::check_peer;

/// The most descriptors of a frame that this version sends.
pub const MOST_DESCRIPTORS: usize = 8;
/// The most descriptors of a frame that this version receives. After an upgrade, a daemon that still runs starts shims of a later
/// version, which may send more than this one.
const MOST_RECEIVED: usize = 32;

/// The longest time that one call waits.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// A connection that keeps the limits of frames.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// A frame with its descriptors.
#[derive(Debug)]
pub struct Received {
    /// The frame.
    pub frame: Frame,
    /// What was sent with it.
    pub descriptors: Vec<OwnedFd>,
}

impl Channel {
    /// Returns the channel of a socket that keeps datagrams apart and does not block.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Returns a channel, and the socket of its other end, which does not block either.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let pair = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self(pair.0), pair.1))
    }

    /// Takes the socket that a process of the same user inherited or connected to.
    pub fn from_peer(socket: OwnedFd) -> io::Result<Self> {
        check_peer(&socket)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Self(socket))
    }

    /// Accepts a connection of the same user; `None` if none waits. A connection of another user is closed.
    pub fn accept(listener: &OwnedFd) -> io::Result<Option<Self>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match rustix::net::accept_with(listener, flags) {
            Ok(socket) => Ok(check_peer(&socket).is_ok().then_some(Self(socket))),
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a frame. Fails with [`io::ErrorKind::WouldBlock`] if the other side does not read.
    pub fn send(&self, frame: &Frame, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = frame.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::INVAL.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        retried(|| rustix::net::sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut control, flags))?;
        Ok(())
    }

    /// Sends a frame, once the other side has made room for it. Fails with [`io::ErrorKind::TimedOut`] at the deadline.
    pub fn send_by(&self, frame: &Frame, deadline: Instant) -> io::Result<()> {
        loop {
            match self.send(frame, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return sent,
            }
            self.poll_by(PollFlags::OUT, deadline)?;
        }
    }

    /// Receives a frame; `None` once the other side is gone and all of its frames were received. Fails with
    /// [`io::ErrorKind::WouldBlock`] if no frame is there, and with [`io::ErrorKind::InvalidData`] for what is not a frame.
    pub fn receive(&self) -> io::Result<Option<Received>> {
        // One byte more shows a datagram that is too long.
        let mut bytes = [0; FRAME_BYTES + 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_RECEIVED))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let message = loop {
            match rustix::net::recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags) {
                // The other side ended with frames of ours unread. That is reported once, and before its own last frames, which
                // are still there.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                received => break received?,
            }
        };
        let mut descriptors = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(sent) = part {
                descriptors.extend(sent);
            }
        }
        if message.bytes == 0 && descriptors.is_empty() && self.has_hung_up() {
            return Ok(None);
        }
        let is_whole = !message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        let frame = bytes.get(..message.bytes).and_then(Frame::decode);
        match frame.filter(|_| is_whole) {
            Some(frame) => Ok(Some(Received { frame, descriptors })),
            None => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }

    /// Returns whether an empty datagram was the end of the connection. It may have been sent before the end: then others may follow, or
    /// the next one is the end.
    fn has_hung_up(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::empty())];
        let ready = poll(&mut polled, Some(&Timespec::default()));
        ready.is_ok() && polled[0].revents().contains(PollFlags::HUP) && !self.has_bytes()
    }

    fn has_bytes(&self) -> bool {
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = retried(|| rustix::net::recv(&self.0, &mut [0; 1][..], flags));
        peeked.is_ok_and(|(_, bytes)| bytes > 0)
    }

    /// Waits for a frame until the deadline. Fails with [`io::ErrorKind::TimedOut`] then.
    pub fn wait(&self, deadline: Instant) -> io::Result<Option<Received>> {
        loop {
            match self.receive() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return received,
            }
            self.poll_by(PollFlags::IN, deadline)?;
        }
    }

    /// Waits until the connection may be ready. Fails with [`io::ErrorKind::TimedOut`] at the deadline.
    fn poll_by(&self, readiness: PollFlags, deadline: Instant) -> io::Result<()> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut polled = [PollFd::new(&self.0, readiness)];
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Returns the time for `poll`, at most a day.
fn timespec(time: Duration) -> Timespec {
    // The conversion fails only for times beyond 64 bits of seconds.
    Timespec::try_from(time.min(LONGEST_WAIT)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_waits_for_room_until_its_deadline() {
        let (channel, other) = Channel::pair().unwrap();
        let other = Channel::from_peer(other).unwrap();
        let mut sent = 0;
        while channel.send(&Frame::Ack(sent), &[]).is_ok() {
            sent += 1;
        }
        let refused = channel.send_by(&Frame::CloseStdin, Instant::now()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        let reader = std::thread::spawn(move || {
            let deadline = Instant::now() + LONGEST_WAIT;
            let frames = std::iter::from_fn(|| other.wait(deadline).unwrap());
            frames.map(|received| received.frame).collect::<Vec<_>>()
        });
        channel
            .send_by(&Frame::CloseStdin, Instant::now() + LONGEST_WAIT)
            .unwrap();
        drop(channel);
        let frames = reader.join().unwrap();
        assert_eq!(frames.len() as u64, sent + 1);
        assert_eq!(frames.last(), Some(&Frame::CloseStdin));
    }
}
