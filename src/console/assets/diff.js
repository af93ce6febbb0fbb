// A unified diff, line by line. It comes from a file that an agent wrote, so it is text and nothing else.

import { el, visible } from './dom.js';

const MARKS = { '+': 'plus', '-': 'minus', '@': 'hunk' };

/** `text` is what `testudo changes --diff` prints about one change; its first line is in the list already. */
export function showDiff(text) {
  const lines = text.replace(/\n$/, '').split('\n').slice(1);
  if (lines.length === 0) return el('p', { class: 'quiet' }, 'There is no content to compare.');
  const rows = lines.map((line) => {
    const isHeader = line.startsWith('+++ ') || line.startsWith('--- ');
    return el('span', { class: `diff-line ${isHeader ? 'header' : MARKS[line[0]] ?? ''}` }, `${visible(line)}\n`);
  });
  return el('pre', { class: 'diff', tabindex: '0', 'aria-label': 'The difference' }, ...rows);
}
