// The picture of a day: one lane per session, one bar per call. Red failed, hatched was denied.

import { duration, el, svg, visible } from './dom.js';

const [LANE, LABELS, TOP, WIDTH] = [26, 150, 22, 1000];
const OUTCOMES = { ok: 'succeeded', failed: 'failed', denied: 'denied', open: 'no end recorded' };

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

  draw({ lanes, left_out: leftOut }, from, to) {
    const height = TOP + Math.max(lanes.length, 1) * LANE + 4;
    const x = (time) => LABELS + ((time - from) / (to - from)) * WIDTH;
    const picture = svg('svg', {
      viewBox: `0 0 ${LABELS + WIDTH + 24} ${height}`, role: 'group', 'aria-label': 'Timeline: one lane per session, one bar per call',
    });
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
    this.box.replaceChildren(picture);
    const empty = lanes.length === 0 ? 'Nothing happened in this time.' : '';
    this.hint.textContent = leftOut > 0 ? `${leftOut} more sessions are not drawn` : empty;
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
        class: `bar ${bar.outcome}`, tabindex: '0', role: 'button', 'aria-label': label, 'data-id': bar.id,
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
