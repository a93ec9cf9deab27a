import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { deciders } from './decide.js';
import type { Observations } from './observe.js';
import { type Finding, Seen } from './seen.js';

/** What the API's document leaves open (assumptions.yaml), and what the observations say about it. */

/** A section of docs/assumptions.md; assumptions.yaml says what each field is. */
interface Section {
  readonly title: string;
  readonly about: string;
  readonly open: string;
  readonly unhandled?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
  readonly points: Readonly<Record<string, string>>;
}

export const sections: readonly Section[] = parse(
  readFileSync(new URL('assumptions.yaml', import.meta.url), 'utf8'),
);

/** One assumption with its verdict. */
export interface Proof {
  readonly id: string;
  readonly statement: string;
  /** The section of the API's document. */
  readonly section: string;
  readonly verdict: 'confirmed' | 'contradicted' | 'undecidable';
  /** Numbers and documented names only; why, where it is undecidable. */
  readonly evidence: string;
  /** What the program does otherwise. */
  readonly otherwise: string;
  /** Whether the program needs no help where the assumption does not hold. */
  readonly handled: boolean;
  /** What to set where it does not hold. */
  readonly setting: string | null;
}

/** Decides every assumption. What cannot be looked at, because a request failed or there is none of it, is undecidable. */
export function decide(observations: Observations): Proof[] {
  const seen = new Seen(observations);
  const decided: Readonly<Record<string, (seen: Seen) => Finding | undefined>> = deciders;
  return sections.flatMap(({ about, open, unhandled = [], settings = {}, points }) =>
    Object.entries(points).map(([id, text]) => {
      const [, statement = '', otherwise = ''] = /^\*\*(.+?)[.:;,]?\*\*\s*(.*)$/.exec(text) ?? [];
      const finding = decided[id]?.(seen);
      const entry = { id, statement, section: about, otherwise, handled: !unhandled.includes(id) };
      const setting = settings[id] ?? null;
      const nothing = decided[id] ? 'nothing here shows it' : open;
      if (finding && finding.against.length > 0)
        return { ...entry, verdict: 'contradicted', evidence: finding.against.join('; '), setting };
      if (!finding?.checked) return { ...entry, verdict: 'undecidable', evidence: nothing, setting: null };
      return { ...entry, verdict: 'confirmed', evidence: `${finding.checked} looked at`, setting: null };
    }),
  );
}
