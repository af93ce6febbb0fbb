/// How similar lines are to one line: the share of pairs of neighbouring bytes that both have (the Sørensen–Dice
/// coefficient). Only the beginning of a long line counts, so the time for it is bounded.
pub struct Similarity {
    /// How often each pair occurs in the line.
    pairs: Vec<u16>,
    length: usize,
}

/// How many bytes of a line are compared.
const COMPARED: usize = 512;

impl Similarity {
    pub fn to(line: &[u8]) -> Self {
        let line = &line[..line.len().min(COMPARED)];
        let mut pairs = vec![0; 1 << 16];
        line.windows(2).for_each(|pair| pairs[number(pair)] += 1);
        Self { pairs, length: line.len() }
    }

    /// From 0 to 1.
    pub fn of(&mut self, line: &[u8]) -> f64 {
        let line = &line[..line.len().min(COMPARED)];
        if line.len() < 2 || self.length < 2 {
            return 0.0;
        }
        // Each pair of the line is taken out of the table once, and put back afterwards.
        let mut common = 0_u16;
        let mut taken = [false; COMPARED];
        for (pair, taken) in line.windows(2).zip(&mut taken) {
            let left = &mut self.pairs[number(pair)];
            *taken = *left > 0;
            *left -= u16::from(*taken);
            common += u16::from(*taken);
        }
        for (pair, _) in line.windows(2).zip(taken).filter(|(_, taken)| *taken) {
            self.pairs[number(pair)] += 1;
        }
        let all = u16::try_from(line.len() + self.length - 2).unwrap_or(u16::MAX);
        2.0 * f64::from(common) / f64::from(all)
    }
}

fn number(pair: &[u8]) -> usize {
    usize::from(pair[0]) << 8 | usize::from(pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_line_is_most_similar_and_asking_changes_nothing() {
        let mut similarity = Similarity::to(b"let value = compute(a, b);");
        for (line, least, most) in [
            (&b"let value = compute(a, b);"[..], 1.0, 1.0),
            (b"let value = compute(a, c);", 0.8, 0.99),
            (b"fn unrelated() {}", 0.0, 0.3),
            (b"let value = compute(a, b);", 1.0, 1.0),
            (b"", 0.0, 0.0),
            (b"x", 0.0, 0.0),
        ] {
            let similar = similarity.of(line);
            assert!((least..=most).contains(&similar), "{similar} for {}", String::from_utf8_lossy(line));
        }
        assert!(Similarity::to(&vec![b'a'; 1 << 20]).of(&vec![b'a'; 1 << 20]) > 0.99);
    }
}
