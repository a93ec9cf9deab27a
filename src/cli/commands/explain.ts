import { z } from 'zod';
import type { Candidates } from '../../app/explain.js';
import { shellWord } from '../../base/command-line.js';
import { cut } from '../../base/display-width.js';
import { UsageError } from '../../base/errors.js';
import { count } from '../../base/units.js';
import { printable } from '../../view/text.js';
import { command } from '../command.js';
import { answer, answerTo, canAsk } from '../output.js';
import { setUp } from '../setup.js';
import { explanationText } from '../text/explanation.js';

const kinds = ['topic', 'company', 'person', 'conversation'] as const;
type Kind = (typeof kinds)[number];

const plurals = { topic: 'topics', company: 'companies', person: 'people', conversation: 'conversations' };

/** The most entities to choose from; more of the title or name finds fewer. */
const most = 10;

export const explain = command({
  name: 'explain',
  usage: '<kind> [what..]',
  summary: 'Explain a topic, company, person or conversation: what is due, why',
  examples: [
    ['signalhouse explain topic 0f3c…', 'Its state, and what is due'],
    ['signalhouse explain company Acme', 'By name; asks when several match'],
    ['signalhouse explain person 42 --json', 'For a program'],
  ],
  flags: {
    kind: z
      .enum(kinds, 'must be topic, company, person or conversation')
      .describe('topic, company, person or conversation'),
    what: z
      .array(z.string())
      .default([])
      .transform((words) => words.join(' ').trim())
      .refine((words) => words !== '', 'is missing: an id, or a title or name')
      .describe('Its id, or its title or name, or a part of that'),
  },
  async run({ kind, what }, context) {
    const { explain: explainOne } = await import('../../app/explain.js');
    const isAsking = canAsk() && !context.json;
    const explanation = await explainOne(await setUp(context), kind, what, (candidates) =>
      choose(kind, what, candidates, isAsking),
    );
    return answer(context, explanation, explanationText);
  },
});

/** The id that is meant; asks where several match and somebody can answer. */
async function choose(
  kind: Kind,
  what: string,
  { found, others }: Candidates,
  isAsking: boolean,
): Promise<string> {
  const [first, second] = found;
  if (!first) throw nothingFound(kind, what, others);
  if (!second) return first.id;
  const head = `${count(found.length)} ${plurals[kind]} match ${JSON.stringify(what)}.`;
  const shown = found.slice(0, most);
  const more = found.length - shown.length;
  if (isAsking) {
    const lines = shown.map((one, index) => `  ${index + 1}  ${titleOf(one)}`);
    if (more > 0) lines.push(`  and ${count(more)} more; more of the title or name finds fewer`);
    process.stderr.write(`${head}\n${lines.join('\n')}\n`);
    const typed = (await answerTo(`Which one? [1-${shown.length}] `)).trim();
    const chosen = shown[Number(typed) - 1];
    if (typed !== '' && chosen) return chosen.id;
    throw new UsageError('Nothing was chosen.', [], { hint: 'Name one by its id.' });
  }
  const problems = shown.map((one) => ({ setting: one.id, problem: titleOf(one) }));
  const commands = shown.map(({ id }) => `  ${commandFor(kind, id)}`);
  const rest = more > 0 ? [`${count(more)} more match: give more of the title or name.`] : [];
  throw new UsageError(head, problems, { hint: ['Explain one of them:', ...commands, ...rest].join('\n') });
}

function titleOf({ id, name, isGone }: Candidates['found'][number]): string {
  return cut(printable(`${name ?? id}${isGone ? ' (deleted)' : ''}`), 74);
}

function nothingFound(kind: Kind, what: string, others: Candidates['others']): UsageError {
  const [other] = others;
  const quoted = JSON.stringify(what);
  if (!other) {
    const list = kind === 'conversation' ? 'topics' : plurals[kind];
    return new UsageError(`There is no ${kind} with the id or title ${quoted}.`, [], {
      hint: `Only what a sync has stored and published can be explained. Run signalhouse sync --only ${list} if it is new.`,
    });
  }
  const name = other.name === null ? '' : ` (${cut(printable(other.name), 60)})`;
  const own = kinds.find((one) => one === other.kind);
  return new UsageError(`${quoted} is the id of a ${other.kind}${name}, not of a ${kind}.`, [], {
    hint: own ? commandFor(own, what) : `Only these can be explained: ${kinds.join(', ')}.`,
  });
}

function commandFor(kind: Kind, id: string): string {
  return `signalhouse explain ${kind} ${shellWord(id)}`;
}
