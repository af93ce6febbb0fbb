use std::io::{Read, Seek, SeekFrom};

use rustix::fs::OFlags;

use super::image::{Prepared, SVG};
use super::{Image, LineRange, Picture, image, tree, window};
use crate::files::seen::LARGEST_CONTENT;
use crate::files::text::{Decoder, Encoding};
use crate::files::{FileError, Interrupt, ReadFile, Scope, SeenFiles, Settings};
use crate::gate::Permitted;

/// A path as the agent gets to see it.
#[derive(Debug, Eq, PartialEq)]
pub enum Rendered {
    Text(String),
    Image(Image),
    /// An image that the caller has converted first.
    Picture(Picture),
}

/// How an agent looks at a file.
#[derive(Clone, Copy, Debug)]
pub enum Looking {
    AtLines(LineRange),
    /// At what it shows: the beginning of a text, a picture.
    AtIt,
    /// At the text of a picture that is written as text.
    AtItsSource,
}

/// The first bytes of a file, which show what kind of file it is.
const HEAD: usize = 8 * 1024;

/// Shows a file or directory, and records that the session has seen the file.
pub fn view(
    permitted: &Permitted<ReadFile>,
    looking: Looking,
    scope: &Scope,
    settings: &Settings,
    seen: &SeenFiles,
    interrupt: &Interrupt,
) -> Result<Rendered, FileError> {
    let (handle, requested) = (&permitted.handle, permitted.requested.text());
    if handle.is_directory() {
        return tree::draw(handle, requested, scope.deny(), interrupt).map(Rendered::Text);
    }
    let mut file = handle.open(requested, OFlags::RDONLY)?;
    let unreadable = |error| FileError::os("read", requested, error);
    let mut head = Vec::with_capacity(HEAD);
    (&mut file).take(HEAD as u64).read_to_end(&mut head).map_err(unreadable)?;
    let encoding = Encoding::of(&head);
    let too_large = |hint| FileError::FileTooLarge { size: handle.size(), maximum: settings.max_file_size, hint };
    let is_large = handle.size() > settings.max_file_size;
    let range = if let Looking::AtLines(range) = looking { Some(range) } else { None };
    let as_text = |mime: &&str| *mime == SVG && !matches!(looking, Looking::AtIt);
    if let Some(mime) = image::mime_of(&head, handle.path()).filter(|mime| !as_text(mime)) {
        if is_large {
            return Err(too_large("Make a smaller copy with a command and view that."));
        }
        file.take(settings.max_file_size).read_to_end(&mut head).map_err(unreadable)?;
        return Ok(match image::prepare(mime, head) {
            Prepared::AsItIs(image) => Rendered::Image(image),
            Prepared::ToConvert(picture) => Rendered::Picture(picture),
            Prepared::Refused(text) => Rendered::Text(text),
        });
    }
    if encoding.unit() == 1 && memchr::memchr(0, &head).is_some() {
        return Ok(Rendered::Text(format!("Binary file ({})", readable(handle.size()))));
    }
    if is_large && range.is_none() {
        return Err(too_large(
            "Read a part of it with view_range, such as [1, 2000]. view_range works in a file of any size.",
        ));
    }
    if handle.size() <= LARGEST_CONTENT {
        file.take(LARGEST_CONTENT).read_to_end(&mut head).map_err(unreadable)?;
        seen.record(handle.path(), &head, handle.stat());
        let body = &head[encoding.mark().len()..];
        return window::read(&mut Decoder::new(body, encoding), requested, range, interrupt).map(Rendered::Text);
    }
    seen.record_signature(handle.path(), handle.stat());
    file.seek(SeekFrom::Start(encoding.mark().len() as u64)).map_err(unreadable)?;
    window::read(&mut Decoder::new(file, encoding), requested, range, interrupt).map(Rendered::Text)
}

/// `512 B`, `2.4 MB`: powers of 1024.
fn readable(size: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let power = (size.ilog2() / 10).min(4);
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let number = size as f64 / f64::from(power * 10).exp2();
    format!("{number:.1} {}", UNITS[power as usize - 1])
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_readable() {
        let rows = [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (2_516_582, "2.4 MB"), (3 << 30, "3.0 GB")];
        for (size, want) in rows {
            assert_eq!(super::readable(size), want);
        }
    }
}
