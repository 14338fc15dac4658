use acpd_model::Role;
use acpd_model::limits::{PUSH_ENDPOINT_BYTES, SESSIONS, SESSIONS_OF_ONE, SHARE_SESSIONS};

use super::*;
use crate::auth::devices::tests::subscription;
use crate::auth::owner_token::{Token, random};
use crate::auth::sessions::Sessions;
use crate::auth::shares::Shares;
use crate::auth::store::tests::{HERE, at, guard, key, secret, share, thread};

const SERVICE: &str = "https://push.example.com";

/// Starts a session whose browser receives notifications.
fn subscribed(store: &mut AuthStore, token: &str, name: &str, now: Now) -> Identity {
    let identity = store.token(token, HERE, now).unwrap();
    let identity = store.begin_session(&secret(name), &identity, now).unwrap();
    let subscription = PushSubscription {
        id: format!("id of {name}"),
        endpoint: format!("{SERVICE}/{name}"),
        ..subscription(SERVICE)
    };
    store.subscribe(&identity, subscription).unwrap();
    identity
}

fn devices(store: &AuthStore, now: Now) -> Vec<(String, String, Role)> {
    let devices = store.devices(now).into_iter();
    devices
        .map(|(name, device)| (name, device.principal.to_string(), device.role))
        .collect()
}

#[test]
fn a_device_ends_with_its_session_or_the_token_behind_it() {
    let mut store = guard(vec![
        key("ann", Role::Approver, "ann", None),
        key("bob", Role::Observer, "bob", Some(9_000)),
    ]);
    let first = subscribed(&mut store, "ann", "first", at(2));
    let second = subscribed(&mut store, "ann", "second", at(2));
    subscribed(&mut store, "bob", "third", at(2));
    let device = |name: &str, of: &str, role| (format!("device-id of {name}"), of.to_owned(), role);
    let bobs = device("third", "bob", Role::Observer);
    let anns = device("second", "ann", Role::Approver);
    assert_eq!(
        devices(&store, at(2)),
        [device("first", "ann", Role::Approver), anns.clone(), bobs]
    );
    store.end_session(&first);
    store.handle_timeout(at(9));
    assert_eq!(devices(&store, at(9)), [anns]);
    store.set_keys(Vec::new(), at(10));
    assert_eq!(devices(&store, at(10)), []);
    assert_eq!(
        store.subscribe(&second, subscription(SERVICE)),
        Err(SubscribeError::NoSession)
    );
}

#[test]
fn a_browser_has_one_subscription_and_keeps_its_id() {
    let mut store = guard(Vec::new());
    let browser = subscribed(&mut store, "thought-up-by-a-person", "browser", at(2));
    let renewed = PushSubscription {
        endpoint: "https://push.example.com/renewed".to_owned(),
        ..subscription(SERVICE)
    };
    store.subscribe(&browser, renewed).unwrap();
    let now = store.subscription(&browser).unwrap().clone();
    assert_eq!(
        (&*now.id, &*now.endpoint),
        ("id of browser", "https://push.example.com/renewed")
    );
    assert_eq!(store.devices(at(2)).len(), 1);
    // The push service reports the end of the earlier one late.
    store.end_endpoint("https://push.example.com/browser");
    assert_eq!(store.devices(at(2)).len(), 1);
    store.end_endpoint("https://push.example.com/renewed");
    assert_eq!(store.subscription(&browser), None);
    store.subscribe(&browser, subscription(SERVICE)).unwrap();
    store.unsubscribe(&browser);
    assert_eq!(store.subscription(&browser), None);
    assert!(
        store.session(&secret("browser"), at(3)).is_ok(),
        "the session continues"
    );
}

#[test]
fn a_browser_that_signs_in_again_is_one_device() {
    let mut store = guard(vec![key("ann", Role::Approver, "ann", None)]);
    let before = subscribed(&mut store, "thought-up-by-a-person", "browser", at(2));
    let identity = store.token("ann", HERE, at(2)).unwrap();
    let again = store.begin_session(&secret("again"), &identity, at(2)).unwrap();
    let same = store.subscription(&before).unwrap().clone();
    store.subscribe(&again, same).unwrap();
    assert_eq!(store.subscription(&before), None);
    let devices = devices(&store, at(2));
    assert_eq!(devices.len(), 1);
    assert_eq!(devices[0].1, "ann");
}

