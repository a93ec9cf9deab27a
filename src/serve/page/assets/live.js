// Keeps the page up to date: fetches it again and changes only what differs, so that nothing flickers and focus,
// selection and opened details stay. The page works without it.
const everyMs = Number(document.body.dataset.refreshMs) || 5000;
const connection = document.getElementById('connection');
const parts = ['heading', 'main', 'published', 'sizes'];
let lostAt = '';

async function refresh() {
  const page = new URL(location.href);
  // Unless the reader chose a time zone, that of this device; the links of the page keep it.
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (timeZone && !page.searchParams.has('zone')) page.searchParams.set('zone', timeZone);
  const answer = await fetch(page, {
    cache: 'no-store',
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  // The session has ended.
  if (answer.redirected) return location.reload();
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (document.title !== fresh.title) document.title = fresh.title;
  for (const id of parts) {
    const [part, next] = [document.getElementById(id), fresh.getElementById(id)];
    if (part && next) update(part, next);
  }
}

/** Makes an element what `next` is. What already is as it should be is not touched. */
function update(part, next) {
  // It says for a moment that it has copied.
  if (part.classList.contains('copy')) return;
  for (const { name, value } of next.attributes)
    if (part.getAttribute(name) !== value) part.setAttribute(name, value);
  // Whether details are open is the reader's choice.
  for (const { name } of [...part.attributes])
    if (!next.hasAttribute(name) && name !== 'open') part.removeAttribute(name);
  const wanted = new Set([...next.children].map(keyOf));
  for (const child of [...part.children]) if (keyOf(child) && !wanted.has(keyOf(child))) child.remove();
  const keyed = new Map([...part.children].map((child) => [keyOf(child), child]));
  let at = part.firstChild;
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    // Space between elements that is too much, because one of them went away.
    while (at?.nodeType === Node.TEXT_NODE && child.nodeType === Node.ELEMENT_NODE) {
      at = at.nextSibling;
      (at?.previousSibling ?? part.lastChild).remove();
    }
    const own = key ? keyed.get(key) : at && !keyOf(at) && at.nodeName === child.nodeName ? at : null;
    if (!own || own.nodeName !== child.nodeName) {
      part.insertBefore(child, at);
      continue;
    }
    if (own === at) at = at.nextSibling;
    else part.insertBefore(own, at);
    if (own.nodeType === Node.ELEMENT_NODE) update(own, child);
    // Keep what the user is selecting.
    else if (own.data !== child.data && !isMarked(own)) own.data = child.data;
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.dataset.key || node.id : '';
}

function isMarked(node) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(node, true);
}

async function loop() {
  if (!document.hidden) {
    try {
      await refresh();
      lostAt = '';
      if (connection.textContent !== '') connection.textContent = '';
    } catch {
      lostAt ||= `${new Date().toISOString().slice(11, 19)}Z`;
      const text = `No answer since ${lostAt}. The page shows what was known then.`;
      if (connection.textContent !== text) connection.textContent = text;
    }
  }
  setTimeout(loop, everyMs);
}

// The clipboard is available on loopback and over https only.
if (navigator.clipboard) {
  document.documentElement.classList.add('can-copy');
  document.addEventListener('click', async ({ target }) => {
    if (!(target instanceof HTMLButtonElement) || !target.classList.contains('copy')) return;
    await navigator.clipboard.writeText(target.parentElement.querySelector('code').textContent);
    target.textContent = 'Copied';
    setTimeout(() => {
      target.textContent = 'Copy';
    }, 2000);
  });
}
void loop();
