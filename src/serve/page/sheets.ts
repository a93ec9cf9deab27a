import type { Iso } from '../../base/clock.js';
import { count, counted } from '../../base/units.js';
import { settableLifecycleStates, urgentFirst } from '../../contract/topics.js';
import { statusBadge, toneOf } from '../../view/changes.js';
import { badge, type Html, html, quiet, type Row, section, table } from '../../view/html.js';
import {
  leftOutCount,
  leftOutSection,
  type Plan,
  previewCount,
  previewSections,
  quietRows,
} from '../../view/preview.js';
import type { Times } from '../../view/times.js';
import type { FieldChange, Section, Words } from '../../view/view.js';
import { factsHtml, sectionHtml, viewHtml } from '../../view/view-html.js';
import { button, form, menu, nextOf, nextQuery } from './forms.js';
import { type Frame, frameOf, type PageContent, page } from './page.js';

/** The pages for people who change topics and companies in a spreadsheet. */

/** The filter of the download; each is empty when it limits nothing. */
export interface SheetFilter {
  readonly about: 'topics' | 'companies';
  readonly priority: string;
  readonly state: string;
  readonly company: string;
  readonly text: string;
}

/** A sheet that was imported, or an undo: a line of the history. */
export interface SheetLine {
  readonly id: string;
  readonly name: string;
  /** Null when no person was named. */
  readonly by: string | null;
  readonly at: Iso;
  readonly isUndo: boolean;
  /** `confirmed`: it will be queued as soon as nothing else holds the warehouse. */
  readonly state: 'new' | 'confirmed' | 'done' | 'cancelled' | 'failed';
  /** How many of its changes have which status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Whether confirming it would change anything; true once it is confirmed. */
  readonly hasChanges: boolean;
  readonly leftOutCount: number;
  readonly problem: string | null;
}

export interface SheetChange {
  readonly id: string;
  readonly revision: number;
  readonly title: string;
  readonly fields: readonly FieldChange[];
  readonly status: string;
  readonly isUndone: boolean;
  /** A person has decided about it, and that is not carried out yet. */
  readonly isDecided: boolean;
  readonly note: string | null;
}

export interface SheetDetails extends SheetLine {
  /** The changes that it would make; null once it was confirmed or cancelled. */
  readonly plan: Plan | null;
  /** Its changes, once they are queued. */
  readonly changes: readonly SheetChange[];
  readonly leftOut: Plan['leftOut'];
  readonly hasResult: boolean;
  /** Whether something confirmed is being sent now, or will be as soon as nothing else holds the warehouse. */
  readonly isBeingSent: boolean;
}

/** The page for sheets: download, upload, history. `problem` says why the last request failed. */
export function sheetsPage(
  content: PageContent,
  filter: SheetFilter,
  history: readonly SheetLine[],
  problem: Problem | null,
): string {
  const frame = frameOf(content, '/sheets');
  const { visitor } = content;
  return page(frame, {
    title: 'Sheets',
    heading: 'Sheets',
    isLive: false,
    main: html`${problem && problemBox(problem)}${downloadSection(filter, placeOf(content))}${
      visitor?.role === 'write' ? uploadSection(visitor.token, placeOf(content)) : null
    }${historySection(history, frame)}`,
  });
}

/** The path of one sheet, which keeps the page that its reader came from. */
function sheetPath(id: string, { query }: PageContent): string {
  return `/sheets/${id}${nextQuery(query?.next)}`;
}

/** The path of the page, which each organization of a service has. */
function placeOf({ organization }: PageContent): string {
  return `${organization?.base ?? ''}/sheets`;
}

export interface Problem {
  readonly message: string;
  readonly details: readonly string[];
}

/** Why a request failed, with the way back to where it was made. */
export function problemPage(content: PageContent, problem: Problem, path: '/sheets' | '/topics'): string {
  const frame = frameOf(content, path);
  const name = path === '/sheets' ? 'Sheets' : 'Topics';
  const back = html`<p><a href="${frame.link(path)}">Back to the ${name.toLowerCase()}</a></p>`;
  const main = html`${problemBox(problem)}${backLink(frame) ?? back}`;
  return page(frame, { title: name, heading: name, isLive: false, main });
}

function problemBox({ message, details }: Problem): Html {
  return html`<div id="problem" class="problem" role="alert"><p>${message}</p>${details.map((one) => html`<p>${one}</p>`)}</div>\n`;
}

const any = ['', 'any'] as const;

function downloadSection({ about, priority, state, company, text }: SheetFilter, place: string): Html {
  return section(
    'download',
    'Download to edit',
    html`<form class="fields" method="get" action="${place}/download">
${menu('about', 'Sheet of', ['topics', 'companies'], about)}
${menu('priority', 'Priority', [any, ...urgentFirst], priority)}
${menu('state', 'Lifecycle state', [any, ...settableLifecycleStates, 'unknown'], state)}
<label>Company <input name="company" value="${company}" placeholder="part of its name"></label>
<label>Text <input name="text" value="${text}" placeholder="in title or summary"></label>
<button>Download</button>
</form>
<p class="quiet">The topics are those of the backlog. Companies can be limited by company and text only. Edit the yellow columns, save the file, and upload it here.</p>`,
  );
}

