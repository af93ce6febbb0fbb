// What a program prints, as lines of coloured text. Colours stay; every other escape sequence is dropped, so no program can
// change anything outside its own lines.

import { visible } from './dom.js';

const ESCAPE = '\u001b';
const LONGEST_LINE = 4000;

function plain() {
  return { fg: null, bg: null, bold: false, dim: false, italic: false, underline: false, inverse: false };
}

/** Collects text in pieces. `lines` are `{ runs: [{ text, style }] }`; the last one may still grow. */
export class AnsiText {
  constructor(mostLines) {
    this.mostLines = mostLines;
    this.lines = [this.newLine()];
    this.dropped = 0;
    this.style = plain();
    this.state = 'text';
    this.parameters = '';
    this.carriage = false;
  }

  newLine() {
    return { runs: [], length: 0 };
  }

  push(text) {
    let begin = 0;
    for (let at = 0; at < text.length; at += 1) {
      const c = text[at];
      if (this.state === 'text') {
        if (c !== '\n' && c !== '\r' && c !== ESCAPE && c !== '\u009b' && c !== '\b' && c !== '\u0007') continue;
        this.write(text.slice(begin, at));
        begin = at + 1;
        if (c === '\n') this.endLine();
        else if (c === '\r') this.carriage = true;
        else if (c === ESCAPE) this.state = 'escape';
        else if (c === '\u009b') this.state = 'control';
      } else {
        begin = at + 1;
        this.inEscape(c);
      }
    }
    if (this.state === 'text') this.write(text.slice(begin));
    if (this.lines.length > this.mostLines) {
      const over = this.lines.length - this.mostLines;
      this.lines.splice(0, over);
      this.dropped += over;
    }
  }

  inEscape(c) {
    if (c === '\n') {
      // Whatever is missing at its end, a sequence must not hide the next line.
      this.state = 'text';
      this.parameters = '';
      this.endLine();
    } else if (this.state === 'escape') {
      if (c === '[') this.state = 'control';
      else if (']PX^_'.includes(c)) this.state = 'string';
      else if (!'()#%'.includes(c)) this.state = 'text';
    } else if (this.state === 'control') {
      if (c >= '@' && c <= '~') {
        if (c === 'm') this.colour(this.parameters);
        this.parameters = '';
        this.state = 'text';
      } else if (this.parameters.length < 64) this.parameters += c;
    } else if (this.state === 'string') {
      if (c === '\u0007' || c === '\u009c') this.state = 'text';
      else if (c === ESCAPE) this.state = 'string-end';
    } else this.state = c === '\\' ? 'text' : 'string';
  }

  write(text) {
    if (text === '') return;
    let line = this.lines[this.lines.length - 1];
    if (this.carriage) {
      // A progress bar draws its line again.
      this.carriage = false;
      line.runs = [];
      line.length = 0;
    }
    let rest = visible(text).replaceAll('\t', '    ');
    while (rest !== '') {
      if (line.length >= LONGEST_LINE) line = this.endLine();
      const part = rest.slice(0, LONGEST_LINE - line.length);
      rest = rest.slice(part.length);
      line.runs.push({ text: part, style: this.style });
      line.length += part.length;
    }
  }

  endLine() {
    this.carriage = false;
    const line = this.newLine();
    this.lines.push(line);
    return line;
  }

  colour(parameters) {
    const codes = parameters.split(/[;:]/).map((code) => Number(code) || 0);
    const style = { ...this.style };
    for (let at = 0; at < codes.length; at += 1) {
      const code = codes[at];
      if (code === 0) Object.assign(style, plain());
      else if (code === 1) style.bold = true;
      else if (code === 2) style.dim = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.underline = true;
      else if (code === 7) style.inverse = true;
      else if (code === 22) style.bold = style.dim = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.underline = false;
      else if (code === 27) style.inverse = false;
      else if (code >= 30 && code <= 37) style.fg = code - 30;
      else if (code >= 40 && code <= 47) style.bg = code - 40;
      else if (code >= 90 && code <= 97) style.fg = code - 82;
      else if (code >= 100 && code <= 107) style.bg = code - 92;
      else if (code === 39) style.fg = null;
      else if (code === 49) style.bg = null;
      else if (code === 38 || code === 48) {
        const name = code === 38 ? 'fg' : 'bg';
        if (codes[at + 1] === 5) {
          style[name] = codes[at + 2] & 255;
          at += 2;
        } else if (codes[at + 1] === 2) {
          style[name] = codes.slice(at + 2, at + 5).map((part) => part & 255);
          at += 4;
        }
      }
    }
    this.style = style;
  }
}

/** Lines that are complete, each as one line to be drawn. A colour that is not taken back goes on in the next line. */
export function drawnLines(texts) {
  const parser = new AnsiText(Infinity);
  return texts.map((text) => {
    parser.lines = [parser.newLine()];
    parser.push(text);
    const { lines } = parser;
    parser.push('\n');
    return { runs: lines.slice(0, -1).flatMap(({ runs }) => runs) };
  });
}

/** The first 16 colours are those of the theme. */
function colourValue(colour) {
  if (Array.isArray(colour)) return `rgb(${colour.join(', ')})`;
  if (colour < 16) return `var(--ansi-${colour})`;
  if (colour >= 232) return `rgb(${Array(3).fill(8 + (colour - 232) * 10).join(', ')})`;
  const step = (value) => (value === 0 ? 0 : 55 + value * 40);
  const index = colour - 16;
  return `rgb(${step(Math.floor(index / 36))}, ${step(Math.floor(index / 6) % 6)}, ${step(index % 6)})`;
}

/** Draws a line into an element. */
export function drawLine(element, line) {
  element.replaceChildren(...line.runs.map(({ text, style }) => {
    const { fg, bg, bold, dim, italic, underline, inverse } = style;
    if (fg === null && bg === null && !bold && !dim && !italic && !underline && !inverse) return text;
    const span = document.createElement('span');
    span.textContent = text;
    const [ink, ground] = inverse ? [bg ?? 'ground', fg ?? 'ink'] : [fg, bg];
    const value = (colour) => (typeof colour === 'string' ? `var(--output-${colour})` : colourValue(colour));
    if (ink !== null) span.style.color = value(ink);
    if (ground !== null) span.style.backgroundColor = value(ground);
    if (bold) span.style.fontWeight = '700';
    if (dim) span.style.opacity = '0.75';
    if (italic) span.style.fontStyle = 'italic';
    if (underline) span.style.textDecoration = 'underline';
    return span;
  }));
}
