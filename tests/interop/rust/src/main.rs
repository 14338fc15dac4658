//! The official Rust SDK plays the part in `$INTEROP` (docs/testing.md, "Interoperability") over the way that is named there.
//! With the argument `calls` it makes calls instead.

mod calls;
mod wire;
mod world;

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, CloseSessionRequest, ContentBlock, CreateTerminalRequest, FileSystemCapabilities,
    Implementation, InitializeRequest, KillTerminalRequest, ListSessionsRequest, LoadSessionRequest,
    NewSessionRequest, PromptRequest, ReadTextFileRequest, ReleaseTerminalRequest, RequestPermissionRequest,
    SessionId, SessionNotification, TerminalOutputRequest, TextContent, WaitForTerminalExitRequest,
    WriteTextFileRequest,
};
use agent_client_protocol::{Agent, Client, Error};
use serde_json::{Value, json};
use wire::{Wire, tell};
use world::World;

type Outcome<T> = Result<T, Error>;

/// What the test tells this program.
struct Part(Value);

impl Part {
    fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    fn work(&self) -> PathBuf {
        self.text("cwd").into()
    }

    fn lends(&self) -> bool {
        self.0["lend"] == true
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let part = serde_json::from_str(&std::env::var("INTEROP")?)?;
    if std::env::args().nth(1).as_deref() == Some("calls") {
        return calls::make(part).await;
    }
    let part = Arc::new(Part(part));
    let world = Arc::new(World::default());
    let session = connected(&part, &world, 1, first).await?;
    let again = async |part: &Part, world: &World, agent: ConnectionTo<Agent>| {
        second(part, world, agent, session).await
    };
    connected(&part, &world, 2, again).await?;
    Ok(())
}

/// Does something on a connection that has been greeted, and ends it.
async fn connected<T>(
    part: &Arc<Part>,
    world: &Arc<World>,
    on: u32,
    act: impl AsyncFnOnce(&Part, &World, ConnectionTo<Agent>) -> Outcome<T>,
) -> Outcome<T> {
    let (channel, wire) = Wire::open(&part.0, on)?;
    macro_rules! serve {
        ($builder:expr, $($request:ty => $method:ident),*) => {
            $builder$(.on_receive_request(
                {
                    let world = Arc::clone(world);
                    async move |request: $request, responder, _cx| {
                        let world = Arc::clone(&world);
                        // The SDK takes no other message until this has returned.
                        tokio::spawn(async move { responder.respond_with_result(world.$method(request).await) });
                        Ok(())
                    }
                },
                agent_client_protocol::on_receive_request!(),
            ))*
        };
    }
    let shown = Arc::clone(world);
    let client = Client.v1().on_receive_notification(
        async move |notification: SessionNotification, agent: ConnectionTo<Agent>| {
            shown.shown(&notification, &agent)
        },
        agent_client_protocol::on_receive_notification!(),
    );
    let client = serve!(
        client,
        RequestPermissionRequest => permission,
        ReadTextFileRequest => read,
        WriteTextFileRequest => write,
        CreateTerminalRequest => create,
        TerminalOutputRequest => output,
        WaitForTerminalExitRequest => exit,
        KillTerminalRequest => kill,
        ReleaseTerminalRequest => release
    );
    let result = client
        .connect_with(channel, async |agent: ConnectionTo<Agent>| {
            greet(part, &agent).await?;
            act(part, world, agent).await
        })
        .await?;
    wire.end().await;
    Ok(result)
}

async fn greet(part: &Part, agent: &ConnectionTo<Agent>) -> Outcome<()> {
    let files = FileSystemCapabilities::new()
        .read_text_file(part.lends())
        .write_text_file(part.lends());
    let lent = ClientCapabilities::new().fs(files).terminal(part.lends());
    let request = InitializeRequest::new(ProtocolVersion::V1)
        .client_capabilities(lent)
        .client_info(Implementation::new("interop", "1"));
    let hello = agent.send_request(request).block_task().await?;
    tell(&json!({
        "step": "hello",
        "version": hello.protocol_version,
        "load": hello.agent_capabilities.load_session,
    }));
    Ok(())
}

async fn first(part: &Part, world: &World, agent: ConnectionTo<Agent>) -> Outcome<SessionId> {
    let made = agent
        .send_request(NewSessionRequest::new(part.work()))
        .block_task()
        .await?;
    let session = made.session_id;
    for turn in part.0["turns"].as_array().into_iter().flatten() {
        play(world, &agent, &session, turn).await?;
    }
    let listed = agent
        .send_request(ListSessionsRequest::new())
        .block_task()
        .await?;
    let ids: Vec<_> = listed.sessions.iter().map(|listed| &listed.session_id).collect();
    tell(&json!({ "step": "listed", "sessions": ids, "session": session }));
    Ok(session)
}

async fn second(part: &Part, world: &World, agent: ConnectionTo<Agent>, session: SessionId) -> Outcome<()> {
    world.begin(&Value::Null);
    let load = LoadSessionRequest::new(session.clone(), part.work());
    agent.send_request(load).block_task().await?;
    tell(&json!({ "step": "loaded", "said": world.said() }));
    play(world, &agent, &session, &part.0["after"]).await?;
    agent
        .send_request(CloseSessionRequest::new(session))
        .block_task()
        .await?;
    tell(&json!({ "step": "closed" }));
    Ok(())
}

async fn play(world: &World, agent: &ConnectionTo<Agent>, session: &SessionId, turn: &Value) -> Outcome<()> {
    world.begin(turn);
    let text = turn["prompt"].as_str().unwrap_or_default();
    let prompt = vec![ContentBlock::Text(TextContent::new(text))];
    let request = PromptRequest::new(session.clone(), prompt);
    let end = agent.send_request(request).block_task().await?;
    tell(&json!({
        "step": "turn",
        "name": turn["name"],
        "stopReason": end.stop_reason,
        "said": world.said(),
    }));
    Ok(())
}
