//! Shells. Their options come first. If one of them contains the letter `c`, the next word is shell text.

use super::super::shell::Word;
use super::usage::{Usage, lists};
use super::vetted::{Carried, Vetted};

pub fn vet(usage: &Usage, arguments: &[Word]) -> Vetted {
    let mut vetted = Vetted::default();
    let mut at = 0;
    let mut text_follows = false;
    while let Some(text) = arguments.get(at).and_then(Word::text) {
        if !text.starts_with(['-', '+']) || text == "-" || text == "--" {
            break;
        }
        at += 1;
        if lists("--version --help", &text) {
            return vetted;
        }
        if !text.starts_with("--") {
            text_follows |= text.contains('c');
            // `-o` takes a value: `-o pipefail`.
            at += usize::from(text.ends_with('o'));
        } else if !lists(usage.flags, &text) {
            vetted.unvetted(at - 1, format!("its option {text} is not among the vetted ones"));
        }
    }
    match arguments.get(at) {
        Some(word) if text_follows => vetted.carried.push(Carried::Text(word.clone())),
        Some(word) if word.text().as_deref() != Some("-") => {
            vetted.unvetted(at, "it runs a file that cannot be judged");
        }
        _ => vetted.opaque("a shell without -c runs the text that it reads"),
    }
    vetted
}
