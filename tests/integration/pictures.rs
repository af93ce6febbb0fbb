//! `view` on images: every model's API takes what is sent, and no picture can cost more than its share.

use std::io::Cursor;

use base64::Engine;
use image::ImageFormat;
use serde_json::{Value, json};

use crate::support::{Client, Reply, World, alive, descendants, peak, until};

fn encoded(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut data = Vec::new();
    image::RgbaImage::new(width, height).write_to(&mut Cursor::new(&mut data), format).unwrap();
    data
}

/// The type of each block of the reply.
fn blocks(reply: &Reply) -> Vec<Value> {
    reply.raw["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect()
}

/// The picture that was sent, which must be a PNG.
#[track_caller]
fn picture(reply: &Reply) -> image::RgbImage {
    let block = &reply.raw["content"][0];
    assert_eq!(block["mimeType"], "image/png", "{}", reply.text());
    let data = base64::prelude::BASE64_STANDARD.decode(block["data"].as_str().unwrap()).unwrap();
    image::load_from_memory_with_format(&data, ImageFormat::Png).unwrap().to_rgb8()
}

fn svg(size: u32, content: &str) -> String {
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{size}\" height=\"{size}\">\n{content}\n</svg>\n")
}

/// Takes hours to draw.
fn slow_drawing() -> String {
    let filter = "<filter id=\"f\" x=\"0\" y=\"0\" width=\"1\" height=\"1\"><feTurbulence baseFrequency=\"0.9\" \
                  numOctaves=\"200\"/></filter>";
    svg(1_500, &(filter.to_owned() + &"<rect width=\"1500\" height=\"1500\" filter=\"url(#f)\"/>".repeat(5_000)))
}

#[test]
fn an_svg_is_drawn_and_its_source_is_shown_by_lines() {
    let world = World::new();
    let source = svg(40, "<rect width=\"20\" height=\"40\" fill=\"#00f\"/>");
    world.file("a.svg", &source);
    let mut server = world.server(&[]);
    let reply = server.call("view", json!({ "path": "a.svg" }));
    assert_eq!(blocks(&reply), ["image", "text"]);
    assert_eq!(
        reply.ok(),
        "The SVG is rendered as a PNG of 40x40 pixels. view_range shows its source, such as [1, -1]."
    );
    let drawn = picture(&reply);
    assert_eq!((drawn.get_pixel(5, 5).0, drawn.get_pixel(30, 30).0), ([0, 0, 255], [255, 255, 255]));
    let text = server.call("view", json!({ "path": "a.svg", "view_range": [1, -1] })).ok();
    let numbered: Vec<String> = (1..).zip(source.lines()).map(|(n, line)| format!("{n}\t{line}\n")).collect();
    assert_eq!(text, numbered.concat());
    // The source can be edited like any text.
    server.call("str_replace", json!({ "path": "a.svg", "old_str": "#00f", "new_str": "#f00" })).ok();
    assert_eq!(picture(&server.call("view", json!({ "path": "a.svg" }))).get_pixel(5, 5).0, [255, 0, 0]);
}

#[test]
fn an_svg_that_cannot_be_drawn_is_shown_as_text() {
    let world = World::new();
    world.file("broken.svg", "<svg\n");
    world.file("empty.svg", "");
    world.file("notes.svg", "just text\n");
    let mut server = world.server(&[]);
    for (name, want) in [("broken.svg", "1\t<svg\n"), ("empty.svg", ""), ("notes.svg", "1\tjust text\n")] {
        assert_eq!(server.call("view", json!({ "path": name })).ok(), want);
    }
}

#[test]
fn an_svg_loads_nothing_from_outside() {
    let world = World::new();
    let red = image::RgbImage::from_pixel(10, 10, image::Rgb([255, 0, 0]));
    let path = world.project().join("red.png");
    red.save(&path).unwrap();
    let mut server = world.server(&[]);
    for link in ["red.png".to_owned(), path.display().to_string(), format!("file://{}", path.display())] {
        world.file("a.svg", svg(10, &format!("<image href=\"{link}\" width=\"10\" height=\"10\"/>")));
        let reply = server.call("view", json!({ "path": "a.svg" }));
        assert_eq!(picture(&reply).get_pixel(5, 5).0, [255, 255, 255], "{link}");
    }
}

