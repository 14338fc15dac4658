use acpd_model::AccessScope;
use acpd_model::limits::{SESSION_DAYS, SHARE_CONNECTIONS};
use acpd_proto::surface::request::Permissions;

use super::*;
use crate::auth::owner_token::random;

const DAY: i64 = 24 * 3600 * 1000;
pub(super) const HERE: Source = Source::Socket;

pub(super) fn at(secs: u64) -> Now {
    Now {
        mono: Duration::from_secs(secs),
        wall: i64::try_from(secs).unwrap() * 1000,
    }
}

pub(super) fn key(name: &str, role: Role, secret: &str, expires_at: Option<i64>) -> IssuedToken {
    IssuedToken::new(name, role, secret, 0, expires_at)
}

pub(super) fn guard(keys: Vec<IssuedToken>) -> AuthStore {
    let owner = Token::given("thought-up-by-a-person").unwrap();
    AuthStore::new(&owner, keys, Shares::default(), Sessions::default(), at(1))
}

/// Returns a session secret with the cookie `name`.
pub(super) fn secret(name: &str) -> SessionSecret {
    SessionSecret {
        cookie: name.to_owned(),
        page_key: format!("key of {name}"),
    }
}

/// Authenticates by a ticket while there is room for the connection.
fn show(store: &mut AuthStore, ticket: &str, now: Now) -> Result<Identity, AuthError> {
    store.ticket(ticket, HERE, now, |_, _| Ok(()))
}

#[test]
fn each_token_opens_what_it_is_for() {
    let keys = Role::ALL.map(|role| key(role.name(), role, &format!("secret of {role}"), None));
    let mut store = guard(keys.into_iter().skip(1).collect());
    let identity = store.token("secret of approver", HERE, at(2)).unwrap();
    assert_eq!(
        (&*identity.principal, identity.role),
        ("approver", Role::Approver)
    );
    let identity = store.token("thought-up-by-a-person", HERE, at(2)).unwrap();
    assert_eq!((&*identity.principal, identity.role), ("owner", Role::Owner));
    for wrong in [
        "",
        "secret of observer",
        "thought-up-by-a-perso",
        "Secret of approver",
    ] {
        assert_eq!(
            store.token(wrong, HERE, at(2)).unwrap_err(),
            AuthError::Wrong,
            "{wrong}"
        );
    }
}

#[test]
fn a_revocation_ends_all_derived_credentials() {
    let (a, b) = (key("a", Role::Owner, "a", None), key("b", Role::Owner, "b", None));
    let mut store = guard(vec![a.clone(), b.clone()]);
    let identity = store.token("a", HERE, at(2)).unwrap();
    let other = store.token("b", HERE, at(2)).unwrap();
    let session = store.begin_session(&secret("cookie"), &identity, at(2)).unwrap();
    store
        .add_ticket("ticket", session.clone(), Holder::Anyone, at(2))
        .unwrap();
    assert_eq!(
        store.set_keys(vec![a.clone(), b.clone()], at(2)),
        0,
        "nothing has changed"
    );
    assert_eq!(store.set_keys(vec![b.clone()], at(2)), 1);
    assert!(identity.ends.is_cancelled() && session.ends.is_cancelled());
    assert!(!other.ends.is_cancelled());
    assert!(store.token("a", HERE, at(3)).is_err());
    assert!(store.session(&secret("cookie"), at(3)).is_err());
    assert!(show(&mut store, "ticket", at(3)).is_err());
    // The same name and hash with another role count as another token.
    let less = IssuedToken {
        role: Role::Observer,
        ..b
    };
    assert_eq!(store.set_keys(vec![less], at(2)), 1);
    assert!(other.ends.is_cancelled());
    assert_eq!(store.token("b", HERE, at(3)).unwrap().role, Role::Observer);
    assert!(store.token("thought-up-by-a-person", HERE, at(3)).is_ok());
}

#[test]
fn expired_credentials_end_by_themselves() {
    let mut store = guard(vec![key("a", Role::Owner, "a", Some(5000))]);
    assert_eq!(store.poll_timeout(), Some(5000));
    let identity = store.token("a", HERE, at(4)).unwrap();
    let session = store.begin_session(&secret("cookie"), &identity, at(4)).unwrap();
    assert!(store.token("a", HERE, at(5)).is_err(), "even before the time-out");
    store.handle_timeout(at(5));
    assert!(identity.ends.is_cancelled() && session.ends.is_cancelled());
    assert_eq!(store.poll_timeout(), None);
}

