// A list of any length: only the rows in sight are in the page. All rows have the same height.

/** The most pixels that a browser can scroll. */
const MOST_PIXELS = 10_000_000;

export class VirtualList {
  /** `draw(element, index)` fills a row. `keepEnd` makes the list stay at its end while it grows. */
  constructor(viewport, { rowHeight, draw, makeRow, keepEnd = false }) {
    this.viewport = viewport;
    this.rowHeight = rowHeight;
    this.draw = draw;
    this.makeRow = makeRow ?? (() => document.createElement('div'));
    this.keepEnd = keepEnd;
    this.count = 0;
    this.rows = new Map();
    this.spacer = document.createElement('div');
    this.spacer.className = 'spacer';
    viewport.append(this.spacer);
    this.scheduled = false;
    this.atEnd = true;
    viewport.addEventListener('scroll', () => {
      this.atEnd = viewport.scrollTop + viewport.clientHeight >= viewport.scrollHeight - 2 * this.rowHeight;
      this.schedule();
    });
    new ResizeObserver(() => this.schedule()).observe(viewport);
  }

  /** Draws again at the next frame, so there are at most as many updates as the screen shows. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.update();
    });
  }

  setCount(count) {
    this.count = count;
    this.schedule();
  }

  /** All rows in sight are drawn again. */
  refresh() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.schedule();
  }

  /** Brings a row into sight. `part` is how far down in it: 0 is its upper end. */
  scrollTo(index, part = 1 / 3) {
    this.atEnd = false;
    this.viewport.scrollTop = this.scaled(index * this.rowHeight) - this.viewport.clientHeight * part;
    this.schedule();
  }

  get height() {
    return this.count * this.rowHeight;
  }

  /** A list that is higher than the browser can scroll is scrolled in larger steps. */
  scaled(pixels) {
    return this.height > MOST_PIXELS ? (pixels / this.height) * MOST_PIXELS : pixels;
  }

  update() {
    this.spacer.style.height = `${Math.min(this.height, MOST_PIXELS)}px`;
    if (this.keepEnd && this.atEnd) this.viewport.scrollTop = this.viewport.scrollHeight;
    const top = this.viewport.scrollTop;
    const real = this.height > MOST_PIXELS ? (top / MOST_PIXELS) * this.height : top;
    const first = Math.max(0, Math.floor(real / this.rowHeight) - 4);
    const last = Math.min(this.count, Math.ceil((real + this.viewport.clientHeight) / this.rowHeight) + 4);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        row.remove();
        this.rows.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) {
      let row = this.rows.get(index);
      const isNew = row === undefined;
      if (isNew) {
        row = this.makeRow();
        this.rows.set(index, row);
      }
      this.draw(row, index);
      row.style.top = `${index * this.rowHeight - real + top}px`;
      if (isNew) this.spacer.append(row);
    }
  }
}