#[test]
fn types_that_models_do_not_take_are_sent_as_png() {
    let world = World::new();
    world.file("a.bmp", encoded(4, 3, ImageFormat::Bmp));
    world.file("b.ico", encoded(16, 16, ImageFormat::Ico));
    world.file("c.bmp", encoded(3_000, 10, ImageFormat::Bmp));
    world.file("d.png", encoded(1_568, 10, ImageFormat::Png));
    let mut server = world.server(&[]);
    let rows = [
        ("a.bmp", "Converted from BMP to PNG.", (4, 3)),
        ("b.ico", "Converted from ICO to PNG.", (16, 16)),
        ("c.bmp", "Converted from BMP to PNG. Scaled down from 3000x10 to 1568x5 pixels.", (1_568, 5)),
        ("d.png", "", (1_568, 10)),
    ];
    for (name, note, size) in rows {
        let reply = server.call("view", json!({ "path": name }));
        assert_eq!((reply.ok(), picture(&reply).dimensions()), (note.to_owned(), size), "{name}");
    }
}

/// The processes that convert pictures for this server now.
fn converting(server: &Client) -> Vec<u32> {
    let command = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    descendants(server.pid()).into_iter().filter(|pid| alive(*pid) && command(pid).contains("__picture")).collect()
}

#[test]
fn parallel_pictures_share_the_memory() {
    let world = World::new();
    let mut data = Vec::new();
    image::GrayImage::new(20_000, 20_000).write_to(&mut Cursor::new(&mut data), ImageFormat::Png).unwrap();
    world.file("large.png", &data);
    let mut server = world.server(&[]);
    let views: Vec<_> = (0..2).map(|_| server.start("view", json!({ "path": "large.png" }))).collect();
    let (mut most, mut answers) = (0, Vec::new());
    for view in views {
        let answer = until("a picture", || {
            most = most.max(converting(&server).len());
            view.answered()
        });
        answers.push(Reply { raw: answer["result"].clone() }.ok());
    }
    assert_eq!(answers, ["Scaled down from 20000x20000 to 1568x1568 pixels."; 2]);
    assert_eq!(most, 1, "each takes more than half of the memory for all");
    assert!(peak(server.pid()) < 100 << 10, "the server itself decodes nothing: {} KiB", peak(server.pid()));
}

#[test]
fn a_picture_that_would_take_too_much_is_not_shown() {
    let world = World::new();
    // The head of a picture of 60000x60000 pixels.
    let mut data = encoded(1, 1, ImageFormat::Bmp);
    data[18..22].copy_from_slice(&60_000_u32.to_le_bytes());
    data[22..26].copy_from_slice(&60_000_u32.to_le_bytes());
    world.file("huge.bmp", data);
    // Each level uses the one before ten times.
    let level = |n: u32| format!("<g id=\"l{n}\">{}</g>", format!("<use href=\"#l{}\"/>", n - 1).repeat(10));
    let laughs: String = (1..10).map(level).collect();
    world.file("laughs.svg", svg(10, &format!("<g id=\"l0\"><rect width=\"1\" height=\"1\"/></g>{laughs}")));
    let deep = format!("{}<rect/>{}", "<g opacity=\"0.5\">".repeat(100_000), "</g>".repeat(100_000));
    world.file("deep.svg", svg(1_500, &deep));
    world.file("slow.svg", slow_drawing());
    let mut server = world.server(&[]);
    let text = server.call("view", json!({ "path": "huge.bmp" })).ok();
    assert!(text.starts_with("An image (image/bmp) "), "{text}");
    for name in ["laughs.svg", "deep.svg", "slow.svg"] {
        let text = server.call("view", json!({ "path": name })).ok();
        assert!(text.starts_with("1\t<svg ") || text.starts_with("  1\t<svg "), "{name}: {}", &text[..100]);
    }
    assert_eq!(server.bash("echo alive").stdout(), "alive\n");
    assert!(peak(server.pid()) < 100 << 10, "{} KiB", peak(server.pid()));
}

#[test]
fn a_cancelled_view_ends_the_drawing() {
    let world = World::new();
    world.file("slow.svg", slow_drawing());
    let mut server = world.server(&[]);
    let pending = server.start("view", json!({ "path": "slow.svg" }));
    until("the drawing", || (!converting(&server).is_empty()).then_some(()));
    server.cancel(&pending);
    until("the end of the drawing", || converting(&server).is_empty().then_some(()));
}
