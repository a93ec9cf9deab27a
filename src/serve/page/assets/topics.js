// Makes the pages about topics quicker: what is edited goes into the draft at once, titles are searched while they are
// typed, and everything can be done by keyboard. The pages work without it, by the same forms.
document.documentElement.classList.add('has-script');
const parts = ['sent', 'list', 'state', 'related', 'draft'];
const waitMs = 120;
const followMs = 2_000;
const priorities = ['very_high', 'high', 'default', 'low', 'very_low'];
const connection = document.getElementById('connection');
let current = '';
let lastBox = null;
/** The newest search: what others answer later is old. */
let newest = 0;

const rows = () => [...document.querySelectorAll('#topics-table tbody tr')];
const boxOf = (row) => row.querySelector('input[name="topic"]');
const linkOf = (row) => row?.querySelector('a.topic');
const idOf = (row) => linkOf(row)?.getAttribute('href') ?? '';
const currentRow = () => rows().find((row) => idOf(row) === current);

/** Shows what a page has in its parts, and keeps the selection, the focus and what is typed. */
function show(text, only = parts) {
  const fresh = new DOMParser().parseFromString(text, 'text/html');
  const chosen = new Set(
    [...document.querySelectorAll('input[name="topic"]:checked')].map(({ value }) => value),
  );
  const focused = document.activeElement;
  const [name, value] = [focused?.getAttribute('name'), focused?.value];
  const isOpen = document.querySelector('#draft details')?.open ?? false;
  const part = focused?.closest(parts.map((id) => `#${id}`).join())?.id;
  const main = document.getElementById('main');
  for (const id of only) {
    const [old, next] = [document.getElementById(id), fresh.getElementById(id)];
    // A draft or a result appears, or goes away.
    if (old && next) old.replaceWith(document.adoptNode(next));
    else if (old) old.remove();
    else if (next)
      main.insertAdjacentElement(id === 'sent' ? 'afterbegin' : 'beforeend', document.adoptNode(next));
  }
  for (const box of document.querySelectorAll('input[name="topic"]')) box.checked = chosen.has(box.value);
  const details = document.querySelector('#draft details');
  if (details && isOpen) details.open = true;
  mark();
  if (!part || !name) return;
  const again = [...(document.getElementById(part)?.querySelectorAll('[name]') ?? [])].find(
    (one) => one.name === name && (!['checkbox', 'submit'].includes(one.type) || one.value === value),
  );
  if (again?.type === 'text') again.value = value;
  again?.focus();
}

/** Asks for a page, and shows its parts, unless that is of no use any more. */
async function load(url, options = {}, only = parts, isOld = () => false) {
  try {
    const answer = await fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(20_000), ...options });
    const text = await answer.text();
    // The session has ended.
    if (answer.redirected && new URL(answer.url).pathname === '/login') return location.reload();
    if (!answer.ok) {
      const problem = new DOMParser().parseFromString(text, 'text/html').getElementById('problem');
      connection.textContent = problem?.textContent ?? `It did not work: status ${answer.status}.`;
      return undefined;
    }
    connection.textContent = '';
    if (!isOld()) show(text, only);
    return answer;
  } catch {
    connection.textContent = 'No answer. What you see may be old; load the page again.';
    return undefined;
  }
}

/** Edits are sent one after the other, in the order in which they were made. */
let sending = Promise.resolve();

function send(form, values) {
  const body = new FormData();
  body.set('token', form.elements.namedItem('token').value);
  for (const [name, value] of values) body.append(name, value);
  sending = sending.then(() =>
    load(form.getAttribute('action'), { method: 'POST', body, headers: { 'x-part': 'edit' } }, [
      'list',
      'state',
      'related',
      'draft',
    ]),
  );
  return sending;
}

/** Sends an edit of the chosen topics. Once it is taken, none is chosen, and the keys go on where they were. */
async function sendForChosen(form, values) {
  if (!(await send(form, values))) return;
  for (const box of document.querySelectorAll('#edit input[type="checkbox"]')) box.checked = false;
  const reason = document.getElementsByName('archive_reason')[0];
  if (reason) reason.value = '';
  mark();
  goTo(currentRow());
}

document.addEventListener('submit', (event) => {
  const { target: form, submitter } = event;
  if (form.closest('#related')) {
    event.preventDefault();
    void send(
      form,
      [...new FormData(form, submitter)].filter(([name]) => name !== 'token'),
    );
    return;
  }
  const isForChosen = ['apply', 'archive'].includes(submitter?.value) && form.id === 'edit';
  if (!isForChosen) return;
  event.preventDefault();
  const [priority, state] = [form.elements.bulk_priority, form.elements.bulk_state];
  if (submitter.value === 'apply' && priority.value === '' && state.value === '') {
    priority.setCustomValidity('Choose a priority or a lifecycle state.');
    priority.reportValidity();
    return;
  }
  const values = [...new FormData(form, submitter)].filter(([name]) => name !== 'token');
  void sendForChosen(form, values);
});

const seenOf = (id) => {
  const { name, value } = document.getElementsByName(`seen/${id}`)[0];
  return [name, value];
};

document.addEventListener('change', ({ target }) => {
  if (target.name === 'all') mark();
  if (target.name?.startsWith('bulk_')) target.form.elements.bulk_priority.setCustomValidity('');
  const [field, ...rest] = target.name?.split('/') ?? [];
  const id = rest.join('/');
  if (target.form?.id === 'edit' && target.tagName === 'SELECT' && id !== '')
    send(target.form, [['action', 'save'], seenOf(id), [`${field}/${id}`, target.value]]);
  if (target.form?.id === 'filter' && target.name !== 'q') void search(target.form, 'pushState');
});

