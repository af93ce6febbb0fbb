use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

/// The bearer tokens that HTTP clients may show. A token is a name and a secret; the name tells clients apart.
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

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|token| token.secret.as_str())
    }

    /// Clients are told apart by name and found by secret, so both must be new.
    pub fn add(&mut self, name: &str, secret: &str) -> Result<(), String> {
        if secret.is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("the token {name:?} must consist of visible ASCII characters without blanks"));
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

    /// Adds the lines of a token file: `NAME TOKEN`, or just `TOKEN`. A line that begins with `#` is a comment.
    pub fn add_lines(&mut self, text: &str) -> Result<(), String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (index, line) in lines.enumerate() {
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [secret] => self.add(&format!("token-{}", index + 1), secret)?,
                [name, secret] => self.add(name, secret)?,
                _ => return Err(format!("entry {}: write NAME TOKEN, or just TOKEN", index + 1)),
            }
        }
        if self.is_empty() { Err("the file holds no token".to_owned()) } else { Ok(()) }
    }

    /// The name of the token with this secret. Compares every token to its end, so that the time reveals nothing.
    pub fn find(&self, secret: &str) -> Option<Arc<str>> {
        let mut found = None;
        for token in &self.all {
            if black_box(same(token.secret.as_bytes(), secret.as_bytes())) {
                found = Some(token.name.clone());
            }
        }
        found
    }
}

/// Compares in constant time: it depends on the length of the secret only.
fn same(secret: &[u8], given: &[u8]) -> bool {
    let mut difference = secret.len() ^ given.len();
    for (index, byte) in secret.iter().enumerate() {
        difference |= usize::from(byte ^ given.get(index).copied().unwrap_or_default());
    }
    black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_names_and_tokens() {
        let mut tokens = Tokens::default();
        tokens.add_lines("# mine\nalice  s3cret-a\n\ns3cret-b\n").unwrap();
        let name = |secret| tokens.find(secret).map(|name| name.to_string());
        assert_eq!(name("s3cret-a").as_deref(), Some("alice"));
        assert_eq!(name("s3cret-b").as_deref(), Some("token-2"));
        for wrong in ["", "s3cret", "s3cret-a ", "s3cret-aa", "S3CRET-A", "alice"] {
            assert_eq!(name(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn malformed_and_repeated_tokens_are_refused() {
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
