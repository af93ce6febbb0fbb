//! Tells text from binary output.

/// Bytes from the beginning of a stream that are looked at.
pub const SAMPLE: usize = 8 * 1024;
/// Shorter output is shown, whatever it is.
const SHORTEST: usize = 32;

/// Whether the beginning of a stream is not text. Text in an old encoding is invalid UTF-8 but has no control characters;
/// `find -print0` has NULs but is valid UTF-8. Compressed data, pictures and programs have both.
pub fn is_binary(sample: &[u8]) -> bool {
    if sample.len() < SHORTEST {
        return false;
    }
    let control = |byte: &&u8| matches!(byte, 0..=6 | 14..=26 | 28..=31 | 127);
    let controls = sample.iter().filter(control).count();
    let nuls = memchr::memchr_iter(0, sample).count();
    // The sample may end inside a character.
    let valid = std::str::from_utf8(sample).map_or_else(|error| error.error_len().is_none(), |_| true);
    controls * 100 >= sample.len() * 8 && (!valid || nuls * 5 >= sample.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_compressed_data_are_binary_and_text_is_not() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        assert!(is_binary(&program[..SAMPLE]));
        let noise: Vec<u8> = (0..4096_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect();
        assert!(is_binary(&noise));
        let utf16: Vec<u8> = "Ordinary text in UTF-16, twice.".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(is_binary(&utf16));
        let koi8: Vec<u8> = (0..250_u8).map(|n| if n % 7 == 0 { b' ' } else { 0xc0 + n % 60 }).collect();
        let names = "some/path/of/a/file.rs\0".repeat(100);
        let coloured = "\x1b[32mok\x1b[0m a line of a test run\r\n".repeat(50);
        let utf8 = "日本語のテキスト。".repeat(400);
        for text in [koi8.as_slice(), names.as_bytes(), coloured.as_bytes(), &utf8.as_bytes()[..SAMPLE], b"\0\xff"] {
            assert!(!is_binary(text), "{:?}", &text[..text.len().min(40)]);
        }
    }
}
