// The picture of a day: one lane per session, one bar per call. Red failed, hatched was denied.

import { duration, el, svg, visible } from './dom.js';

const [LANE, LABELS, TOP, WIDTH] = [26, 150, 22, 1000];
const OUTCOMES = { ok: 'succeeded', failed: 'failed', denied: 'denied', open: 'running, or no end recorded' };

/** `onChoose(id)` is called with the entry of a bar. */
export class Timeline {
  constructor(onChoose) {
    this.onChoose = onChoose;
    this.hint = el('p', { class: 'timeline-hint', 'aria-hidden': 'true' });
    this.box = el('div', { class: 'timeline-box' });
    this.element = el('figure', { class: 'timeline' }, this.box,
      el('figcaption', {}, this.legend(), this.hint));
  }

  legend() {
    const entry = (outcome) => el('span', { class: 'key' }, el('i', { class: `swatch ${outcome}` }), OUTCOMES[outcome]);
    return el('span', { class: 'legend' }, ...['ok', 'failed', 'denied', 'open'].map(entry));
  }

  /** `alive` are the servers that run: a call of theirs that has no end goes on. */
  draw({ lanes, left_out: leftOut }, { from, to, alive }) {
    const now = Math.min(Date.now(), to);
    for (const { server, bars } of lanes) {
      if (alive.has(server)) bars.filter(({ outcome }) => outcome === 'open').forEach((bar) => { bar.to = Math.max(bar.to, now); });
    }
    const height = TOP + Math.max(lanes.length, 1) * LANE + 4;
    const x = (time) => LABELS + ((time - from) / (to - from)) * WIDTH;
    const picture = svg('svg', {
      viewBox: `0 0 ${LABELS + WIDTH + 24} ${height}`, role: 'group',
      'aria-label': 'Timeline: one lane per session, one bar per call. The arrow keys go from bar to bar.',
    });
    picture.addEventListener('keydown', (event) => this.move(event, picture));
    const hatch = svg('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
      svg('rect', { width: 6, height: 6, class: 'hatch-ground' }), svg('rect', { width: 2.5, height: 6, class: 'hatch-line' }));
    picture.append(svg('defs', {}, hatch));
    const step = [5, 10, 30, 60, 120].find((minutes) => (to - from) / minutes / 60_000 <= 13) * 60_000;
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const at = x(time);
      const clock = new Date(time).toTimeString().slice(0, 5);
      picture.append(svg('line', { x1: at, x2: at, y1: TOP - 4, y2: height, class: 'grid' }),
        svg('text', { x: at, y: 12, class: 'hour', 'text-anchor': 'middle' }, clock));
    }
    lanes.forEach((lane, index) => this.lane(picture, lane, TOP + index * LANE, x));
    // One bar is reached with Tab, the others from there.
    picture.querySelector('rect.bar:last-of-type')?.setAttribute('tabindex', '0');
    this.box.replaceChildren(picture);
    this.scrollToLast(Math.max(...lanes.flatMap(({ bars }) => bars.map((bar) => bar.to))), from, to);
    const empty = lanes.length === 0 ? 'Nothing happened in this time.' : '';
    this.hint.textContent = leftOut > 0 ? `${leftOut} more sessions are not drawn` : empty;
  }

  /** Where the picture is wider than its place, it shows what happened last. A person may scroll it afterwards. */
  scrollToLast(last, from, to) {
    if (this.shown === from || !Number.isFinite(last)) return;
    this.shown = from;
    const share = (LABELS + ((last - from) / (to - from)) * WIDTH) / (LABELS + WIDTH);
    this.box.scrollLeft = share * this.box.scrollWidth - this.box.clientWidth * 0.8;
  }

  move(event, picture) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const bars = [...picture.querySelectorAll('rect.bar')];
    const next = bars[bars.indexOf(event.target) + step];
    if (!step || !next) return;
    event.preventDefault();
    event.target.setAttribute('tabindex', '-1');
    next.setAttribute('tabindex', '0');
    next.focus();
  }

  lane(picture, { session, client, server, bars }, y, x) {
    const name = visible(`${session} · ${client ?? server}`);
    picture.append(svg('text', { x: LABELS - 8, y: y + LANE / 2 + 4, class: 'lane', 'text-anchor': 'end' },
      name.length > 22 ? `${name.slice(0, 21)}…` : name));
    for (const bar of bars) {
      const what = visible(bar.what);
      const title = bar.count > 1
        ? `${bar.count} calls, ${OUTCOMES[bar.outcome]} at worst: ${what}`
        : `${what} — ${OUTCOMES[bar.outcome]}, ${duration(bar.to - bar.from)}`;
      const label = `${new Date(bar.from).toLocaleTimeString('en-GB')}  ${title}`;
      const choose = () => this.onChoose(bar.id);
      const rect = svg('rect', {
        x: x(bar.from), y: y + 4, width: Math.max(3, x(bar.to) - x(bar.from)), height: LANE - 8, rx: 2,
        class: `bar ${bar.outcome}`, tabindex: '-1', role: 'button', 'aria-label': label, 'data-id': bar.id,
      }, svg('title', {}, label));
      rect.addEventListener('click', choose);
      rect.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault();
          choose();
        }
      });
      for (const event of ['pointerenter', 'focus']) rect.addEventListener(event, () => { this.hint.textContent = label; });
      picture.append(rect);
    }
  }
}
