//! Images: recognised by their first bytes, and scaled down where they would be too large for a model.

use std::io::Cursor;
use std::path::Path;

use image::{ImageFormat, ImageReader, Limits};

/// An image for the agent. The note says how it differs from the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Image {
    pub mime: &'static str,
    pub data: Vec<u8>,
    pub note: Option<String>,
}

/// Models refuse an image with a longer side. Clients send it again with every turn, so it breaks the whole conversation.
const LONGEST_SIDE: u32 = 2_000;
/// A larger image is scaled to this: the longest side that models do not scale down themselves.
const SCALED_SIDE: u32 = 1_568;
/// The memory for decoding. A file of a few kilobytes can claim to hold gigabytes of pixels.
const MOST_MEMORY: u64 = 512 * 1024 * 1024;

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
        Some("image/svg+xml")
    } else {
        None
    }
}

/// The image as it is sent. An image whose size cannot be read is sent unchanged: the client may be able to read it.
pub fn prepare(mime: &'static str, data: Vec<u8>) -> Image {
    let Some(format) = ImageFormat::from_mime_type(mime) else { return Image { mime, data, note: None } };
    let size = ImageReader::with_format(Cursor::new(&data), format).into_dimensions();
    let Ok((width, height)) = size else { return Image { mime, data, note: None } };
    if width.max(height) <= LONGEST_SIDE {
        return Image { mime, data, note: None };
    }
    match scaled(&data, format) {
        Ok((mime, data, now)) => {
            let note = format!("Scaled down from {width}x{height} to {}x{} pixels.", now.0, now.1);
            Image { mime, data, note: Some(note) }
        }
        Err(error) => {
            let note = format!("{width}x{height} pixels. It could not be scaled down ({error}), so it is left out.");
            Image { mime, data: Vec::new(), note: Some(note) }
        }
    }
}

type Scaled = (&'static str, Vec<u8>, (u32, u32));

fn scaled(data: &[u8], format: ImageFormat) -> Result<Scaled, image::ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let small = reader.decode()?.thumbnail(SCALED_SIDE, SCALED_SIDE);
    let (mime, format) =
        if format == ImageFormat::Jpeg { ("image/jpeg", ImageFormat::Jpeg) } else { ("image/png", ImageFormat::Png) };
    let mut out = Vec::new();
    small.write_to(&mut Cursor::new(&mut out), format)?;
    Ok((mime, out, (small.width(), small.height())))
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
    fn a_large_image_is_scaled_down_and_the_note_says_so() {
        let mut data = Vec::new();
        image::GrayImage::new(3_000, 10).write_to(&mut Cursor::new(&mut data), ImageFormat::Png).unwrap();
        let image = prepare("image/png", data);
        assert_eq!(image.note.as_deref(), Some("Scaled down from 3000x10 to 1568x5 pixels."));
        let size = ImageReader::new(Cursor::new(image.data)).with_guessed_format().unwrap().into_dimensions().unwrap();
        assert_eq!(size, (1_568, 5));
    }

    #[test]
    fn a_small_or_broken_image_stays_as_it_is() {
        let broken = b"\x89PNG\r\n\x1a\nnonsense".to_vec();
        assert_eq!(prepare("image/png", broken.clone()), Image { mime: "image/png", data: broken, note: None });
    }
}
