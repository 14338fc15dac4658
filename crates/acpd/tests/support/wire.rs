//! A network between a client and the daemon that a test can cut: the daemon lives, and so does the client.

use std::io::copy;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Daemon;

/// Starts a daemon, and a wire to it.
pub fn wired() -> (Daemon, Wire) {
    let wire = Wire::new();
    let daemon = Daemon::with(&wire.config());
    wire.lead_to(daemon.address());
    (daemon, wire)
}

/// Passes bytes on, until it is cut.
pub struct Wire {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    /// Where it leads.
    to: Option<SocketAddr>,
    open: Vec<TcpStream>,
}

impl Wire {
    /// Listens for clients of a daemon that starts later, with [`Self::config`].
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let mut state = locked(&shared);
                // A connection to a wire that is cut ends at once.
                if let Some(to) = state.to.filter(|_| !state.is_cut) {
                    let far = TcpStream::connect(to).expect("the daemon listens");
                    state.open.extend([pass(&near, &far), pass(&far, &near)]);
                }
            }
        });
        Self { address, state }
    }

    /// Returns the lines of configuration by which the daemon knows its name on this side.
    pub fn config(&self) -> String {
        format!("[server]\nhosts = [\"{}\"]\n", self.address)
    }

    /// Leads to the daemon at this address from now on.
    pub fn lead_to(&self, to: SocketAddr) {
        locked(&self.state).to = Some(to);
    }

    /// Returns the daemon's address on this side.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections. Further ones end at once.
    pub fn cut(&self) {
        let mut state = locked(&self.state);
        state.is_cut = true;
        for stream in state.open.drain(..) {
            // Its other end may have closed it.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Passes on connections again.
    pub fn mend(&self) {
        locked(&self.state).is_cut = false;
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on bytes in one direction. Returns the stream from which they come.
fn pass(from: &TcpStream, to: &TcpStream) -> TcpStream {
    let kept = from.try_clone().expect("a stream can be shared");
    let mut read = from.try_clone().expect("a stream can be shared");
    let mut write = to.try_clone().expect("a stream can be shared");
    std::thread::spawn(move || {
        // Either end may be gone.
        let _ = copy(&mut read, &mut write);
        let _ = write.shutdown(Shutdown::Both);
    });
    kept
}
