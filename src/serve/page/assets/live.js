// Keeps the status page up to date: fetches it again and swaps what carries data-live. The page works without it.
const everyMs = Number(document.body.dataset.refreshMs) || 5000;
const connection = document.getElementById('connection');
let lostAt = '';

async function refresh() {
  const answer = await fetch(location.pathname, { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  document.title = fresh.title;
  // Whole parts may come and go, with the first facts for example.
  if (outline(document) !== outline(fresh)) return location.reload();
  for (const part of document.querySelectorAll('[data-live]')) {
    const next = fresh.getElementById(part.id);
    // What somebody is just marking to copy stays as it is.
    if (next && part.innerHTML !== next.innerHTML && !isMarked(part))
      part.replaceChildren(...next.childNodes);
  }
}

function outline(page) {
  return Array.from(page.querySelectorAll('[data-live]'), (part) => part.id).join();
}

function isMarked(part) {
  const selection = getSelection();
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true);
}

async function loop() {
  if (!document.hidden) {
    try {
      await refresh();
      lostAt = '';
      if (connection.textContent !== '') connection.textContent = '';
    } catch {
      lostAt ||= `${new Date().toISOString().slice(11, 19)}Z`;
      const text = `No answer since ${lostAt}; what stands here is from before.`;
      if (connection.textContent !== text) connection.textContent = text;
    }
  }
  setTimeout(loop, everyMs);
}

setTimeout(loop, everyMs);
