//! `acpd-fake-model`: a scripted model service on loopback (see the library).

use std::net::SocketAddr;
use std::process::ExitCode;

use tokio::net::TcpListener;

const HELP: &str = "\
Usage: acpd-fake-model [--listen ADDR]

Speaks Anthropic Messages, OpenAI Responses, Chat Completions, Gemini generateContent and Augment's protocol; says what the
last prompt tells it: say TEXT, run COMMAND, stay COMMAND, write PATH TEXT, delegate SCRIPT, slow N, recall.

  --listen ADDR   loopback address [default: 127.0.0.1:0]
  --help          this text
";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let listen = match arguments[..] {
        [] => "127.0.0.1:0",
        ["--listen", address] => address,
        ["--help"] => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => return refuse("it takes --listen ADDR and nothing else; see --help"),
    };
    match listen.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => run(address).await,
        Ok(_) => refuse("it requires no credentials, so it listens on loopback addresses only"),
        Err(_) => refuse(&format!(
            "invalid address {listen}: use one such as 127.0.0.1:4000"
        )),
    }
}

async fn run(address: SocketAddr) -> ExitCode {
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => return refuse(&format!("cannot listen on {address}: {error}")),
    };
    let address = listener.local_addr().unwrap_or(address);
    println!("acpd-fake-model listens on http://{address}");
    match acpd_fake_model::serve(listener).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(message: &str) -> ExitCode {
    eprintln!("acpd-fake-model: {message}");
    ExitCode::from(2)
}
