import {
  answers,
  awkward,
  botLines,
  details,
  echoes,
  effects,
  foreign,
  greetings,
  notes,
  openers,
  slots,
  thanks,
} from './phrases.js';
import type { Random } from './random.js';
import { capital, type Subject } from './subject.js';

/** In what part somebody speaks: the first message, its author again, another, staff, staff among themselves, a bot. */
export type Role = 'opener' | 'detail' | 'echo' | 'answer' | 'note' | 'thanks' | 'bot';

/** What is said about `subject` in that role; about one message in 30 is in another language or awkward to handle. */
export function say(random: Random, subject: Subject, role: Role): string {
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

/** A pasted log of more than 20,000 characters, as support receives them. */
export function longText(random: Random, subject: Subject): string {
  const lines = [fill(random, 'Here is the complete log. {Subject}.', subject), '```'];
  let length = 0;
  for (let line = 1; length < 21_000; line++) {
    const level = random.weighted({ INFO: 8, WARN: 2, ERROR: 1 });
    const text = `${String(line).padStart(5, '0')} ${level} [worker-${random.whole(1, 8)}] request=${random.uuid()} took=${random.whole(2, 9000)}ms path="/v2/items?page=${line}&q=na\u00efve" \u2713`;
    lines.push(text);
    length += text.length + 1;
  }
  return [...lines, '```'].join('\n');
}

function linesOf(role: Role, subject: Subject): readonly string[] {
  switch (role) {
    case 'opener':
      return openers[subject.kind];
    case 'detail':
      return details[subject.kind];
    case 'echo':
      return echoes[subject.kind];
    case 'answer':
      return answers[subject.kind];
    case 'note':
      return notes;
    case 'thanks':
      return thanks;
    case 'bot':
      return botLines;
  }
}

function fill(random: Random, text: string, subject: Subject): string {
  if (!text.includes('{')) return text;
  return text.replace(/\{(\w+)\}/g, (slot, name: string) => {
    switch (name) {
      case 'subject':
        return subject.phrase;
      case 'Subject':
        return capital(subject.phrase);
      case 'area':
        return subject.area;
      case 'n':
        return String(random.whole(2, 60));
      case 'ticket':
        return `LUM-${random.whole(100, 9999)}`;
      case 'code':
        return `E${random.whole(1000, 9999)}`;
      default: {
        const values = slots[name];
        return values === undefined ? slot : random.pick(values);
      }
    }
  });
}