function uploadSection(token: string, place: string): Html {
  return section(
    'upload',
    'Upload your changes',
    html`${form(
      place,
      token,
      html`<label>File <input type="file" name="file" accept=".xlsx,.xlsm,.ods,.csv,.tsv" required></label>
<button>Upload and preview</button>`,
      { look: 'fields' },
    )}
<p class="quiet">.xlsx, .ods or .csv. You see what would change before anything is queued.</p>`,
  );
}

function historySection(history: readonly SheetLine[], { times, link }: Frame): Html {
  const rows = history.map(
    (line): Row => [
      html`<a href="${link(`/sheets/${line.id}`)}">${nameOf(line)}</a>`,
      line.by ?? 'not named',
      times.at(line.at),
      stateOf(line),
    ],
  );
  const found =
    rows.length === 0
      ? html`<p class="quiet">Nothing was uploaded or imported yet.</p>`
      : table('history-table', 'Sheets, newest first', ['Sheet', 'Who', 'When', 'Result'], rows);
  return section('history', 'History', found);
}

function nameOf({ name, isUndo }: Pick<SheetLine, 'name' | 'isUndo'>): string {
  return isUndo ? `Undo of ${name}` : name;
}

function stateOf({ state, statuses, hasChanges, leftOutCount, problem }: SheetLine): Html {
  const left =
    leftOutCount > 0 ? html` <span class="quiet">${counted(leftOutCount, 'row')} left out</span>` : null;
  const message = problem === null ? null : html` <span class="message">${problem}</span>`;
  if (state === 'new')
    return hasChanges
      ? badge('warn', 'not confirmed yet')
      : html`${badge('quiet', 'nothing to confirm')}${left}`;
  if (state === 'confirmed') return html`${badge('busy', 'confirmed, waits for its turn')}${message}`;
  if (state === 'cancelled') return badge('quiet', 'cancelled');
  if (state === 'failed') return html`${badge('bad', 'failed')}${message}`;
  const found = Object.entries(statuses);
  if (found.length === 0) return html`${badge('quiet', 'changed nothing')}${left}`;
  return html`${found.map(([status, number]) => html`${badge(toneOf(status), `${status} ${count(number)}`)} `)}${left}`;
}

/** The page of one sheet or undo: what it would change, or its result. */
export function sheetPage(content: PageContent, sheet: SheetDetails): string {
  const frame = frameOf(content, '/sheets/one');
  const isNew = sheet.state === 'new';
  const sections = sheet.plan
    ? previewSections(sheet.plan)
    : [
        changesSection(sheet, content),
        leftOutSection({ kind: sheet.isUndo ? 'undo' : 'import', leftOut: sheet.leftOut }),
      ];
  return page(frame, {
    title: nameOf(sheet),
    heading: nameOf(sheet),
    // A preview takes the time of an import; only a confirmed sheet changes without the reader.
    isLive: !isNew && sheet.state !== 'cancelled',
    main: html`${summarySection(sheet, frame)}${viewHtml(sections, frame)}`,
  });
}

function summarySection(sheet: SheetDetails, frame: Frame): Html {
  const { content, times } = frame;
  const { by, at, plan } = sheet;
  const number = plan ? previewCount(plan) : 0;
  const left = plan ? leftOutCount(plan) : 0;
  const heading =
    plan === null
      ? 'Result'
      : number > 0
        ? `${counted(number, 'change')} to confirm`
        : left > 0
          ? `Nothing can be changed: ${counted(left, 'row')} left out`
          : 'Nothing to change';
  return section(
    'summary',
    heading,
    plan ? null : html`<p>${stateOf(sheet)}</p>${whenSent(sheet, content, times)}`,
    plan && factsHtml(quietRows(plan), frame),
    actions(sheet, content),
    sheet.state === 'cancelled' ? quiet('Nothing was sent. Drafts are unchanged.') : null,
    backLink(frame),
    quiet(html`Requested by ${by ?? 'not named'}, ${times.at(at)}`),
  );
}

/** The way back to the page whose edits these are; null where there was none. */
function backLink({ content, link }: Frame): Html | null {
  const next = nextOf(content.query?.next);
  if (next === null) return null;
  const one = next.startsWith('/topics/') ? 'topic' : next.startsWith('/companies/') ? 'company' : null;
  return html`<p><a href="${link(next)}">Back to the ${one ?? 'topics'}</a></p>`;
}