#[test]
fn a_ticket_opens_once_and_not_for_long() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    store
        .add_ticket("one", owner.clone(), Holder::Anyone, at(10))
        .unwrap();
    let full = store.ticket("one", HERE, at(11), |_, _| Err(AuthError::Full));
    assert_eq!(full.unwrap_err(), AuthError::Full, "and it is not used up");
    assert_eq!(&*show(&mut store, "one", at(11)).unwrap().principal, "owner");
    assert_eq!(show(&mut store, "one", at(11)).unwrap_err(), AuthError::Wrong);
    store
        .add_ticket("two", owner.clone(), Holder::Anyone, at(20))
        .unwrap();
    assert!(show(&mut store, "two", at(20 + TICKET_SECS)).is_err());
    for n in 0..TICKETS_OF_ONE {
        store
            .add_ticket(&format!("{n}"), owner.clone(), Holder::Anyone, at(100))
            .unwrap();
    }
    assert_eq!(
        store.add_ticket("more", owner.clone(), Holder::Anyone, at(100)),
        Err(TicketLimit)
    );
    store
        .add_ticket("later", owner, Holder::Anyone, at(100 + TICKET_SECS))
        .unwrap();
}

#[test]
fn sessions_from_a_ticket_end_with_its_token() {
    let a = key("a", Role::Operator, "a", Some(50_000));
    let mut store = guard(vec![a.clone()]);
    let enter = |store: &mut AuthStore| {
        let identity = store.token("a", HERE, at(2)).unwrap();
        assert!(!identity.by_ticket);
        store
            .add_ticket("ticket", identity, Holder::Anyone, at(2))
            .unwrap();
        show(store, "ticket", at(3)).unwrap()
    };
    let identity = enter(&mut store);
    assert!(identity.by_ticket && store.connection(identity.clone(), at(49)).is_ok());
    assert_eq!(
        store.connection(identity, at(50)).unwrap_err(),
        AuthError::Wrong,
        "it is over, even before the time-out"
    );
    let identity = enter(&mut store);
    store.set_keys(Vec::new(), at(3));
    assert_eq!(store.connection(identity, at(4)).unwrap_err(), AuthError::Wrong);
}

#[test]
fn a_session_takes_its_cookie_and_its_pages_key() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    for name in ["one", "two"] {
        store.begin_session(&secret(name), &owner, at(1)).unwrap();
    }
    assert!(store.session(&secret("one"), at(2)).is_ok());
    for page_key in ["", "one", "key of two"] {
        let shown = SessionSecret {
            page_key: page_key.to_owned(),
            ..secret("one")
        };
        assert_eq!(
            store.session(&shown, at(2)).unwrap_err(),
            AuthError::Wrong,
            "{page_key}"
        );
    }
}

#[test]
fn a_session_that_a_leap_of_the_clock_expired_returns_with_the_right_time() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    let began = store.begin_session(&secret("a"), &owner, at(1)).unwrap();
    let leapt = Now {
        mono: Duration::from_secs(1),
        wall: 400 * DAY,
    };
    store.handle_timeout(leapt);
    assert!(began.ends.is_cancelled(), "its connections are closed");
    assert!(store.session(&secret("a"), leapt).is_err());
    assert_eq!(store.poll_timeout(), None, "nothing is left to expire");
    // By the same daemon, and by the next one that loads the file.
    let back = store.session(&secret("a"), at(2)).unwrap();
    assert!(!back.ends.is_cancelled());
    store.handle_timeout(leapt);
    let stored = store.take_unstored().expect("it has changed");
    let dir = tempfile::tempdir().unwrap();
    stored.store(dir.path()).unwrap();
    let mut sessions = Sessions::load(dir.path());
    assert!(sessions.used(&["a".to_owned()], "key of a", 2000).is_some());
    // What the user ends does not return.
    let back = store.session(&secret("a"), at(2)).unwrap();
    store.end_session(&back);
    assert!(store.session(&secret("a"), at(2)).is_err());
}

