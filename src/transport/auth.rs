//! Who may talk to the server, and under which name. A token is a name and a secret; whoever shows the secret is that
//! principal, and nothing of one principal is visible to another.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The name of the token that a request came with.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Principal(pub Arc<str>);

/// Everybody is this one where no token is asked for.
const ANYBODY: &str = "anybody";

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tokens {
    all: Vec<Token>,
}

#[derive(Clone, Eq, PartialEq)]
struct Token {
    name: Arc<str>,
    secret: String,
}

/// Secrets stay out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.name)
    }
}

impl Tokens {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Names tell principals apart and secrets find them, so both must be new.
    pub fn add(&mut self, name: &str, secret: &str) -> Result<(), String> {
        if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("the token {name:?} must be made of visible ASCII characters, without blanks"));
        }
        if self.all.iter().any(|token| *token.name == *name) {
            return Err(format!("there are two tokens named {name:?}"));
        }
        if let Some(token) = self.all.iter().find(|token| token.secret == secret) {
            return Err(format!("the tokens {:?} and {name:?} are the same", token.name));
        }
        self.all.push(Token { name: name.into(), secret: secret.to_owned() });
        Ok(())
    }

    /// A file of lines `NAME TOKEN`, or just `TOKEN`; `#` begins a comment.
    pub fn add_lines(&mut self, text: &str) -> Result<(), String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (index, line) in lines.enumerate() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [secret] => self.add(&format!("token-{}", index + 1), secret)?,
                [name, secret] => self.add(name, secret)?,
                _ => return Err(format!("entry {}: write NAME TOKEN, or just TOKEN", index + 1)),
            }
        }
        if self.is_empty() { Err("there is no token in it".to_owned()) } else { Ok(()) }
    }

    /// Looks at every token to its end whatever matches, so that the time tells nothing.
    fn find(&self, given: &str) -> Option<Principal> {
        let mut found = None;
        for token in &self.all {
            if black_box(same(token.secret.as_bytes(), given.as_bytes())) {
                found = Some(Principal(token.name.clone()));
            }
        }
        found
    }
}

/// Takes as long as the secret is long, whatever was given.
fn same(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = secret.len() ^ given.len();
    for (index, byte) in secret.iter().enumerate() {
        difference |= usize::from(byte ^ given.get(index).copied().unwrap_or_default());
    }
    black_box(difference) == 0
}

/// Lets pass who may, with the name that the rest of the server knows them by. Without tokens everybody may.
pub async fn check(State(tokens): State<Arc<Tokens>>, mut request: Request, next: Next) -> Response {
    let principal = if tokens.is_empty() {
        Some(Principal(ANYBODY.into()))
    } else {
        bearer(request.headers()).and_then(|given| tokens.find(given))
    };
    let Some(principal) = principal else {
        tracing::info!(path = request.uri().path(), "unauthorized");
        let headers =
            [(header::WWW_AUTHENTICATE, "Bearer realm=\"testudo\""), (header::CONTENT_TYPE, "application/json")];
        return (StatusCode::UNAUTHORIZED, headers, r#"{"error":"unauthorized"}"#).into_response();
    };
    request.extensions_mut().insert(principal);
    next.run(request).await
}

/// Two headers could be read differently by a proxy and by us: then neither counts.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else { return None };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_names_and_tokens() {
        let mut tokens = Tokens::default();
        tokens.add_lines("# mine\nalice  s3cret-a\n\ns3cret-b\n").unwrap();
        let name = |secret| tokens.find(secret).map(|principal| principal.0.to_string());
        assert_eq!(name("s3cret-a").as_deref(), Some("alice"));
        assert_eq!(name("s3cret-b").as_deref(), Some("token-2"));
        for wrong in ["", "s3cret", "s3cret-a ", "s3cret-aa", "S3CRET-A", "alice"] {
            assert_eq!(name(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_token_is_refused() {
        for file in ["", "# nothing\n", "a b c\n", "a x\na y\n", "a x\nb x\n", "a t\u{e9}\n"] {
            assert!(Tokens::default().add_lines(file).is_err(), "{file:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut tokens = Tokens::default();
        tokens.add("alice", "s3cret").unwrap();
        assert!(!format!("{tokens:?}").contains("s3cret"));
    }
}
