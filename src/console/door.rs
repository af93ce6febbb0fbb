//! Who may come in. A one-time key or a token becomes a session of the browser, whose cookie no script can read.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderValue, header};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::PATH;
use crate::base::locks::LockExt;
use crate::base::random;
use crate::config::Tokens;
use crate::control::Viewer;

pub struct Door {
    /// `None` if people come in by link.
    tokens: Option<Tokens>,
    /// Cookies do not tell ports apart, so the name does.
    cookie: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Keys of links that were not used yet.
    keys: Vec<(String, Instant)>,
    sessions: HashMap<String, Session>,
}

struct Session {
    viewer: Viewer,
    used: Instant,
    /// Cancelled when the session ends, for whatever reason.
    over: CancellationToken,
    _end: DropGuard,
}

/// How long a link can be used.
const LINK_LASTS: Duration = Duration::from_mins(10);
/// A browser that was not seen for so long has to log in again.
const SESSION_LASTS: Duration = Duration::from_hours(12);
const MOST_SESSIONS: usize = 256;
/// The principal of everybody where no token is required.
pub const ANYBODY: &str = "anybody";

impl Door {
    pub fn with_links(port: u16) -> Self {
        Self { tokens: None, cookie: format!("testudo_console_{port}"), inner: Mutex::default() }
    }

    pub fn with_tokens(tokens: Tokens, port: u16) -> Self {
        Self { tokens: Some(tokens), ..Self::with_links(port) }
    }

    pub fn new_key(&self) -> String {
        let key = random::hex::<48>();
        self.inner.locked().keys.push((key.clone(), Instant::now()));
        key
    }

    /// Uses up a key.
    pub fn use_key(&self, key: &str) -> bool {
        let mut inner = self.inner.locked();
        inner.keys.retain(|(_, since)| since.elapsed() < LINK_LASTS);
        let before = inner.keys.len();
        inner.keys.retain(|(known, _)| !same(known, key));
        inner.keys.len() < before
    }

    /// Who has this token.
    pub fn holder(&self, token: &str) -> Option<Viewer> {
        let tokens = self.tokens.as_ref()?;
        let name = if tokens.is_empty() { Some(ANYBODY.into()) } else { tokens.find(token) };
        name.map(Viewer::Principal)
    }

    pub fn takes_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether everybody is let in who asks.
    pub fn is_open(&self) -> bool {
        self.tokens.as_ref().is_some_and(Tokens::is_empty)
    }

    /// A new session. Returns the header that gives it to the browser.
    pub fn enter(&self, viewer: Viewer) -> HeaderValue {
        let id = random::hex::<48>();
        let mut inner = self.inner.locked();
        inner.sessions.retain(|_, session| session.used.elapsed() < SESSION_LASTS);
        if inner.sessions.len() >= MOST_SESSIONS {
            let oldest = inner.sessions.iter().min_by_key(|(_, session)| session.used).map(|(id, _)| id.clone());
            oldest.map(|oldest| inner.sessions.remove(&oldest));
        }
        let over = CancellationToken::new();
        let session = Session { viewer, used: Instant::now(), _end: over.clone().drop_guard(), over };
        inner.sessions.insert(id.clone(), session);
        self.set_cookie(&id, "")
    }

    /// Ends the session of this request. Returns the header that takes the cookie away.
    pub fn leave(&self, headers: &HeaderMap) -> HeaderValue {
        if let Some(id) = self.session(headers) {
            self.inner.locked().sessions.remove(id);
        }
        self.set_cookie("", "; Max-Age=0")
    }

    /// Cancelled at the end of the session that this request belongs to. Never cancelled if there is none.
    pub fn over(&self, headers: &HeaderMap) -> CancellationToken {
        let inner = self.inner.locked();
        let session = self.session(headers).and_then(|id| inner.sessions.get(id));
        session.map(|session| session.over.clone()).unwrap_or_default()
    }

    /// Whose session this request belongs to.
    pub fn viewer(&self, headers: &HeaderMap) -> Option<Viewer> {
        let id = self.session(headers)?;
        let mut inner = self.inner.locked();
        let session = inner.sessions.get_mut(id).filter(|session| session.used.elapsed() < SESSION_LASTS)?;
        session.used = Instant::now();
        Some(session.viewer.clone())
    }

    fn session<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }

    fn set_cookie(&self, value: &str, more: &str) -> HeaderValue {
        let text = format!("{}={value}; Path={PATH}; HttpOnly; SameSite=Strict{more}", self.cookie);
        HeaderValue::from_str(&text).unwrap_or_else(|_| unreachable!("it is ASCII"))
    }
}

/// Looks at every byte, so that the time reveals nothing.
fn same(known: &str, given: &str) -> bool {
    let difference = known.bytes().zip(given.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b));
    known.len() == given.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(cookie: &HeaderValue) -> HeaderMap {
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(&format!("a=b; {pair}")).unwrap())])
    }

    #[test]
    fn a_key_works_once_and_a_session_until_it_is_left() {
        let door = Door::with_links(1);
        let key = door.new_key();
        assert!(!door.use_key("") && !door.use_key(&key[1..]) && door.use_key(&key) && !door.use_key(&key));
        let cookie = door.enter(Viewer::Owner);
        assert!(cookie.to_str().unwrap().ends_with("; Path=/console; HttpOnly; SameSite=Strict"));
        let headers = sent(&cookie);
        assert_eq!(door.viewer(&headers), Some(Viewer::Owner));
        let over = door.over(&headers);
        assert!(!over.is_cancelled());
        assert_eq!(Door::with_links(1).viewer(&headers), None);
        door.leave(&headers);
        assert!(over.is_cancelled());
        assert_eq!(door.viewer(&headers), None);
        assert_eq!((door.holder("x"), door.is_open()), (None, false), "there are no tokens");
    }

    #[test]
    fn there_is_an_end_to_sessions() {
        let door = Door::with_links(1);
        (0..MOST_SESSIONS + 10).for_each(|_| drop(door.enter(Viewer::Owner)));
        assert_eq!(door.inner.locked().sessions.len(), MOST_SESSIONS);
    }
}
