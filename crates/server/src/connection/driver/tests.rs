use std::collections::BTreeMap;

use acpd_model::Limits;
use acpd_proto::surface::app::Peer;
use acpd_runtime::test_context::context;
use acpd_runtime::thread::directory::Directory;

use super::*;
use crate::transport::lines::Lines;

/// A daemon has thousands of idle connections, and a task reserves space for the largest of its states.
#[tokio::test]
async fn an_idle_connection_is_small() {
    let place = tempfile::tempdir().unwrap();
    let context = context(place.path(), BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    let service = Service::new(directory, context.clone());
    let (reader, writer) = tokio::io::split(tokio::io::duplex(64).0);
    let lines = Lines::new(reader, writer, &context.limits);
    let link = Link::new(Box::new(lines), &context.limits);
    let peer = Peer::new("owner".into(), Role::Owner, context.gate());
    let access = Access {
        role: Role::Owner,
        connection: "c".into(),
        defaults: Defaults::none(),
        standby: None,
        stop: CancellationToken::new(),
        ends: CancellationToken::new(),
    };
    let task = Connection::new(link, peer, service, access).run(None);
    assert!(size_of_val(&task) <= 4624, "{}", size_of_val(&task));
    // One request allocates space for 32 or 64 of these, and a queue of outputs for four.
    assert!(size_of::<Step>() <= 320, "{}", size_of::<Step>());
    assert!(size_of::<Output>() <= 64, "{}", size_of::<Output>());
}
