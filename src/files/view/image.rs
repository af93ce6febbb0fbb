//! Images: recognised by their first bytes, and converted where a model could not take them as they are.

use std::io::Cursor;
use std::path::Path;

use image::{ImageDecoder, ImageFormat, ImageReader};

use super::convert::{MOST_MEMORY, SCALED_SIDE};

/// An image for the agent. The note says how it differs from the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    pub mime: &'static str,
    pub data: Vec<u8>,
    pub note: Option<String>,
}

/// A picture that has to be converted before it can be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Picture {
    pub mime: &'static str,
    pub data: Vec<u8>,
    /// The memory that the pixels take.
    pub memory: u64,
}

/// What becomes of an image file.
#[derive(Debug, Eq, PartialEq)]
pub enum Prepared {
    AsItIs(Image),
    ToConvert(Picture),
    /// The text says why it cannot be shown.
    Refused(String),
}

pub const SVG: &str = "image/svg+xml";
/// What a drawing takes, roughly. It is not known before it is drawn.
const DRAWING_MEMORY: u64 = 128 << 20;

/// The MIME type of an image, decided by its first bytes. SVG is text and is recognised by its name.
pub fn mime_of(head: &[u8], path: &Path) -> Option<&'static str> {
    let at = |offset: usize, bytes: &[u8]| head.get(offset..offset + bytes.len()) == Some(bytes);
    // "BM" alone proves nothing: a bitmap also has reserved zeros and a header of a known size.
    let bitmap = || at(6, &[0; 4]) && head.get(14).is_some_and(|size| [12, 40, 52, 56, 64, 108, 124].contains(size));
    if at(0, b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if at(0, b"\xFF\xD8\xFF") {
        Some("image/jpeg")
    } else if at(0, b"GIF87a") || at(0, b"GIF89a") {
        Some("image/gif")
    } else if at(0, b"RIFF") && at(8, b"WEBP") {
        Some("image/webp")
    } else if at(0, b"BM") && bitmap() {
        Some("image/bmp")
    } else if at(0, b"\0\0\x01\0") && at(5, b"\0") && at(9, b"\0") {
        Some("image/x-icon")
    } else if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
        Some(SVG)
    } else {
        None
    }
}

/// Decides by the type and the size. An image whose size cannot be read is sent unchanged if models take its type: the client
/// may be able to read it.
pub fn prepare(mime: &'static str, data: Vec<u8>) -> Prepared {
    if mime == SVG {
        return Prepared::ToConvert(Picture { mime, data, memory: DRAWING_MEMORY });
    }
    let is_taken = ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&mime);
    let pixels = ImageFormat::from_mime_type(mime).and_then(|format| {
        let decoder = ImageReader::with_format(Cursor::new(&data), format).into_decoder().ok()?;
        Some((decoder.dimensions(), decoder.total_bytes()))
    });
    match pixels {
        Some(((width, height), _)) if is_taken && width.max(height) <= SCALED_SIDE => {
            Prepared::AsItIs(Image { mime, data, note: None })
        }
        None if is_taken => Prepared::AsItIs(Image { mime, data, note: None }),
        None => Prepared::Refused(format!("An image ({mime}) that cannot be read. It is left out.")),
        Some(((width, height), memory)) if memory > MOST_MEMORY => Prepared::Refused(format!(
            "An image ({mime}) of {width}x{height} pixels. Scaling it down would take {} MB of memory, and {} MB are \
             allowed, so it is left out.",
            memory >> 20,
            MOST_MEMORY >> 20
        )),
        Some((_, memory)) => Prepared::ToConvert(Picture { mime, data, memory }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_decide_not_the_name() {
        let rows: [(&[u8], &str, Option<&str>); 8] = [
            (b"\x89PNG\r\n\x1a\nrest", "x.txt", Some("image/png")),
            (b"\xFF\xD8\xFF\xE0", "x", Some("image/jpeg")),
            (b"GIF89a", "x", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "x", Some("image/webp")),
            (b"BMW makes cars, and so on and on", "x.bmp", None),
            (b"<svg/>", "a.SVG", Some("image/svg+xml")),
            (b"plain", "x.png", None),
            (b"", "x", None),
        ];
        for (head, name, want) in rows {
            assert_eq!(mime_of(head, Path::new(name)), want, "{name}");
        }
    }

    #[test]
    fn a_small_or_broken_image_stays_as_it_is() {
        let mut small = Vec::new();
        image::GrayImage::new(1_568, 10).write_to(&mut Cursor::new(&mut small), ImageFormat::Png).unwrap();
        for data in [small, b"\x89PNG\r\n\x1a\nnonsense".to_vec()] {
            let image = Image { mime: "image/png", data: data.clone(), note: None };
            assert_eq!(prepare("image/png", data), Prepared::AsItIs(image));
        }
    }

    #[test]
    fn what_models_do_not_take_is_converted_or_left_out() {
        let mut large = Vec::new();
        image::GrayImage::new(1_569, 10).write_to(&mut Cursor::new(&mut large), ImageFormat::Png).unwrap();
        for (mime, data) in [("image/png", large), (SVG, b"<svg/>".to_vec())] {
            assert!(matches!(prepare(mime, data), Prepared::ToConvert(picture) if picture.mime == mime), "{mime}");
        }
        assert!(matches!(prepare("image/bmp", b"BM".to_vec()), Prepared::Refused(_)));
    }
}