#[test]
fn links_and_tokens_that_a_leap_of_the_clock_expired_return_with_the_right_time() {
    let mut store = guard(vec![key("a", Role::Operator, "a", Some(50_000))]);
    let token = store.token("a", HERE, at(2)).unwrap();
    store.begin_session(&secret("of a"), &token, at(2)).unwrap();
    let (id, link) = share(&mut store, "owner", thread(1), 60, at(2));
    let reader = store.token(&link, HERE, at(3)).unwrap();
    store.begin_session(&secret("page"), &reader, at(3)).unwrap();
    let leapt = Now {
        mono: Duration::from_secs(4),
        wall: 400 * DAY,
    };
    store.handle_timeout(leapt);
    assert!(token.ends.is_cancelled() && reader.ends.is_cancelled());
    assert!(store.token("a", HERE, leapt).is_err() && store.token(&link, HERE, leapt).is_err());
    assert_eq!(store.list_shares(None, leapt), []);
    assert_eq!(store.poll_timeout(), None, "nothing is left to expire");
    // By the same daemon, and by the next one that loads the file.
    for name in ["of a", "page"] {
        assert!(!store.session(&secret(name), at(5)).unwrap().ends.is_cancelled());
    }
    assert!(!store.token("a", HERE, at(5)).unwrap().ends.is_cancelled());
    assert!(!store.token(&link, HERE, at(5)).unwrap().ends.is_cancelled());
    assert_eq!(store.list_shares(None, at(5)).len(), 1);
    assert_eq!(store.poll_timeout(), Some(50_000), "and they expire again");
    store.handle_timeout(leapt);
    let dir = tempfile::tempdir().unwrap();
    store.take_unstored_shares().unwrap().store(dir.path()).unwrap();
    assert_eq!(Shares::load(dir.path()).list(None, 5_000).len(), 1);
    // What a user revokes does not return.
    assert_eq!(store.end_shares(|share| share.id == id, leapt), 1);
    store.set_keys(Vec::new(), leapt);
    assert!(store.token("a", HERE, at(5)).is_err() && store.token(&link, HERE, at(5)).is_err());
}

#[test]
fn a_session_lives_while_it_is_used_and_ends_on_request() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    let first = store.begin_session(&secret("first"), &owner, at(1)).unwrap();
    store.begin_session(&secret("other"), &owner, at(1)).unwrap();
    let day = |days: i64| Now {
        mono: Duration::from_secs(1),
        wall: days * DAY,
    };
    assert!(store.session(&secret("first"), day(SESSION_DAYS - 1)).is_ok());
    store.handle_timeout(day(SESSION_DAYS + 1));
    assert!(
        store.session(&secret("first"), day(SESSION_DAYS + 1)).is_ok(),
        "it was used"
    );
    assert!(
        store.session(&secret("other"), day(SESSION_DAYS + 1)).is_err(),
        "it was not"
    );
    let used = store.session(&secret("first"), day(SESSION_DAYS + 2)).unwrap();
    store
        .add_ticket("ticket", used.clone(), Holder::Anyone, day(SESSION_DAYS + 2))
        .unwrap();
    store.end_session(&used);
    assert!(first.ends.is_cancelled());
    assert!(store.session(&secret("first"), day(SESSION_DAYS + 2)).is_err());
    assert!(show(&mut store, "ticket", day(SESSION_DAYS + 2)).is_err());
    assert!(!owner.ends.is_cancelled(), "the token holds");
}

