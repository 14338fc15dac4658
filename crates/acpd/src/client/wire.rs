//! A byte stream to a daemon, whatever it goes through.

use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream to a daemon.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}
