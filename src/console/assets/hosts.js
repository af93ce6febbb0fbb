// The hosts that a session's commands connected to through the proxy (--network hosts).

import { el, reconcile, setText, size, visible } from './dom.js';

export const hostList = () => el('ul', { class: 'hosts', 'aria-label': 'Hosts' });

export function updateHosts(list, hosts) {
  list.hidden = hosts.length === 0;
  reconcile(list, hosts, {
    key: ({ host, port }) => `${host} ${port}`,
    create: ({ host, port }) => el('li', {}, el('code', {}, visible(`${host}:${port}`)), el('span', { class: 'counts' }),
      el('span', { class: 'reason' })),
    update: (item, host) => {
      item.className = host.refused > 0 && host.ended + host.open === 0 ? 'refused' : '';
      const counts = [[host.open, 'open'], [host.ended, 'ended'], [host.refused, 'refused']];
      const told = counts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
      if (host.open + host.ended > 0) told.push(`${size(host.sent)} sent`, `${size(host.received)} received`);
      setText(item.querySelector('.counts'), told.join(' · '));
      setText(item.querySelector('.reason'), visible(host.reason ?? ''));
    },
  });
}
