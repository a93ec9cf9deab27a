import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Priority } from './types.js';

export type Kind = 'bug' | 'wish' | 'question' | 'deal' | 'praise';
type ByKind = Readonly<Record<Kind, readonly string[]>>;

/** A part of the product, with what customers report, ask and want for it. */
export interface Area {
  readonly name: string;
  readonly keywords: readonly string[];
  /** Clauses: "it looks like {bug}". */
  readonly bugs: readonly string[];
  /** Noun phrases: "we would love {wish}". */
  readonly wishes: readonly string[];
  /** Clauses after "can someone explain": "how to …". */
  readonly questions: readonly string[];
}

interface TopicTexts {
  readonly kinds: Readonly<Record<Kind, KindOfTopic>>;
  readonly reporters: readonly string[];
  readonly places: readonly string[];
  readonly extraKeywords: readonly string[];
  /** Words that begin a title and keep their capital letter inside a sentence. */
  readonly properNouns: readonly string[];
  /** Titles that spreadsheets, shells and web pages may misinterpret. */
  readonly awkwardTitles: readonly string[];
  readonly scores: Readonly<Record<Priority, { readonly weight: number; readonly reason: string }>>;
  readonly summaryNews: readonly string[];
  readonly archiveReasons: readonly (string | null)[];
  /** Offers that prospects ask for: "could you send a quote for {deal}". */
  readonly deals: readonly string[];
  readonly areas: readonly Area[];
}

interface KindOfTopic {
  readonly weight: number;
  /** The document shows only `bug_report` (Topic), the others are assumed. */
  readonly issueType: string;
  /** From which the kind can be read again. The title of a bug or question is its clause alone. */
  readonly titlePrefix: string;
  readonly summary: string;
  readonly summaryEnds: readonly string[];
  /** What distinguishes reports of the same problem. */
  readonly circumstances: readonly string[];
}

interface MessageTexts {
  readonly openers: ByKind;
  readonly details: ByKind;
  readonly echoes: ByKind;
  readonly answers: ByKind;
  readonly notes: readonly string[];
  readonly thanks: readonly string[];
  readonly botLines: readonly string[];
  readonly greetings: readonly string[];
  /** Sentences that may follow the main sentence of an opener. */
  readonly effects: readonly string[];
  readonly foreign: readonly string[];
  /** Content that careless programs handle wrongly: markup, code, quotes, formulas, combining marks. */
  readonly awkward: readonly string[];
  readonly slots: Readonly<Record<string, readonly string[]>>;
  readonly edits: readonly string[];
  readonly groupTitles: readonly string[];
}

/** The properties of a source system. `weight` is its share of channels and of people's accounts. */
export interface Source {
  readonly name: string;
  readonly weight: number;
  readonly messageType: string;
  /** Whether an answer belongs to the thread of the first message of its conversation. */
  readonly threads: boolean;
  /** Whether staff may leave notes that the customer does not see. */
  readonly notes: boolean;
  readonly reactions: boolean;
}

interface OrganizationTexts {
  /** The name of the organization, its own company and its product. */
  readonly name: string;
  readonly domain: string;
  readonly slug: string;
  /** The name of the service's own agent; the document leaves out its exact value (Story). */
  readonly agent: string;
  readonly sources: readonly Source[];
  /** By their normalized names; custom ones have no unicode. */
  readonly reactions: readonly { readonly identifier: string; readonly unicode: string | null }[];
  readonly channels: readonly { readonly source: string; readonly name: string; readonly context: string }[];
  readonly templates: readonly {
    readonly name: string;
    readonly prompt: string;
    readonly schedule: Readonly<Record<string, unknown>>;
  }[];
  readonly people: Readonly<
    Record<'bots' | 'mailDomains' | 'ecosystemTags' | 'expertiseTags', readonly string[]>
  >;
  readonly stories: {
    readonly titles: readonly string[];
    readonly archiveReasons: readonly (string | null)[];
    readonly labels: Readonly<Record<string, string>>;
    readonly rationales: readonly string[];
  };
}

function load<T>(name: string): T {
  return parse(readFileSync(new URL(`./texts/${name}.yaml`, import.meta.url), 'utf8')) as T;
}

/** The prose of the generated organization, each file read once. */
export const topicTexts = load<TopicTexts>('topics');
export const messageTexts = load<MessageTexts>('messages');
export const organizationTexts = load<OrganizationTexts>('organization');
