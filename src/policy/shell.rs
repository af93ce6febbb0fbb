//! Shell text → the commands in it, by a rough scan: enough to refuse a program by name, not to prove that a text is
//! harmless. The parser that judges what bash would really run comes with the policy rules.

/// The words of each simple command, assignments left out, quotes and backslashes removed.
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => {}
            ' ' | '\t' => end_word(&mut word, &mut words),
            ';' | '&' | '|' | '\n' | '(' | ')' | '{' | '}' | '`' | '$' | '<' | '>' | '!' => {
                end_word(&mut word, &mut words);
                end_command(&mut words, &mut found);
            }
            other => word.push(other),
        }
    }
    end_word(&mut word, &mut words);
    end_command(&mut words, &mut found);
    found
}

fn end_word(word: &mut String, words: &mut Vec<String>) {
    const KEYWORDS: [&str; 8] = ["if", "then", "else", "elif", "while", "until", "do", "time"];
    let done = std::mem::take(word);
    let skipped = words.is_empty() && (done.contains('=') || KEYWORDS.contains(&done.as_str()));
    if !done.is_empty() && !skipped {
        words.push(done);
    }
}

fn end_command(words: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if !words.is_empty() {
        found.push(std::mem::take(words));
    }
}
