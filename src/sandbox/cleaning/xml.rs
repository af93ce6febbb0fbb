//! XML of maven and nuget. An element whose name, or whose `key` or `name` attribute, says that it is a credential is left
//! out with everything in it. So are comments, which may repeat one.

use super::names::is_credential_name;

pub fn clean(content: &str) -> String {
    let mut kept = String::with_capacity(content.len());
    let mut rest = content;
    // How many elements deep we are in one that is left out.
    let mut inside = 0_usize;
    let mut keep = |inside: usize, text: &str| {
        if inside == 0 {
            kept.push_str(text);
        }
    };
    while let Some(at) = rest.find('<') {
        keep(inside, &rest[..at]);
        rest = &rest[at..];
        let (piece, kind) = next_piece(rest);
        rest = &rest[piece.len()..];
        match kind {
            Piece::Comment => {}
            Piece::Empty => {
                if !is_credential(piece) {
                    keep(inside, piece);
                }
            }
            Piece::Open if inside > 0 || is_credential(piece) => inside += 1,
            Piece::Close if inside > 0 => inside -= 1,
            Piece::Open | Piece::Close | Piece::Text => keep(inside, piece),
        }
    }
    keep(inside, rest);
    if content.contains("<!--") || kept.len() != content.len() { kept } else { content.to_owned() }
}

enum Piece {
    Open,
    Close,
    /// `<name …/>`
    Empty,
    Comment,
    /// A declaration or a CDATA section.
    Text,
}

/// The piece that begins with the `<` at the start of the text. One that does not end goes on to the end of the text.
fn next_piece(text: &str) -> (&str, Piece) {
    let until = |end: &str| text.find(end).map_or(text, |at| &text[..at + end.len()]);
    if text.starts_with("<!--") {
        return (until("-->"), Piece::Comment);
    }
    if text.starts_with("<![CDATA[") {
        return (until("]]>"), Piece::Text);
    }
    let piece = until(">");
    let kind = match piece.as_bytes().get(1) {
        Some(b'/') => Piece::Close,
        Some(b'?' | b'!') => Piece::Text,
        _ if piece.ends_with("/>") => Piece::Empty,
        _ => Piece::Open,
    };
    (piece, kind)
}

fn is_credential(tag: &str) -> bool {
    let name = tag.trim_start_matches('<').split(|c: char| c.is_whitespace() || "/>".contains(c)).next();
    let attribute = |attribute: &str| {
        let value = tag.split_once(&format!(" {attribute}="))?.1;
        let quote = value.chars().next()?;
        value[1..].split(quote).next()
    };
    [name, attribute("key"), attribute("name")].into_iter().flatten().any(is_credential_name)
}
