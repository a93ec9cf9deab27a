import { messageOf } from '../../base/errors.js';
import { isObject } from '../../base/json.js';
import type { SyncReport } from '../../sync/report.js';
import { indent } from '../text/sections.js';
import { count, counted, duration } from '../text/units.js';
import { type Children, DemoError } from './children.js';
import { afterADay, type Question, questions } from './questions.js';

/** Small enough for a minute, large enough for questions to have answers. */
const sizes = ['--topics', '60', '--people', '140', '--companies', '20', '--messages', '3000'];

/** The real limit of 120 requests in a window, but the window takes 2 seconds instead of a minute. */
export const squeezed = { requests: 120, windowMs: 2_000 } as const;

/** What the demo came to. */
export interface Played {
  readonly pulls: readonly SyncReport[];
  readonly answers: readonly { readonly title: string; readonly sql: string; readonly rows: unknown }[];
}

/** Plays the demo from its start to its end; `say` gets each part of the story as it happens. */
export async function play(children: Children, say: (text: string) => void): Promise<Played> {
  say(`A Product-Signals service with made-up data starts on this machine. It allows
${squeezed.requests} requests a window, as the real one does, but its window takes ${duration(squeezed.windowMs)}
instead of a minute, so that this is over soon.`);
  const service = await startService(children, say);

  say('\n1. The first pull: everything is new.\n');
  const first = await pull(children, service, say);

  say('\n2. Two questions to the published file.\n');
  const answers: Played['answers'][number][] = [];
  for (const question of questions) answers.push(await ask(children, question, say));

  say('3. A day passes: messages, edits, merges, archives.\n');
  await advance(service.origin);

  say('4. The second pull: only what is due.\n');
  const second = await pull(children, service, say);
  say('');
  answers.push(await ask(children, afterADay, say));
  say(comparison(first, second));
  return { pulls: [first, second], answers };
}

interface Service {
  readonly origin: string;
  readonly env: Readonly<Record<string, string>>;
}

async function startService(children: Children, say: (text: string) => void): Promise<Service> {
  const window = ['--rate', String(squeezed.requests), '--window', String(squeezed.windowMs)];
  const started = await children.start([
    'sandbox',
    '--port',
    '0',
    '--latency',
    '5-20',
    ...window,
    ...sizes,
    '--json',
  ]);
  const { baseUrl, origin, apiKey } = isObject(started) ? started : {};
  if (typeof baseUrl !== 'string' || typeof origin !== 'string' || typeof apiKey !== 'string') {
    throw new DemoError('The sandbox did not say where it listens.');
  }
  say(`It listens on ${baseUrl}.`);
  return { origin, env: { SIGNALHOUSE_BASE_URL: baseUrl, SIGNALHOUSE_API_KEY: apiKey } };
}

async function pull(children: Children, service: Service, say: (text: string) => void): Promise<SyncReport> {
  say('   $ signalhouse sync');
  const report: SyncReport = JSON.parse(await children.run(['sync', '--json'], service.env));
  const rows = Object.values(report.rows);
  const sum = (what: 'new' | 'changed') => count(rows.reduce((total, one) => total + one[what], 0));
  say(`   ${counted(report.requests.total, 'request')} in ${duration(report.minutes * 60_000)}, ${sum('new')} rows new, ${sum('changed')} changed, ${count(report.requests.rateLimited)} times
   told to slow down (429). At a real minute a window: about ${duration(realMs(report.requests.total))}.`);
  return report;
}

/** The requests of the last window do not wait for its end. */
function realMs(requests: number): number {
  return (requests * 60_000) / squeezed.requests;
}

async function ask(
  children: Children,
  question: Question,
  say: (text: string) => void,
): Promise<Played['answers'][number]> {
  const rows: unknown = JSON.parse(await children.run(['sql', question.sql, '--json']));
  const table = await children.run(['sql', question.sql]);
  say(`   ${question.title}\n\n${indent(question.sql)}\n\n${indent(table)}`);
  return { ...question, rows };
}

async function advance(origin: string): Promise<void> {
  const answer = await fetch(`${origin}/__sandbox/advance`, { method: 'POST' }).catch((error: unknown) => {
    throw new DemoError(`The sandbox does not answer: ${messageOf(error)}`);
  });
  if (!answer.ok) throw new DemoError(`The sandbox could not let a day pass: ${answer.status}`);
  await answer.arrayBuffer();
}

function comparison(first: SyncReport, second: SyncReport): string {
  return `   first pull   ${counted(first.requests.total, 'request')}
   second pull  ${counted(second.requests.total, 'request')}`;
}