#[test]
fn a_session_outlives_the_daemon_as_long_as_its_token_holds() {
    let dir = tempfile::tempdir().unwrap();
    let keys = vec![
        key("a", Role::Operator, "a", None),
        key("b", Role::Owner, "b", None),
    ];
    let mut before = guard(keys.clone());
    for name in ["a", "b"] {
        let identity = before.token(name, HERE, at(2)).unwrap();
        before
            .begin_session(&secret(&format!("cookie of {name}")), &identity, at(2))
            .unwrap();
    }
    let stored = before.take_unstored().unwrap();
    assert!(before.take_unstored().is_none(), "nothing has changed since");
    stored.store(dir.path()).unwrap();
    let text = std::fs::read_to_string(dir.path().join("sessions.json")).unwrap();
    assert!(
        text.starts_with(r#"{"version":2,"sessions":[{"hash":""#),
        "{text}"
    );
    let owner = Token::given("another-owner's-token").unwrap();
    let mut after = AuthStore::new(
        &owner,
        keys[..1].to_vec(),
        Shares::default(),
        Sessions::load(dir.path()),
        at(3),
    );
    let identity = after.session(&secret("cookie of a"), at(3)).unwrap();
    assert_eq!((&*identity.principal, identity.role), ("a", Role::Operator));
    assert!(after.session(&secret("cookie of b"), at(3)).is_err());
    after.set_keys(Vec::new(), at(3));
    assert!(identity.ends.is_cancelled(), "it hangs on its token again");
}

#[test]
fn guesses_are_throttled_and_random_tokens_are_not() {
    let random = random().unwrap();
    let mut store = guard(vec![key("a", Role::Owner, &random, None)]);
    let source = Source::of("192.0.2.1".parse().unwrap());
    for _ in 0..FAILED_LOGINS {
        assert_eq!(store.token("guess", source, at(2)).unwrap_err(), AuthError::Wrong);
    }
    assert!(matches!(
        store.token("guess", source, at(2)),
        Err(AuthError::Wait(_))
    ));
    let right = store.token("thought-up-by-a-person", source, at(2));
    assert!(
        matches!(right, Err(AuthError::Wait(_))),
        "a right guess is held up as well"
    );
    assert!(
        store.token(&random, source, at(2)).is_ok(),
        "this was not guessed"
    );
    assert!(
        store.token("thought-up-by-a-person", HERE, at(2)).is_ok(),
        "from elsewhere"
    );
    let later = at(2 + FAILED_LOGIN_SECS);
    assert!(store.token("thought-up-by-a-person", source, later).is_ok());
}

#[test]
fn a_place_is_a_household() {
    let of = |text: &str| Source::of(text.parse().unwrap());
    assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
    assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
}

#[test]
fn one_principal_does_not_use_up_anothers_requests() {
    let mut store = guard(vec![key("a", Role::Observer, "a", None)]);
    let (a, owner) = (store.token("a", HERE, at(2)).unwrap(), store.owner());
    for _ in 0..HTTP_REQUESTS {
        assert_eq!(store.request(&a, at(2)), Ok(()));
    }
    assert!(store.request(&a, at(2)).is_err());
    assert_eq!(store.request(&owner, at(2)), Ok(()));
    assert_eq!(store.request(&a, at(3)), Ok(()));
}

pub(super) fn thread(number: u128) -> ThreadId {
    ThreadId(uuid::Uuid::from_u128(number))
}

/// Makes a link in the name of a token that expires after `secs` seconds. Returns its id and its secret.
pub(super) fn share(store: &mut AuthStore, by: &str, of: ThreadId, secs: u64, now: Now) -> (String, String) {
    let new = NewShare::new(of, None, by.to_owned(), Some(secs)).unwrap();
    let secret = ShareSecret::random().unwrap();
    let made = store.create_share(new, &secret, now).unwrap();
    assert_eq!((made.id, made.thread), (secret.id.clone(), of));
    (secret.id, secret.secret)
}

#[test]
fn a_link_reads_one_thread_until_it_expires() {
    let mut store = guard(Vec::new());
    let (id, link) = share(&mut store, "owner", thread(1), 60, at(2));
    let identity = store.token(&link, HERE, at(61)).unwrap();
    assert_eq!(*identity.principal, format!("share:{id}"));
    let scope = AccessScope::Thread(thread(1));
    let role = Role::Observer;
    assert_eq!(identity.permissions(), Permissions { role, scope });
    // Its session expires with it, however long sessions last.
    let opened = store.begin_session(&secret("page"), &identity, at(3)).unwrap();
    assert_eq!(opened.permissions(), identity.permissions());
    assert_eq!(opened.session.unwrap().1, 62_000);
    let page = store.session(&secret("page"), at(61)).unwrap();
    assert_eq!(page.permissions().scope, scope);
    assert!(!page.ends.is_cancelled() && !identity.ends.is_cancelled());
    assert_eq!(store.poll_timeout(), Some(62_000));
    assert_eq!(store.token(&link, HERE, at(62)).err(), Some(AuthError::Wrong));
    assert_eq!(
        store.session(&secret("page"), at(62)).err(),
        Some(AuthError::Wrong)
    );
    store.handle_timeout(at(62));
    assert!(page.ends.is_cancelled() && identity.ends.is_cancelled());
    assert_eq!(store.list_shares(None, at(62)), []);
}

#[test]
fn a_revoked_link_ends_everything_that_it_opened_and_nothing_else() {
    let mut store = guard(Vec::new());
    let (id, link) = share(&mut store, "owner", thread(1), 60, at(2));
    let (_, other_link) = share(&mut store, "owner", thread(1), 60, at(2));
    let opened = store.token(&link, HERE, at(3)).unwrap();
    let page = store.begin_session(&secret("page"), &opened, at(3)).unwrap();
    let other = store.token(&other_link, HERE, at(3)).unwrap();
    let owner = store.owner();
    assert_eq!(store.end_shares(|share| share.id == id, at(4)), 1);
    assert!(opened.ends.is_cancelled() && page.ends.is_cancelled());
    assert!(!other.ends.is_cancelled() && !owner.ends.is_cancelled());
    assert!(store.token(&link, HERE, at(4)).is_err() && store.session(&secret("page"), at(4)).is_err());
    assert!(store.begin_session(&secret("late"), &opened, at(4)).is_none());
    assert!(store.connection(opened, at(4)).is_err());
    assert_eq!(store.end_shares(|share| share.id == id, at(4)), 0);
}

#[test]
fn a_link_ends_with_the_token_that_made_it() {
    let ann = key("ann", Role::Operator, "ann's", Some(30_000));
    let bob = key("bob", Role::Operator, "bob's", None);
    let mut store = guard(vec![ann.clone(), bob.clone()]);
    let (_, of_ann) = share(&mut store, "ann", thread(1), 3600, at(2));
    let (_, of_bob) = share(&mut store, "bob", thread(1), 3600, at(2));
    let (_, of_owner) = share(&mut store, "owner", thread(1), 3600, at(2));
    assert!(store.token(&of_ann, HERE, at(29)).is_ok());
    store.handle_timeout(at(30));
    assert!(
        store.token(&of_ann, HERE, at(30)).is_err(),
        "her token has expired"
    );
    let reader = store.token(&of_bob, HERE, at(30)).unwrap();
    store.set_keys(vec![ann], at(31));
    assert!(reader.ends.is_cancelled() && store.token(&of_bob, HERE, at(31)).is_err());
    assert!(store.token(&of_owner, HERE, at(31)).is_ok());
    // Another token of the same name is another token.
    store.set_keys(vec![key("bob", Role::Operator, "bob's new", None)], at(32));
    assert!(store.token(&of_bob, HERE, at(32)).is_err());
    let new = NewShare::new(thread(1), None, "gone".to_owned(), None).unwrap();
    let refused = store.create_share(new, &ShareSecret::random().unwrap(), at(32));
    assert_eq!(refused.unwrap_err().code, ErrorCode::Forbidden);
}

#[test]
fn readers_of_links_log_out_no_user() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    store.begin_session(&secret("owner"), &owner, at(2)).unwrap();
    for number in 0..20 {
        let (_, link) = share(&mut store, "owner", thread(number), 3600, at(2));
        let reader = store.token(&link, HERE, at(3)).unwrap();
        for page in 0..60 {
            let name = format!("{number} {page}");
            store.begin_session(&secret(&name), &reader, at(3)).unwrap();
        }
    }
    assert!(store.session(&secret("owner"), at(4)).is_ok());
    assert!(
        store.session(&secret("0 0"), at(4)).is_err(),
        "the oldest of links ended"
    );
    assert!(store.session(&secret("19 59"), at(4)).is_ok());
}

