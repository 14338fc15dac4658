//! Steps that end the turn, the process, or both.

use serde_json::json;

use crate::scenarios::args::Args;
use crate::turn::{End, Flow, Turn};
use crate::wire::{self, RpcError};

pub fn stop(_: &mut Turn, args: &Args) -> Flow {
    Err(End::Stop(args.text("reason", "end_turn").to_owned()))
}

pub fn error(_: &mut Turn, args: &Args) -> Flow {
    let message = args.text("message", "the model is on holiday");
    Err(End::Fail(RpcError::new(
        args.number("code", wire::INTERNAL_ERROR),
        message,
    )))
}

pub fn late(turn: &mut Turn, args: &Args) -> Flow {
    let mut chunk = wire::chunk("agent_message_chunk", &wire::text(args.text("text", "too late")));
    if let Some(id) = args.get("id") {
        chunk["messageId"] = json!(id);
    }
    let update = wire::update(&turn.id, &chunk);
    turn.late.push((args.number("ms", 50), update));
    Ok(())
}

pub fn exit(turn: &mut Turn, args: &Args) -> Flow {
    turn.exit = Some(args.number("code", 0));
    Err(End::Stop("end_turn".into()))
}

pub fn crash(turn: &mut Turn, args: &Args) -> Flow {
    let code = args.number("code", 3);
    for k in 1..=args.number("after", 0_u64) {
        turn.say(&format!(" word {k}"));
    }
    eprintln!("fake-agent: about to crash");
    eprintln!("fake-agent: exit code {code}");
    std::process::exit(code)
}

pub fn abort(_: &mut Turn, _: &Args) -> Flow {
    std::process::abort()
}

pub fn half_line(turn: &mut Turn, _: &Args) -> Flow {
    let chunk = wire::chunk("agent_message_chunk", &wire::text("never read"));
    let line = wire::update(&turn.id, &chunk).to_string();
    turn.raw(&line.as_bytes()[..line.len() / 2]);
    std::process::exit(0)
}
