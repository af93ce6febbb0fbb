/// Where a text occurs: how often, and the first places. A file can have millions, so the rest is only counted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Places {
    pub count: usize,
    /// The offsets of the first places, in order.
    pub first: Vec<usize>,
}

/// How many places an error names by their line.
const MOST_NAMED: usize = 50;

impl Places {
    pub fn add(&mut self, start: usize) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push(start);
        }
    }

    /// The numbers of the lines they start in, for an error.
    pub fn lines(&self, text: &[u8]) -> String {
        let (mut line, mut at) = (1, 0);
        let numbers = self.first.iter().map(|start| {
            line += memchr::memchr_iter(b'\n', &text[at..*start]).count();
            at = *start;
            line.to_string()
        });
        numbers.collect::<Vec<_>>().join(", ") + if self.count > self.first.len() { ", …" } else { "" }
    }
}

impl FromIterator<usize> for Places {
    fn from_iter<I: IntoIterator<Item = usize>>(starts: I) -> Self {
        let mut places = Self::default();
        starts.into_iter().for_each(|start| places.add(start));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_by_their_lines_and_the_rest_is_counted() {
        let text = b"a\nb a\n\na";
        let places: Places = memchr::memmem::find_iter(text, "a").collect();
        assert_eq!((places.count, places.lines(text)), (3, "1, 2, 4".to_owned()));
        let many: Places = (0..60).collect();
        assert_eq!(many.count, 60);
        assert!(many.lines(&[b'\n'; 60]).ends_with("49, 50, …"));
    }
}