#[test]
fn links_and_their_sessions_survive_a_restart_unless_their_token_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let ann = key("ann", Role::Operator, "ann's", None);
    let mut store = guard(vec![ann.clone()]);
    let (_, link) = share(&mut store, "ann", thread(1), 3600, at(2));
    let reader = store.token(&link, HERE, at(3)).unwrap();
    store.begin_session(&secret("page"), &reader, at(3)).unwrap();
    let shares = store.take_unstored_shares().unwrap();
    shares.store(dir.path()).unwrap();
    store.take_unstored().unwrap().store(dir.path()).unwrap();
    let owner = Token::given("thought-up-by-a-person").unwrap();
    let again = |keys: Vec<IssuedToken>| {
        let (shares, sessions) = (Shares::load(dir.path()), Sessions::load(dir.path()));
        AuthStore::new(&owner, keys, shares, sessions, at(4))
    };
    let mut store = again(vec![ann]);
    let page = store.session(&secret("page"), at(5)).unwrap();
    assert_eq!(page.permissions().scope, AccessScope::Thread(thread(1)));
    assert!(store.token(&link, HERE, at(5)).is_ok());
    store.end_shares(|_| true, at(6));
    assert!(page.ends.is_cancelled());
    let mut store = again(Vec::new());
    assert!(store.token(&link, HERE, at(5)).is_err() && store.session(&secret("page"), at(5)).is_err());
}

