import type { Random } from './random.js';
import { messageTexts } from './texts.js';
import { capitalized, type Subject } from './topics.js';

/** The role of a message: the first one, its author again, another customer, staff, an internal note, thanks, a bot. */
export type Role = 'opener' | 'detail' | 'echo' | 'answer' | 'note' | 'thanks' | 'bot';

/**
 * The text of a message about `subject` in that role: one main sentence, often with a sentence before or after it. About
 * one in 30 is in another language or awkward to handle.
 */
export function messageText(random: Random, subject: Subject, role: Role): string {
  const { awkward, details, effects, foreign, greetings } = messageTexts;
  const main = random.pick(linesOf(role, subject));
  if (role === 'note' || role === 'bot' || role === 'thanks') return fill(random, main, subject);
  const odd = random.unit();
  if (odd < 0.018) return fill(random, random.pick(foreign), subject);
  const sentences = [main];
  if (odd < 0.035) sentences.push(random.pick(awkward));
  if (role === 'opener') {
    if (random.chance(0.35)) sentences.unshift(random.pick(greetings));
    if (random.chance(0.55)) sentences.push(random.pick(effects));
    if (random.chance(0.25)) sentences.push(random.pick(details[subject.kind]));
  } else if (role === 'detail' && random.chance(0.3)) {
    sentences.push(random.pick(effects));
  } else if (role === 'answer' && random.chance(0.15)) {
    sentences.unshift(random.pick(greetings));
  }
  return fill(random, sentences.join(random.chance(0.2) ? '\n\n' : ' '), subject);
}

/** A message with a pasted log of more than 20,000 characters. */
export function longText(random: Random, subject: Subject): string {
  const lines = [fill(random, 'Here is the complete log. {Subject}.', subject), '```'];
  let length = 0;
  for (let line = 1; length < 21_000; line++) {
    const level = random.weighted({ INFO: 8, WARN: 2, ERROR: 1 });
    const worker = `${String(line).padStart(5, '0')} ${level} [worker-${random.whole(1, 8)}]`;
    const request = `request=${random.uuid()} took=${random.whole(2, 9000)}ms`;
    const text = `${worker} ${request} path="/v2/items?page=${line}&q=na\u00efve" \u2713`;
    lines.push(text);
    length += text.length + 1;
  }
  return [...lines, '```'].join('\n');
}

function linesOf(role: Role, { kind }: Subject): readonly string[] {
  const { openers, details, echoes, answers, notes, thanks, botLines } = messageTexts;
  const lines: Record<Role, readonly string[]> = {
    opener: openers[kind],
    detail: details[kind],
    echo: echoes[kind],
    answer: answers[kind],
    note: notes,
    thanks,
    bot: botLines,
  };
  return lines[role];
}

function fill(random: Random, text: string, subject: Subject): string {
  const values: Record<string, () => string> = {
    subject: () => subject.phrase,
    Subject: () => capitalized(subject.phrase),
    area: () => subject.area,
    n: () => String(random.whole(2, 60)),
    ticket: () => `LUM-${random.whole(100, 9999)}`,
    code: () => `E${random.whole(1000, 9999)}`,
  };
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => {
    const choices = messageTexts.slots[name];
    return values[name]?.() ?? (choices === undefined ? slot : random.pick(choices));
  });
}