#[test]
fn a_client_without_a_session_cannot_subscribe() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    let refused = store.subscribe(&owner, subscription(SERVICE));
    assert_eq!(refused, Err(SubscribeError::NoSession));
    store.unsubscribe(&owner);
    assert_eq!(store.subscription(&owner), None);
}

#[test]
fn devices_are_bounded_and_the_longest_file_can_be_read_again() {
    let tokens = (0..SESSIONS / SESSIONS_OF_ONE).map(|number| {
        let name = format!("{number}");
        key(&name, Role::Owner, &name, None)
    });
    let tokens: Vec<_> = tokens.collect();
    let mut store = guard(tokens.clone());
    let mut refused = 0;
    for number in 0..SESSIONS {
        let token = format!("{}", number / SESSIONS_OF_ONE);
        let identity = store.token(&token, HERE, at(2)).unwrap();
        let identity = store
            .begin_session(&secret(&format!("{number}")), &identity, at(2))
            .unwrap();
        match store.subscribe(
            &identity,
            PushSubscription {
                id: random().unwrap(),
                // A quote has two bytes in JSON.
                endpoint: format!("{number:03}{}", "\"".repeat(PUSH_ENDPOINT_BYTES - 3)),
                ..subscription(SERVICE)
            },
        ) {
            Ok(()) => {}
            Err(error) => {
                // The first tokens fill their own places, and leave none for the others.
                let expected = if number < 2 * PUSH_DEVICES {
                    SubscribeError::FullOfOne
                } else {
                    SubscribeError::Full
                };
                assert_eq!(error, expected, "{number}");
                refused += 1;
            }
        }
    }
    assert_eq!(
        (store.devices(at(2)).len(), refused),
        (PUSH_DEVICES, SESSIONS - PUSH_DEVICES)
    );
    let reader = share(&mut store, "0", thread(1), 3600, at(2)).1;
    let reader = store.token(&reader, HERE, at(2)).unwrap();
    for number in 0..SHARE_SESSIONS {
        store
            .begin_session(&secret(&format!("reader {number}")), &reader, at(2))
            .unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    store.take_unstored().unwrap().store(dir.path()).unwrap();
    let owner = Token::given("thought-up-by-a-person").unwrap();
    let again = AuthStore::new(
        &owner,
        tokens,
        Shares::default(),
        Sessions::load(dir.path()),
        at(3),
    );
    assert_eq!(again.devices(at(3)), store.devices(at(3)));
}

#[test]
fn a_browser_is_notified_once_of_each_end_of_its_session() {
    const HOUR: u64 = 3600;
    const DAY: u64 = 24 * HOUR;
    let mut store = guard(Vec::new());
    subscribed(&mut store, "thought-up-by-a-person", "browser", at(0));
    // A browser that receives no notifications.
    let owner = store.token("thought-up-by-a-person", HERE, at(0)).unwrap();
    store.begin_session(&secret("silent"), &owner, at(0)).unwrap();
    let ending = |store: &AuthStore, now| {
        let ending = store.ending_sessions(at(now)).into_iter();
        let seen = ending.map(|ending| (ending.device.subscription.id.clone(), ending.is_prolonged_by_use));
        seen.collect::<Vec<_>>()
    };
    let announce = |store: &mut AuthStore, now| {
        for ending in store.ending_sessions(at(now)) {
            store.announced(&ending);
        }
    };
    let named = |can_stay| [("id of browser".to_owned(), can_stay)];
    assert_eq!(ending(&store, 6 * DAY - 1), []);
    assert_eq!(ending(&store, 6 * DAY), named(true));
    // The push service was not reachable, so it is tried again.
    assert_eq!(ending(&store, 6 * DAY + HOUR), named(true));
    announce(&mut store, 6 * DAY + HOUR);
    assert_eq!(ending(&store, 6 * DAY + 2 * HOUR), []);
    assert_eq!(ending(&store, 7 * DAY), []);
    // The user opened the page, and then again not for a week.
    for day in [6, 12, 18, 24] {
        store
            .session(&secret("browser"), at(day * DAY + 3 * HOUR))
            .unwrap();
    }
    assert_eq!(ending(&store, 28 * DAY), []);
    // Now it ends in any case, and using it changes nothing.
    assert_eq!(ending(&store, 29 * DAY), named(false));
    announce(&mut store, 29 * DAY);
    store.session(&secret("browser"), at(29 * DAY + HOUR)).unwrap();
    assert_eq!(ending(&store, 29 * DAY + 2 * HOUR), []);
}