#[test]
fn readers_of_one_link_leave_room_for_others() {
    let mut store = guard(Vec::new());
    let (_, link) = share(&mut store, "owner", thread(1), 3600, at(2));
    let (_, other) = share(&mut store, "owner", thread(1), 3600, at(2));
    let reader = store.token(&link, HERE, at(3)).unwrap();
    let mut places: Vec<_> = (0..SHARE_CONNECTIONS)
        .map(|_| reader.take_permit().unwrap())
        .collect();
    // Sessions of the link count as well.
    let page = store.begin_session(&secret("page"), &reader, at(3)).unwrap();
    assert!(page.take_permit().is_err());
    assert!(store.token(&other, HERE, at(3)).unwrap().take_permit().is_ok());
    assert!(store.owner().take_permit().is_ok());
    places.pop();
    assert!(page.take_permit().is_ok());
}

#[test]
fn devices_belong_to_the_user_whose_token_paired_them() {
    let paired = |name: &str, parent: Option<&str>| IssuedToken {
        paired: true,
        parent: parent.map(Hash::of),
        ..key(name, Role::Approver, name, None)
    };
    let keys = vec![
        key("ann", Role::Operator, "ann", None),
        paired("watch", Some("phone")),
        paired("phone", None),
        paired("tablet", Some("ann")),
        paired("orphan", Some("gone")),
        paired("egg", Some("hen")),
        paired("hen", Some("egg")),
    ];
    let expected = [
        ("ann", "ann"),
        ("watch", "owner"),
        ("phone", "owner"),
        ("tablet", "ann"),
        ("orphan", "orphan"),
        ("egg", "egg"),
        ("hen", "hen"),
    ];
    let mut later = guard(Vec::new());
    later.set_keys(keys.clone(), at(1));
    for mut store in [guard(keys), later] {
        for (name, user) in expected {
            let identity = store.token(name, HERE, at(2)).unwrap();
            assert_eq!((&*identity.principal, &*identity.user), (name, user));
            let session = store.begin_session(&secret(name), &identity, at(2)).unwrap();
            assert_eq!(&*session.user, user);
            assert_eq!(&*identity.editor_identity().user, user);
        }
        assert_eq!(&*store.owner().user, "owner");
    }
}

#[test]
fn a_page_finds_its_session_among_the_cookies_of_others() {
    let mut store = guard(Vec::new());
    let owner = store.owner();
    for name in ["one", "two"] {
        store.begin_session(&secret(name), &owner, at(2)).unwrap();
    }
    let mut cookies: Vec<_> = (0..250).map(|number| format!("other {number}")).collect();
    let found = |store: &mut AuthStore, cookies: &[String], page_key: &str| {
        store.session_of(cookies, page_key, at(3)).is_ok()
    };
    assert!(!found(&mut store, &cookies, "key of two"));
    cookies.extend(["one".to_owned(), "two".to_owned()]);
    assert!(found(&mut store, &cookies, "key of two"));
    assert!(!found(&mut store, &cookies, "two"), "the cookie is no page key");
    assert!(!found(&mut store, &[], "key of two"));
    assert!(
        !found(&mut store, &cookies[..251], "key of two"),
        "it is of another page"
    );
}
