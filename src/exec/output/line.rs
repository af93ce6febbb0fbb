//! The last line of a stream, which a carriage return may still overwrite.

use super::view::characters;

/// Its first characters, its length, and where the cursor is.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// At most as many as a result can show.
    characters: Vec<char>,
    length: u64,
    column: u64,
    /// A carriage return came. It overwrites the line unless a newline follows.
    returned: bool,
}

impl Line {
    pub fn is_empty(&self) -> bool {
        self.length == 0 && !self.returned
    }

    /// Whether text would simply be appended.
    pub fn is_at_end(&self) -> bool {
        !self.returned && self.column == self.length
    }

    /// Characters, kept or not; an open carriage return counts.
    pub fn length(&self) -> u64 {
        self.length + u64::from(self.returned)
    }

    pub fn characters(&self) -> impl Iterator<Item = char> {
        self.characters.iter().copied().chain(self.returned_here())
    }

    /// Counts characters that come at its end and are not kept.
    pub fn count(&mut self, characters: u64) {
        self.length += characters;
        self.column = self.length;
    }

    /// Writes at the cursor. `room` is how many characters are kept.
    pub fn write(&mut self, text: &str, room: usize) {
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.returned) {
            self.column = 0;
        }
        let mut rest = text.chars();
        if self.column == self.length && self.length >= room as u64 {
            // Nothing of it is kept; a line of gigabytes is only counted.
            self.length += characters(text) as u64;
            self.column = self.length;
            return;
        }
        while let Some(character) = rest.next() {
            let column = usize::try_from(self.column).unwrap_or(usize::MAX);
            if column < room {
                // The cursor may stand behind the end, after an erase.
                while self.characters.len() <= column {
                    self.characters.push(' ');
                }
                self.characters[column] = character;
            }
            self.column += 1;
            self.length = self.length.max(self.column);
            if self.column == self.length && self.length >= room as u64 {
                return self.write(rest.as_str(), room);
            }
        }
    }

    pub fn carriage_return(&mut self) {
        self.returned = true;
    }

    pub fn go_to(&mut self, column: u32) {
        self.returned = false;
        // Nothing is drawn behind the end, so the cursor does not go there.
        self.column = u64::from(column).min(self.length);
    }

    pub fn erase_to_end(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.column = 0;
        }
        self.length = self.column;
        self.characters.truncate(usize::try_from(self.column).unwrap_or(usize::MAX));
    }

    pub fn erase(&mut self) {
        (self.returned, self.column) = (false, 0);
        self.erase_to_end();
    }

    /// The kept characters and the length. The line is empty afterwards.
    pub fn take(&mut self) -> (String, u64) {
        let taken = (self.characters().collect(), self.length());
        *self = Self { characters: std::mem::take(&mut self.characters), ..Self::default() };
        self.characters.clear();
        taken
    }

    /// A carriage return at the end of a line is kept: it has overwritten nothing.
    fn returned_here(&self) -> Option<char> {
        self.returned.then_some('\r')
    }
}
