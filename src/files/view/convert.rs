//! Turns a picture into one that every model's API takes. A file of a few kilobytes can hold gigabytes of pixels or draw for
//! hours, so this runs in a process of its own (`exec/picture_process.rs`), which the kernel limits.

use std::io::Cursor;

use image::{ImageFormat, ImageReader, Limits};

use super::Image;

/// A larger picture is scaled to this: the longest side that models do not scale down themselves.
pub const SCALED_SIDE: u32 = 1_568;
/// The memory for decoding.
pub const MOST_MEMORY: u64 = 512 << 20;

/// A picture as it can be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Converted {
    pub mime: &'static str,
    pub data: Vec<u8>,
    /// Width and height in the file.
    pub was: (u32, u32),
    /// Width and height of the data.
    pub is: (u32, u32),
}

pub fn convert(mime: &str, data: &[u8]) -> Result<Converted, String> {
    if mime == super::image::SVG {
        return super::svg::render(data);
    }
    let format = ImageFormat::from_mime_type(mime).ok_or("its type is unknown")?;
    scaled(data, format).map_err(|error| error.to_string())
}

fn scaled(data: &[u8], format: ImageFormat) -> Result<Converted, image::ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(data), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let decoded = reader.decode()?;
    let was = (decoded.width(), decoded.height());
    let small = if was.0.max(was.1) > SCALED_SIDE { decoded.thumbnail(SCALED_SIDE, SCALED_SIDE) } else { decoded };
    let (mime, format) =
        if format == ImageFormat::Jpeg { ("image/jpeg", ImageFormat::Jpeg) } else { ("image/png", ImageFormat::Png) };
    let mut out = Vec::new();
    small.write_to(&mut Cursor::new(&mut out), format)?;
    Ok(Converted { mime, data: out, was, is: (small.width(), small.height()) })
}

impl Converted {
    /// The form in which it travels from the process that made it: one line, then the data.
    pub fn encode(&self) -> Vec<u8> {
        let kind = if self.mime == "image/jpeg" { "jpeg" } else { "png" };
        let mut bytes = format!("{kind} {} {} {} {}\n", self.was.0, self.was.1, self.is.0, self.is.1).into_bytes();
        bytes.extend_from_slice(&self.data);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let end = memchr::memchr(b'\n', bytes)?;
        let mut words = std::str::from_utf8(&bytes[..end]).ok()?.split(' ');
        let mime = if words.next()? == "jpeg" { "image/jpeg" } else { "image/png" };
        let mut number = || words.next()?.parse().ok();
        let (was, is) = ((number()?, number()?), (number()?, number()?));
        Some(Self { mime, data: bytes[end + 1..].to_owned(), was, is })
    }

    /// The image for the agent, with a note on how it differs from the file, whose type is `from`.
    pub fn into_image(self, from: &str) -> Image {
        let scaled = format!("Scaled down from {}x{} to {}x{} pixels.", self.was.0, self.was.1, self.is.0, self.is.1);
        let converted = match from {
            super::image::SVG => Some(format!(
                "The SVG is rendered as a PNG of {}x{} pixels. view_range shows its source, such as [1, -1].",
                self.is.0, self.is.1
            )),
            "image/bmp" => Some("Converted from BMP to PNG.".to_owned()),
            "image/x-icon" => Some("Converted from ICO to PNG.".to_owned()),
            _ => None,
        };
        let notes: Vec<String> = converted.into_iter().chain((self.was != self.is).then_some(scaled)).collect();
        Image { mime: self.mime, data: self.data, note: Some(notes.join(" ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut data = Vec::new();
        image::RgbaImage::new(width, height).write_to(&mut Cursor::new(&mut data), format).unwrap();
        data
    }

    #[test]
    fn a_picture_is_converted_and_scaled_and_the_note_says_so() {
        let rows = [
            ("image/png", ImageFormat::Png, (3_000, 10), "Scaled down from 3000x10 to 1568x5 pixels."),
            ("image/bmp", ImageFormat::Bmp, (4, 3), "Converted from BMP to PNG."),
            (
                "image/bmp",
                ImageFormat::Bmp,
                (2_000, 3),
                "Converted from BMP to PNG. Scaled down from 2000x3 to 1568x2 pixels.",
            ),
            ("image/x-icon", ImageFormat::Ico, (16, 16), "Converted from ICO to PNG."),
        ];
        for (mime, format, (width, height), note) in rows {
            let converted = convert(mime, &encoded(width, height, format)).unwrap();
            let sent = Converted::decode(&converted.encode()).unwrap();
            assert_eq!(sent, converted);
            let image = sent.into_image(mime);
            assert_eq!((image.mime, image.note.as_deref()), ("image/png", Some(note)));
            assert_eq!(image::guess_format(&image.data).unwrap(), ImageFormat::Png);
        }
    }
}
