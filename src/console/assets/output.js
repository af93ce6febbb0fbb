// The output of one command: its end as it comes, and all lines of each stream on demand.

import * as api from './api.js';
import { AnsiText, drawLine } from './ansi.js';
import { counted, el, reconcile, setText, size } from './dom.js';
import { StreamLines } from './stream_lines.js';
import { VirtualList } from './virtual_list.js';

const MOST_LINES = 5000;
const ROW = 20;
/** How long to wait between two looks: shortest while something comes, longest in silence. */
const [SHORTEST, LONGEST] = [50, 500];
/** All lines are counted again at most this often. */
const COUNT_EVERY = 1000;
const LIVE = 'live';

/** Follows a command until `stop` is called. `screen` draws the screen of a terminal. */
export class Output {
  constructor(server, command, { onEnd, screen }) {
    Object.assign(this, { server, command, onEnd, screen });
    this.from = {};
    this.text = new AnsiText(MOST_LINES);
    this.leftOut = 0;
    this.wait = SHORTEST;
    this.ended = false;
    /** All lines of a stream, while they are shown. */
    this.whole = null;
    this.problem = '';
    this.live = screen?.element ?? this.makeLive();
    this.views = el('div', { class: 'segments', role: 'group', 'aria-label': 'What is shown of the output' });
    this.note = el('p', { class: 'quiet' });
    this.bar = el('div', { class: 'output-bar', hidden: true }, this.views, this.note);
    this.body = el('div', { class: 'output-body' }, this.live);
    this.element = el('div', { class: 'output-box' }, this.bar, this.body);
    this.look();
  }

  makeLive() {
    const view = el('div', { class: 'output', role: 'log', tabindex: '0', 'aria-label': 'Output', 'aria-live': 'off' });
    this.list = new VirtualList(view, {
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
    view.addEventListener('scroll', () => this.scrolled(view));
    return view;
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
      if (isNew) {
        this.list?.setCount(this.text.lines.length);
        this.showBar();
        this.count(tail.over);
      }
      if (tail.over) this.end(tail);
    } catch (problem) {
      // A server that is gone has no output any more; another problem may pass.
      if (problem.status === 404) this.end(null);
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
  }

  end(tail) {
    if (this.ended) return;
    this.stop();
    this.onEnd(tail);
  }

  /** Whether there is more than the live view shows. */
  hasMore() {
    return this.leftOut > 0 || this.text.dropped > 0;
  }

  /** The choice of views is there as soon as there is something to choose. */
  showBar() {
    const streams = Object.keys(this.from);
    this.bar.hidden = !this.screen && !this.hasMore() && streams.length < 2;
    const label = (view) => {
      if (view === LIVE) return this.screen ? 'Screen' : 'Latest';
      return view === 'terminal' ? 'All that was printed' : `All of ${view}`;
    };
    reconcile(this.views, [LIVE, ...streams], {
      key: (view) => view,
      create: (view) => el('button', { type: 'button', onclick: () => this.show(view) }, label(view)),
      update: (button, view) => button.setAttribute('aria-pressed', String(view === (this.whole?.stream ?? LIVE))),
    });
    const notes = [this.problem];
    if (!this.whole && this.leftOut > 0) notes.push(`${size(this.leftOut)} came too fast to be shown live`);
    if (!this.whole && this.text.dropped > 0) notes.push(`the last ${counted(MOST_LINES, 'line')}`);
    if (this.whole) notes.push(counted(this.whole.total, 'line'));
    setText(this.note, notes.filter(Boolean).join('; '));
  }

  /** Shows the live view, or all lines of a stream. */
  show(view, beforeEnd) {
    this.whole = null;
    if (view === LIVE) this.body.replaceChildren(this.live);
    else {
      const onProblem = (text) => {
        this.problem = text;
        this.showBar();
      };
      this.whole = new StreamLines(this.server, this.command, view, { onProblem });
      this.body.replaceChildren(this.whole.view);
      this.whole.open(beforeEnd);
    }
    this.problem = '';
    this.showBar();
    this.list?.schedule();
  }

  /** Above its beginning, the live view goes on with all lines of the stream, if there is only one. */
  scrolled(view) {
    const streams = Object.keys(this.from);
    if (view.scrollTop > 0 || this.list.atEnd || !this.hasMore() || streams.length !== 1 || !view.isConnected) return;
    this.show(streams[0], this.text.lines.length);
    this.whole.view.focus();
  }

  count(now) {
    if (!this.whole || (!now && Date.now() - (this.counted ?? 0) < COUNT_EVERY)) return;
    this.counted = Date.now();
    this.whole.grow();
  }
}
