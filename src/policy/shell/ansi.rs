//! `$'…'`: text with the escapes of C.

/// Decodes the inside. `None` if the result is not valid UTF-8, has a NUL, or has an escape that we do not know.
pub fn decode(inside: &str) -> Option<String> {
    let chars: Vec<char> = inside.chars().collect();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        if chars[at] != '\\' {
            push(&mut bytes, chars[at]);
            at += 1;
            continue;
        }
        let escape = *chars.get(at + 1)?;
        let (start, most, radix) = match escape {
            '0'..='7' => (at + 1, 3, 8),
            'x' => (at + 2, 2, 16),
            'u' => (at + 2, 4, 16),
            'U' => (at + 2, 8, 16),
            other => {
                bytes.push(simple(other)?);
                at += 2;
                continue;
            }
        };
        let digits: String = chars[start..].iter().take(most).take_while(|c| c.is_digit(radix)).collect();
        let number = u32::from_str_radix(&digits, radix).ok()?;
        match escape {
            'u' | 'U' => push(&mut bytes, char::from_u32(number)?),
            _ => bytes.push(u8::try_from(number & 0xff).ok()?),
        }
        at = start + digits.len();
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The escapes of one letter. Rare ones are left out.
fn simple(escape: char) -> Option<u8> {
    Some(match escape {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '?' => b'?',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_read_as_bash_reads_them() {
        let rows = [
            (r"a\nb", Some("a\nb")),
            (r"\x70wn", Some("pwn")),
            (r"\160wn", Some("pwn")),
            (r"\u0070wn", Some("pwn")),
            (r"\xc3\xa9", Some("é")),
            (r"\'\\", Some("'\\")),
            (r"\x00", None),
            (r"\xff", None),
            (r"\q", None),
        ];
        for (inside, expected) in rows {
            assert_eq!(decode(inside).as_deref(), expected, "{inside}");
        }
    }
}