/** The changes that a person sent last, with what is left to decide; null where there are none. Their pages lead back to `next`. */
export function sentSection(sheet: SheetDetails | null, given: PageContent, next: string): Html | null {
  if (sheet === null) return null;
  const content = { ...given, query: { ...given.query, next } };
  const frame = frameOf(content, '/topics');
  const { times, link } = frame;
  const open = sheet.changes.filter(isUndecided);
  return section(
    'sent',
    'Your last changes',
    html`<p>${stateOf(sheet)} <a href="${link(sheetPath(sheet.id, content))}">${times.since(sheet.at)}</a></p>`,
    whenSent(sheet, content, times),
    open.length === 0 ? null : sectionHtml(changesSection({ ...sheet, changes: open }, content), frame),
    actions({ ...sheet, hasResult: false }, content),
  );
}

function actions(sheet: SheetDetails, content: PageContent): Html | null {
  const { visitor } = content;
  const { id, by, plan, changes, isUndo, hasResult } = sheet;
  const base = content.organization?.base ?? '';
  const place = base + sheetPath(id, content);
  const mayWrite = visitor?.role === 'write';
  if (plan) {
    if (!mayWrite || by !== visitor.name) return null;
    const number = previewCount(plan);
    const left = leftOutCount(plan);
    const rest = left > 0 ? `, and leave ${count(left)} out` : '';
    const confirm = isUndo ? `Undo ${counted(number, 'change')}` : `Confirm ${counted(number, 'change')}`;
    const buttons = [
      number > 0 ? button('confirm', confirm + rest, 'autofocus') : null,
      button('cancel', 'Cancel'),
    ];
    return form(place, visitor.token, buttons, { look: 'actions' });
  }
  const canUndo = mayWrite && changes.some(({ status, isUndone }) => status === 'applied' && !isUndone);
  const result = hasResult
    ? html`<a class="button" href="${base}/sheets/${id}/result" download>Download the result</a>`
    : null;
  if (result === null && !canUndo) return null;
  return html`<div class="actions">${result}${canUndo ? form(place, visitor.token, button('undo', 'Undo')) : null}</div>`;
}

/** When what waits will be sent; null when nothing waits. */
function whenSent(
  { state, statuses, isBeingSent }: SheetDetails,
  { schedule }: PageContent,
  times: Times,
): Html | null {
  const { running, jobs } = schedule;
  const waits = (statuses.queued ?? 0) + (statuses.sending ?? 0) > 0;
  if (state === 'confirmed')
    return html`<p>It is stored, and will be queued${isBeingSent ? ' and sent' : null} ${running === null ? 'in a moment' : html`when ${running.job} has ${isBeingSent ? 'stored what it is fetching, and made room' : 'ended'}: it has been running since ${times.at(running.since)}`}.</p>`;
  if (!waits) return null;
  if (isBeingSent) return html`<p>Being sent: this page follows.</p>`;
  const senders = jobs.filter(({ run }) => run === 'push' || run === 'sync+push');
  const isSending = [running, ...schedule.waiting].some((one) =>
    senders.some(({ name }) => name === one?.job),
  );
  if (isSending)
    return html`<p>${running?.job ?? 'A job'} is running. What it does not send, its next run sends.</p>`;
  const [next] = senders
    .flatMap(({ name, nextAt }) => (nextAt === null ? [] : [{ name, nextAt }]))
    .sort((a, b) => (a.nextAt < b.nextAt ? -1 : 1));
  return next
    ? html`<p>What is queued will be sent with ${next.name}, ${times.at(next.nextAt)} (${times.since(next.nextAt)}).</p>`
    : html`<p>What is queued waits for signalhouse push, because no job here sends changes.</p>`;
}

/** Whether a change waits for a decision. */
function isUndecided({ status, isDecided }: SheetChange): boolean {
  return !isDecided && (status === 'conflict' || status === 'failed');
}

/** Chooses a change for a decision; null for one that needs none, and for those who only read. */
function choice(change: SheetChange, { visitor }: PageContent): Html | null {
  if (!isUndecided(change) || visitor?.role !== 'write') return null;
  return html` <label><input type="checkbox" form="decide" name="change" value="${change.id}@${change.revision}" checked> decide</label>`;
}

/** The way on for the chosen changes; null when none needs a decision. */
function decisionForm(sheetId: string, changes: readonly SheetChange[], content: PageContent): Html | null {
  const { visitor } = content;
  if (visitor?.role !== 'write' || !changes.some(isUndecided)) return null;
  const buttons = [button('retry', 'Overwrite, or try again'), button('drop', 'Discard')];
  const place = (content.organization?.base ?? '') + sheetPath(sheetId, content);
  return html`${form(place, visitor.token, buttons, { id: 'decide', look: 'actions' })}${quiet('For the changes that are chosen above.')}`;
}

function changesSection({ id, changes }: SheetDetails, content: PageContent): Section {
  const lines = changes.map((change) => {
    const { title, fields, status, isUndone, note } = change;
    const undone: Words = isUndone ? [' ', { badge: 'undone', tone: 'quiet' }] : null;
    const state: Words = [statusBadge(status), undone, { note }, choice(change, content)];
    return { what: title, fields, state };
  });
  const form = decisionForm(id, changes, content);
  return { id: 'changes', heading: 'Changes', blocks: [{ changes: lines }, ...(form ? [form] : [])] };
}
