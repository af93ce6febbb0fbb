// All lines of one stream of a command, by their numbers. However many there are, the page holds only some of them.

import * as api from './api.js';
import { drawLine, drawnLines } from './ansi.js';
import { el, setText } from './dom.js';
import { Parts } from './parts.js';
import { VirtualList } from './virtual_list.js';

const [SIZE, MOST, ROW] = [200, 20, 20];

export class StreamLines {
  /** `onProblem(text)` is called with an empty text when all is well. */
  constructor(server, command, stream, { onProblem }) {
    Object.assign(this, { server, command, stream, onProblem });
    this.total = 0;
    this.view = el('div', { class: 'output numbered', role: 'log', tabindex: '0', 'aria-label': `All of ${stream}`, 'aria-live': 'off' });
    this.parts = new Parts({ size: SIZE, most: MOST, load: (number) => this.load(number), onLoaded: () => this.list.schedule() });
    this.list = new VirtualList(this.view, { rowHeight: ROW, keepEnd: true, draw: (row, index) => this.draw(row, index) });
  }

  async load(number) {
    try {
      const { lines, total } = await api.lines(this.server, this.command, this.stream, number * SIZE + 1, SIZE);
      this.total = total;
      this.list.setCount(total);
      this.view.style.setProperty('--digits', String(total).length);
      this.onProblem('');
      return drawnLines(lines);
    } catch (problem) {
      this.onProblem(problem.message);
      throw problem;
    }
  }

  /** Shows the line that is so many lines before the end; without a number, the end. */
  async open(beforeEnd = 0) {
    await this.grow();
    this.list.update();
    if (beforeEnd > 0) this.list.scrollTo(Math.max(0, this.total - beforeEnd), 0);
  }

  /** The stream may have grown. The last part is loaded again. */
  grow() {
    return this.parts.fetch(Math.max(0, Math.floor((this.total - 1) / SIZE)));
  }

  draw(row, index) {
    const line = this.parts.get(index);
    if (row.line === line && row.firstChild) return;
    row.line = line;
    row.className = 'line';
    row.dataset.number = String(index + 1);
    if (line) drawLine(row, line);
    else setText(row, '…');
  }
}