/** Shows the list that the filter asks for, and has its address. */
function search(form, remember) {
  const values = [...new FormData(form)].filter(([, value]) => value !== '');
  const url = `${form.getAttribute('action')}?${new URLSearchParams(values)}`;
  history[remember](null, '', url);
  newest += 1;
  const own = newest;
  return load(url, { headers: { 'x-part': 'list' } }, ['list'], () => own !== newest);
}

let typing;
document.addEventListener('input', ({ target }) => {
  if (target.form?.id !== 'filter' || target.name !== 'q') return;
  clearTimeout(typing);
  typing = setTimeout(() => search(target.form, 'replaceState'), waitMs);
});
window.addEventListener('popstate', () => location.reload());

/** The row that the keys are about, and how many are chosen. */
function mark() {
  for (const row of rows()) row.classList.toggle('current', idOf(row) === current);
  const chosen = document.querySelectorAll('input[name="topic"]:checked').length;
  const isAll = document.querySelector('#edit input[name="all"]')?.checked;
  const selected = document.querySelector('output[name="selected"]');
  if (selected) selected.value = `${isAll ? 'all' : chosen} selected`;
}

/** Shows as much of a row as there is room for, and its link. */
function goTo(row) {
  keepClear();
  row?.scrollIntoView({ block: 'nearest' });
  linkOf(row)?.focus();
}

function move(by) {
  const all = rows();
  const at = all.findIndex((row) => idOf(row) === current);
  const next = all[Math.max(0, Math.min(all.length - 1, at === -1 ? 0 : at + by))];
  if (!next) return;
  current = idOf(next);
  mark();
  goTo(next);
}

const selectedRows = () => {
  const chosen = rows().filter((row) => boxOf(row)?.checked);
  const row = currentRow();
  return chosen.length > 0 ? chosen : row ? [row] : [];
};

function setPriority(priority) {
  const form = document.getElementById('edit');
  // The page of one topic has no rows.
  const own = [...document.querySelectorAll('#state input[name="topic"]')].map(({ value }) => value);
  const ids = [...selectedRows().map((row) => boxOf(row).value), ...own];
  if (ids.length === 0) return;
  const values = ids.flatMap((id) => [seenOf(id), ['topic', id]]);
  void sendForChosen(form, [['action', 'apply'], ['bulk_priority', priority], ...values]);
}

/** Selects all rows between the last box that was clicked and this one. */
document.addEventListener('click', (event) => {
  const { target } = event;
  if (target.name !== 'topic') return;
  const boxes = rows().map(boxOf);
  const [from, to] = [boxes.findIndex((box) => box.value === lastBox), boxes.indexOf(target)];
  if (event.shiftKey && from !== -1)
    for (const box of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) box.checked = target.checked;
  lastBox = target.value;
  current = idOf(target.closest('tr'));
  mark();
});

/** A column of a spreadsheet that is pasted on a menu goes down from there. */
document.addEventListener('paste', (event) => {
  const text = event.clipboardData?.getData('text') ?? '';
  const [field, ...rest] = document.activeElement?.name?.split('/') ?? [];
  const form = document.getElementById('edit');
  if (!form || rest.length === 0 || !text.trim().includes('\n')) return;
  event.preventDefault();
  const seen = [...document.querySelectorAll('input[name^="seen/"]')].map(({ name, value }) => [name, value]);
  send(form, [['action', 'paste'], ['from', rest.join('/')], ['column', field], ['values', text], ...seen]);
});

const canEdit = () => document.getElementById('edit') !== null;
const keys = {
  j: () => move(1),
  k: () => move(-1),
  x: () => {
    const box = currentRow() && boxOf(currentRow());
    if (box) box.checked = !box.checked;
    mark();
  },
  e: () => {
    const row = currentRow();
    if (!canEdit()) return;
    if (row && selectedRows().length === 1) boxOf(row).checked = true;
    mark();
    document.getElementsByName('archive_reason')[0]?.focus();
  },
  r: () => document.querySelector('#draft button[value="review"]')?.click(),
  '/': () => document.querySelector('#filter input[name="q"]')?.focus(),
  '?': () => document.getElementById('keys')?.showModal(),
};

/** What lies over the list at the top and the bottom of the window never covers what has the focus. */
function keepClear() {
  const [bulk, draft] = [document.querySelector('.bulk'), document.getElementById('draft')];
  const isOver = bulk && getComputedStyle(bulk).position === 'sticky';
  const { style } = document.documentElement;
  style.setProperty('--above', `${isOver ? bulk.offsetHeight : 0}px`);
  style.setProperty('--below', `${draft?.offsetHeight ?? 0}px`);
}

document.addEventListener('keydown', (event) => {
  keepClear();
  const { target, key } = event;
  const isTyping = target.matches('input:not([type="checkbox"]), textarea, select');
  if (target.name === 'archive_reason' && key === 'Enter') {
    event.preventDefault();
    target.form.querySelector('button[value="archive"]').click();
  }
  if (key === 'Escape' && isTyping) {
    // The browser would clear the search field without updating the list.
    event.preventDefault();
    target.blur();
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const at = Number(key) - 1;
  const act =
    canEdit() && priorities[at] ? () => setPriority(priorities[at]) : Object.hasOwn(keys, key) && keys[key];
  if (!act) return;
  event.preventDefault();
  act();
});

mark();

/** What was sent is shown as it goes on. */
setInterval(() => {
  if (!document.hidden && document.querySelector('#sent .badge.busy')) void load(location.href, {}, ['sent']);
}, followMs);
