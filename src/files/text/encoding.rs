use std::borrow::Cow;

/// How a file's text is stored, decided by its byte order mark. A file without a mark is treated as plain bytes: UTF-8 or
/// another superset of ASCII, searched and edited without decoding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Encoding {
    Bytes,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
}

impl Encoding {
    /// The longest mark is tried first, because the UTF-32 mark begins with the UTF-16 mark.
    pub fn of(head: &[u8]) -> Self {
        [Self::Utf32Le, Self::Utf32Be, Self::Utf16Le, Self::Utf16Be, Self::Utf8Bom]
            .into_iter()
            .find(|encoding| head.starts_with(encoding.mark()))
            .unwrap_or(Self::Bytes)
    }

    pub fn mark(self) -> &'static [u8] {
        match self {
            Self::Bytes => b"",
            Self::Utf8Bom => b"\xEF\xBB\xBF",
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
            Self::Utf32Le => b"\xFF\xFE\0\0",
            Self::Utf32Be => b"\0\0\xFE\xFF",
        }
    }

    /// The size of a code unit, in bytes.
    pub fn unit(self) -> usize {
        match self {
            Self::Bytes | Self::Utf8Bom => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf32Le | Self::Utf32Be => 4,
        }
    }

    /// The text of a whole file, without its mark.
    pub fn text_of(self, content: &[u8]) -> Cow<'_, [u8]> {
        self.decode(content.get(self.mark().len()..).unwrap_or_default())
    }

    /// Stored text without a mark, as UTF-8 where the encoding is known. Each invalid code unit becomes one U+FFFD, so that
    /// [`Encoding::stored_length`] can compute how many bytes it came from.
    pub fn decode(self, body: &[u8]) -> Cow<'_, [u8]> {
        let text: String = match self {
            Self::Bytes | Self::Utf8Bom => return Cow::Borrowed(body),
            Self::Utf16Le | Self::Utf16Be => {
                let units = body.chunks_exact(2).map(|pair| match self {
                    Self::Utf16Le => u16::from_le_bytes([pair[0], pair[1]]),
                    _ => u16::from_be_bytes([pair[0], pair[1]]),
                });
                char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            }
            Self::Utf32Le | Self::Utf32Be => body
                .chunks_exact(4)
                .map(|four| match self {
                    Self::Utf32Le => u32::from_le_bytes([four[0], four[1], four[2], four[3]]),
                    _ => u32::from_be_bytes([four[0], four[1], four[2], four[3]]),
                })
                .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
        };
        Cow::Owned(text.into_bytes())
    }

    /// The stored form of decoded text.
    pub fn encode(self, text: &[u8]) -> Vec<u8> {
        if self.unit() == 1 {
            return text.to_owned();
        }
        let text = String::from_utf8_lossy(text);
        match self {
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Utf32Le => text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect(),
            _ => text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect(),
        }
    }

    /// How many stored bytes a piece of decoded text came from.
    pub fn stored_length(self, decoded: &[u8]) -> usize {
        match self.unit() {
            1 => decoded.len(),
            2 => String::from_utf8_lossy(decoded).chars().map(|c| 2 * c.len_utf16()).sum(),
            _ => 4 * String::from_utf8_lossy(decoded).chars().count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WIDE: [Encoding; 4] = [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be];

    #[test]
    fn the_mark_decides() {
        for encoding in WIDE.into_iter().chain([Encoding::Utf8Bom]) {
            assert_eq!(Encoding::of(&[encoding.mark(), &b"a\0b\0"[..]].concat()), encoding);
        }
        assert_eq!(Encoding::of(b"plain"), Encoding::Bytes);
        assert_eq!(Encoding::of(b""), Encoding::Bytes);
    }

    proptest! {
        #[test]
        fn text_survives_the_way_there_and_back(text in ".*") {
            for encoding in WIDE {
                let stored = encoding.encode(text.as_bytes());
                prop_assert_eq!(encoding.decode(&stored).into_owned(), text.clone().into_bytes());
                prop_assert_eq!(encoding.stored_length(text.as_bytes()), stored.len());
            }
        }

        #[test]
        fn every_stored_unit_is_accounted_for(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            for encoding in WIDE {
                let whole = bytes.len() / encoding.unit() * encoding.unit();
                prop_assert_eq!(encoding.stored_length(&encoding.decode(&bytes)), whole);
            }
        }
    }
}
