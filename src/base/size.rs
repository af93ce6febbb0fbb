use serde::{Deserialize, Deserializer, de::Error};

/// `10MB`, `512 kb`, `42`: powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        _ => return Err(format!("{text:?} is not a size; write a whole number and B, KB, MB or GB, like 10MB")),
    };
    let number: u64 =
        number.parse().map_err(|_| format!("{text:?} is not a size; it must start with a whole number"))?;
    number.checked_mul(factor).ok_or_else(|| format!("{text:?} is too large"))
}

/// For people: `20 GB`, `1.5 MB`, `12 bytes`.
pub fn text(bytes: u64) -> String {
    let units = [("GB", 1_u64 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let Some((unit, factor)) = units.into_iter().find(|(_, factor)| bytes >= *factor) else {
        return format!("{bytes} bytes");
    };
    let tenths = bytes.saturating_mul(10) / factor;
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        tenth => format!("{}.{tenth} {unit}", tenths / 10),
    }
}

/// For serde: a size as text, or a plain number of bytes.
pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Bytes(u64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Bytes(bytes) => Ok(bytes),
        Written::Text(text) => parse(&text).map_err(D::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, text};

    #[test]
    fn sizes_are_shown_in_their_largest_unit() {
        for (bytes, shown) in [(12, "12 bytes"), (1 << 20, "1 MB"), (1536, "1.5 KB"), (20 << 30, "20 GB")] {
            assert_eq!(text(bytes), shown);
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, bytes) in [("10MB", 10 << 20), ("1kb", 1024), ("2 GB", 2 << 30), ("7", 7), ("7B", 7)] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "-1", "1.5MB", "10XB", "99999999999GB"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
