//! Draws an SVG file. Nothing outside the file is loaded: no linked picture, no font of the system.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{ImageHrefResolver, Options, Tree};

use super::convert::{Converted, SCALED_SIDE};

const FONT: &[u8] = include_bytes!("font/roboto.ttf");
const FONT_NAME: &str = "Roboto";

pub fn render(data: &[u8]) -> Result<Converted, String> {
    let mut options = Options {
        font_family: FONT_NAME.to_owned(),
        image_href_resolver: ImageHrefResolver {
            resolve_data: ImageHrefResolver::default_data_resolver(),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_serif_family(FONT_NAME);
    fonts.set_sans_serif_family(FONT_NAME);
    fonts.set_monospace_family(FONT_NAME);
    let tree = Tree::from_data(data, &options).map_err(|error| error.to_string())?;
    let (width, height) = (tree.size().width(), tree.size().height());
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let scale = (SCALED_SIDE as f32 / width.max(height)).min(1.0);
    let mut pixels = Pixmap::new(whole(width * scale), whole(height * scale)).ok_or("it has no size")?;
    // As a browser shows it. Most pictures expect a bright page behind them.
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let is = (pixels.width(), pixels.height());
    let data = pixels.encode_png().map_err(|error| error.to_string())?;
    Ok(Converted { mime: "image/png", data, was: (whole(width), whole(height)), is })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number that does not fit is clamped")]
fn whole(length: f32) -> u32 {
    (length.round() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(svg: &str, x: u32, y: u32) -> [u8; 3] {
        let converted = render(svg.as_bytes()).unwrap();
        let picture = image::load_from_memory(&converted.data).unwrap().to_rgb8();
        picture.get_pixel(x, y).0
    }

    #[test]
    fn shapes_and_text_are_drawn_on_white() {
        let svg = r##"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">
            <rect width="10" height="10" fill="#f00"/><text x="10" y="20" font-size="40" font-family="Nowhere">█</text></svg>"##;
        assert_eq!(pixel(svg, 5, 5), [255, 0, 0]);
        assert_eq!(pixel(svg, 5, 15), [255, 255, 255]);
        let text = svg.replace('█', "I");
        let converted = render(text.as_bytes()).unwrap();
        let picture = image::load_from_memory(&converted.data).unwrap().to_rgb8();
        assert!(picture.pixels().any(|pixel| pixel.0 == [0, 0, 0]), "the letter is drawn");
    }

    #[test]
    fn a_large_drawing_is_scaled_down_and_a_small_one_is_not() {
        let sized = |width: &str, height: &str| {
            let svg = format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"/>"#);
            render(svg.as_bytes()).map(|converted| (converted.was, converted.is))
        };
        assert_eq!(sized("30", "20").unwrap(), ((30, 20), (30, 20)));
        assert_eq!(sized("4000", "1000").unwrap(), ((4000, 1000), (1568, 392)));
        assert_eq!(sized("1e30", "1").unwrap().1, (1568, 1));
        assert!(sized("0", "0").is_err());
    }

    #[test]
    fn nothing_outside_the_file_is_loaded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("red.png");
        let red = image::RgbImage::from_pixel(10, 10, image::Rgb([255, 0, 0]));
        red.save_with_format(&path, image::ImageFormat::Png).unwrap();
        for link in [path.display().to_string(), format!("file://{}", path.display())] {
            let svg = format!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><image href="{link}" width="10" height="10"/></svg>"#
            );
            assert_eq!(pixel(&svg, 5, 5), [255, 255, 255], "{link}");
        }
    }
}
