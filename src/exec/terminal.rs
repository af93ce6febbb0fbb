//! A terminal as a person would see it: an emulator keeps what a program draws, and we read it as text.

use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::locks::LockExt;
use crate::keeper::protocol::TerminalSize;

use super::output::OutputListener;

/// The screen and a bounded number of lines that scrolled off it. Cheap to clone.
#[derive(Clone)]
pub struct Terminal {
    parser: Arc<Mutex<vt100::Parser<Replies>>>,
    replies: tokio::sync::mpsc::UnboundedSender<Vec<u8>>,
}

/// Programs ask a terminal for its type and its cursor position, and some wait for the reply.
#[derive(Default)]
struct Replies(Vec<u8>);

impl vt100::Callbacks for Replies {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        command: char,
    ) {
        let parameter = parameters.first().and_then(|values| values.first()).copied().unwrap_or(0);
        match (command, first, parameter) {
            ('n', None, 6) => {
                let (row, column) = screen.cursor_position();
                self.0.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            ('n', None, 5) => self.0.extend(b"\x1b[0n"),
            ('c', None, 0) => self.0.extend(b"\x1b[?1;2c"),
            ('c', Some(b'>'), 0) => self.0.extend(b"\x1b[>0;0;0c"),
            _ => {}
        }
    }
}

impl Terminal {
    /// The terminal, and the replies it sends to the program.
    pub fn new(size: TerminalSize, scrollback: usize) -> (Self, tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>) {
        let at_least_one = |value: u16| NonZeroU16::new(value).unwrap_or(NonZeroU16::MIN);
        let parser = vt100::Parser::new_with_callbacks(
            at_least_one(size.rows),
            at_least_one(size.columns),
            scrollback,
            Replies::default(),
        );
        let (replies, answers) = tokio::sync::mpsc::unbounded_channel();
        (Self { parser: Arc::new(Mutex::new(parser)), replies }, answers)
    }

    /// Feeds the emulator with everything the program writes.
    pub fn listener(&self) -> OutputListener {
        let terminal = self.clone();
        Arc::new(move |bytes| {
            let mut parser = terminal.lock();
            parser.process(bytes);
            let reply = std::mem::take(&mut parser.callbacks_mut().0);
            if !reply.is_empty() {
                // A closed terminal needs no reply.
                let _ = terminal.replies.send(reply);
            }
        })
    }

    /// What is on the screen, without the blanks at its end.
    pub fn screen(&self) -> String {
        trimmed(&self.lock().screen().contents())
    }

    /// The rows of the screen with their colours as escape sequences (`ESC [ … m` and no others), and where the cursor is:
    /// row and column, or `None` if it is hidden.
    pub fn coloured_rows(&self) -> (Vec<String>, Option<(u16, u16)>) {
        let parser = self.lock();
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let row = |row: u16| {
            let (mut text, mut style) = (String::new(), String::new());
            for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
                if cell.is_wide_continuation() {
                    continue;
                }
                let new = style_of(cell);
                if new != style {
                    text.push_str(&format!("\x1b[0{new}m"));
                    style = new;
                }
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
            }
            if style.is_empty() { text.trim_end().to_owned() } else { text }
        };
        let cursor = (!screen.hide_cursor()).then(|| screen.cursor_position());
        ((0..rows.get()).map(row).collect(), cursor)
    }

    /// The last so many lines that scrolled off, and then the screen.
    pub fn with_scrollback(&self, lines: usize) -> String {
        let mut parser = self.lock();
        let screen = parser.screen_mut();
        let (rows, columns) = screen.size();
        let mut back = lines.min(screen.scrollback_len());
        let mut text = String::new();
        while back > 0 {
            screen.set_scrollback(back);
            let page = back.min(usize::from(rows.get()));
            for row in screen.rows(0, columns.get()).take(page) {
                text.push_str(row.trim_end());
                text.push('\n');
            }
            back -= page;
        }
        screen.set_scrollback(0);
        text + &trimmed(&screen.contents())
    }

    /// The line the cursor is on: where a prompt stands.
    pub fn cursor_line(&self) -> String {
        let parser = self.lock();
        let screen = parser.screen();
        let (row, _) = screen.cursor_position();
        let columns = screen.size().1.get();
        screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default().trim_end().to_owned()
    }

    /// Whether a program draws on the whole screen instead of printing lines.
    pub fn is_full_screen(&self) -> bool {
        let parser = self.lock();
        let screen = parser.screen();
        screen.alternate_screen() || screen.hide_cursor() || screen.application_keypad()
    }

    pub fn expects_application_keys(&self) -> bool {
        self.lock().screen().application_cursor()
    }

    fn lock(&self) -> MutexGuard<'_, vt100::Parser<Replies>> {
        self.parser.locked()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Terminal")
    }
}

/// The parameters of the escape sequence that sets a cell's colours, each behind a semicolon.
fn style_of(cell: &vt100::Cell) -> String {
    let colour = |base: u8, colour: vt100::Color| match colour {
        vt100::Color::Default => String::new(),
        vt100::Color::Idx(index) => format!(";{base};5;{index}"),
        vt100::Color::Rgb(red, green, blue) => format!(";{base};2;{red};{green};{blue}"),
    };
    let flags = [(cell.bold(), 1), (cell.dim(), 2), (cell.italic(), 3), (cell.underline(), 4), (cell.inverse(), 7)];
    let flags = flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, code)| format!(";{code}"));
    flags.chain([colour(38, cell.fgcolor()), colour(48, cell.bgcolor())]).collect()
}

fn trimmed(contents: &str) -> String {
    let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
    match lines.iter().rposition(|line| !line.is_empty()) {
        Some(last) => lines[..=last].join("\n") + "\n",
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(bytes: &[u8]) -> Terminal {
        let (terminal, _answers) = Terminal::new(TerminalSize { rows: 3, columns: 10 }, 5);
        terminal.listener()(bytes);
        terminal
    }

    #[test]
    fn the_screen_is_what_a_person_sees() {
        assert_eq!(fed(b"one\r\ntwo   ").screen(), "one\ntwo\n");
        assert_eq!(fed(b"covered\rOVER").cursor_line(), "OVERred");
        assert_eq!(fed(b"abc\rX\x1b[K").screen(), "X\n");
        assert_eq!(fed(b"Name? ").cursor_line(), "Name?");
    }

    #[test]
    fn rows_carry_colours_and_no_other_sequence() {
        let (rows, cursor) = fed(b"\x1b[31;1mred\x1b[0m on\r\n\x1b]0;title\x07\x1b[38;2;1;2;3mx").coloured_rows();
        assert_eq!(rows, ["\x1b[0;1;38;5;1mred\x1b[0m on", "\x1b[0;38;2;1;2;3mx\x1b[0m", ""].map(str::to_owned));
        assert_eq!(cursor, Some((1, 1)));
    }

    #[test]
    fn scrollback_is_bounded_and_comes_on_request() {
        let terminal = fed(b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n10\r\n11");
        assert_eq!(terminal.screen(), "9\n10\n11\n");
        assert_eq!(terminal.with_scrollback(2), "7\n8\n9\n10\n11\n");
        assert_eq!(terminal.with_scrollback(100), "4\n5\n6\n7\n8\n9\n10\n11\n");
    }

    #[test]
    fn a_program_that_asks_where_the_cursor_is_gets_an_answer() {
        let (terminal, mut answers) = Terminal::new(TerminalSize { rows: 3, columns: 10 }, 0);
        terminal.listener()(b"ab\x1b[6n");
        assert_eq!(answers.try_recv().unwrap(), b"\x1b[1;3R");
    }
}
