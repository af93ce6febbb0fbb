use super::clean::Cleaner;

/// The bounded text of a stream: its first characters, and how many there were in all.
#[derive(Debug)]
pub struct View {
    limit: usize,
    head: String,
    head_characters: usize,
    total: u64,
    cleaner: Cleaner,
}

impl View {
    pub fn new(limit: usize) -> Self {
        Self { limit, head: String::new(), head_characters: 0, total: 0, cleaner: Cleaner::default() }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let mut cleaner = std::mem::take(&mut self.cleaner);
        cleaner.push(bytes, &mut |text| self.add(text));
        self.cleaner = cleaner;
    }

    pub fn finish(&mut self) {
        let mut cleaner = std::mem::take(&mut self.cleaner);
        cleaner.finish(&mut |text| self.add(text));
    }

    /// The characters that fit.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Characters of the whole stream.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// A copy of its present state, for a reader while it grows.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        Self { head: self.head.clone(), cleaner: Cleaner::default(), ..*self }
    }

    pub fn is_cut(&self) -> bool {
        self.total > self.limit as u64
    }

    fn add(&mut self, text: &str) {
        // Counting the bytes that do not continue a character is as fast as reading them.
        let count = if text.is_ascii() { text.len() } else { text.chars().count() };
        self.total += count as u64;
        let room = self.limit - self.head_characters;
        if room == 0 {
            return;
        }
        if count <= room {
            self.head.push_str(text);
            self.head_characters += count;
        } else {
            self.head.extend(text.chars().take(room));
            self.head_characters = self.limit;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn characters_are_counted_and_never_split() {
        let mut view = View::new(3);
        "aé日".as_bytes().chunks(1).for_each(|byte| view.push(byte));
        assert_eq!((view.head(), view.total(), view.is_cut()), ("aé日", 3, false));
        view.push(b"x");
        assert_eq!((view.head(), view.total(), view.is_cut()), ("aé日", 4, true));
    }

    #[test]
    fn escapes_do_not_count() {
        let mut view = View::new(10);
        view.push(b"\x1b[31mred\x1b[0m");
        view.finish();
        assert_eq!((view.head(), view.total()), ("red", 3));
    }
}
