// The screen of a terminal, and the keyboard for it. What the person types goes to the program, and is kept nowhere here.

import * as api from './api.js';
import { AnsiText, drawLine } from './ansi.js';
import { el } from './dom.js';

const NAMES = {
  Enter: 'Enter', Backspace: 'BSpace', Tab: 'Tab', Escape: 'Escape', ArrowUp: 'Up', ArrowDown: 'Down', ArrowLeft: 'Left',
  ArrowRight: 'Right', Home: 'Home', End: 'End', PageUp: 'PageUp', PageDown: 'PageDown', Insert: 'IC', Delete: 'DC',
};

/** The name of a key for the server, or `null` for one that is text or means nothing. */
function named(event) {
  const { key } = event;
  if (/^F([1-9]|1[0-2])$/.test(key)) return key;
  if (key === 'Tab' && event.shiftKey) return 'BTab';
  if (NAMES[key]) return NAMES[key];
  if (event.ctrlKey && /^[a-z@[\\\]^_ ]$/i.test(key)) return `C-${key === ' ' ? 'Space' : key.toLowerCase()}`;
  if (event.altKey && key.length === 1) return `M-${key}`;
  return null;
}

/** Sends what is typed, in its order, one request at a time. */
export class Keyboard {
  constructor(server, command, { onTyped, onProblem }) {
    Object.assign(this, { server, command, onTyped, onProblem });
    this.waiting = [];
    this.sending = false;
  }

  text(text) {
    const last = this.waiting[this.waiting.length - 1];
    if (last && last.keys.length === 0) last.text += text;
    else this.waiting.push({ text, keys: [] });
    this.send();
  }

  key(name) {
    const last = this.waiting[this.waiting.length - 1];
    if (last) last.keys.push(name);
    else this.waiting.push({ text: '', keys: [name] });
    this.send();
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.waiting.length > 0) {
        const { text, keys } = this.waiting.shift();
        await api.type(this.server, this.command, text, keys);
        this.onTyped();
      }
      this.onProblem('');
    } catch (problem) {
      this.waiting = [];
      this.onProblem(problem.message);
    } finally {
      this.sending = false;
    }
  }
}

/** A terminal's screen that takes keys while it has the focus. */
export class Screen {
  constructor(keyboard) {
    this.element = el('div', {
      class: 'screen', tabindex: '0', role: 'textbox', 'aria-multiline': 'true', 'aria-label': 'Terminal; keys go to the program',
      'data-typing': '',
      onkeydown: (event) => this.pressed(event, keyboard),
      onpaste: (event) => {
        event.preventDefault();
        keyboard.text(event.clipboardData.getData('text/plain').replaceAll('\r\n', '\n').replaceAll('\n', '\r'));
      },
    });
  }

  pressed(event, keyboard) {
    // Tab and Shift-Tab go to the program; Ctrl-Alt leaves the terminal for the rest of the page.
    if (event.metaKey || event.isComposing) return;
    if (event.ctrlKey && ['v', 'V'].includes(event.key)) return;
    if (event.ctrlKey && event.shiftKey && ['c', 'C'].includes(event.key)) return;
    if (event.ctrlKey && event.key === 'Tab') return;
    if (event.key === 'Escape' && event.shiftKey) {
      event.preventDefault();
      event.target.closest('.detail').querySelector('button').focus();
      return;
    }
    const name = named(event);
    if (name) keyboard.key(name);
    else if ([...event.key].length === 1 && !event.ctrlKey) keyboard.text(event.key);
    else return;
    event.preventDefault();
  }

  draw({ rows, cursor }) {
    const lines = rows.map((row, index) => {
      const text = new AnsiText(1);
      text.push(row);
      const line = el('div', { class: 'line' });
      drawLine(line, text.lines[0]);
      if (cursor?.[0] === index) line.append(this.cursor(cursor[1]));
      return line;
    });
    this.element.replaceChildren(...lines);
  }

  cursor(column) {
    const mark = el('span', { class: 'cursor', 'aria-hidden': 'true' });
    mark.style.left = `${column}ch`;
    return mark;
  }
}

/** One line to type, for phones and for passwords: it is sent as a whole. */
export function lineField(keyboard) {
  const field = el('input', {
    type: 'text', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', 'aria-label': 'A line for the program',
    placeholder: 'Type a line for the program', 'data-typing': '',
  });
  const hide = el('button', {
    type: 'button', 'aria-pressed': 'false', title: 'Hide what you type here',
    onclick: () => {
      const hidden = field.type === 'text';
      field.type = hidden ? 'password' : 'text';
      hide.setAttribute('aria-pressed', String(hidden));
      field.focus();
    },
  }, 'Hide');
  return el('form', {
    class: 'line-field', autocomplete: 'off',
    onsubmit: (event) => {
      event.preventDefault();
      if (field.value !== '') keyboard.text(field.value);
      keyboard.key('Enter');
      field.value = '';
    },
  }, field, hide, el('button', {}, 'Send'), el('button', { type: 'button', onclick: () => keyboard.key('C-c') }, 'Ctrl-C'));
}
