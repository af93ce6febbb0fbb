// The output of one command as it comes. The page keeps its end only.

import * as api from './api.js';
import { AnsiText, drawLine } from './ansi.js';
import { el, setText, size } from './dom.js';
import { VirtualList } from './virtual_list.js';

const MOST_LINES = 5000;
const ROW = 20;
/** How long to wait between two looks: shortest while something comes, longest in silence. */
const [SHORTEST, LONGEST] = [50, 500];

/** Follows a command until `stop` is called. `screen` draws the screen of a terminal. */
export class Output {
  constructor(server, command, { onEnd, screen }) {
    Object.assign(this, { server, command, onEnd, screen });
    this.from = {};
    this.text = new AnsiText(MOST_LINES);
    this.streams = new Map();
    this.leftOut = 0;
    this.wait = SHORTEST;
    this.ended = false;
    this.note = el('p', { class: 'quiet', hidden: true });
    this.view = el('div', { class: 'output', role: 'log', tabindex: '0', 'aria-label': 'Output', 'aria-live': 'off' });
    this.list = new VirtualList(this.view, {
      rowHeight: ROW,
      keepEnd: true,
      draw: (row, index) => {
        const line = this.text.lines[index];
        // Lines do not change once another one has come after them.
        const version = `${index + this.text.dropped}:${line.length}`;
        if (row.dataset.version === version && index < this.text.lines.length - 1) return;
        row.dataset.version = version;
        row.className = 'line';
        drawLine(row, line);
      },
    });
    this.element = el('div', { class: 'output-box' }, this.note, this.view);
    this.look();
  }

  stop() {
    this.ended = true;
    clearTimeout(this.timer);
  }

  /** Looks again at once: the person has typed. */
  hurry() {
    this.wait = SHORTEST / 2;
    this.later();
  }

  later() {
    clearTimeout(this.timer);
    if (!this.ended) this.timer = setTimeout(() => this.look(), document.hidden ? 2000 : this.wait);
  }

  async look() {
    if (this.looking) return;
    this.looking = true;
    try {
      const tail = await api.tail(this.server, this.command, this.from);
      const isNew = tail.streams.length > 0 || tail.screen;
      this.wait = isNew ? SHORTEST : Math.min(this.wait * 1.5, LONGEST);
      tail.streams.forEach((part) => this.add(part));
      if (tail.screen) {
        this.from.terminal = tail.screen.next;
        this.screen?.draw(tail.screen);
      }
      this.list.setCount(this.text.lines.length);
      if (tail.over) this.end();
    } catch (problem) {
      // A server that is gone has no output any more; another problem may pass.
      if (problem.status === 404) this.end();
      this.wait = LONGEST;
    } finally {
      this.looking = false;
    }
    this.later();
  }

  add({ stream, left_out: leftOut, next, text }) {
    this.from[stream] = next;
    if (leftOut > 0) {
      this.leftOut += leftOut;
      this.text.push('\n');
    }
    this.text.push(text);
    this.note.hidden = this.leftOut === 0 && this.text.dropped === 0;
    const parts = [];
    if (this.leftOut > 0) parts.push(`${size(this.leftOut)} came too fast to be shown live`);
    if (this.text.dropped > 0) parts.push(`${this.text.dropped.toLocaleString('en')} earlier lines are no longer kept here`);
    setText(this.note, parts.join('; '));
  }

  end() {
    if (this.ended) return;
    this.stop();
    this.onEnd();
  }
}
