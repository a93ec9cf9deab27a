import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Priority } from './types.js';

/** The prose of the generated organization, from the files in `texts`, which say what each part is. */

export type Kind = 'bug' | 'wish' | 'question' | 'deal' | 'praise';
type Texts = readonly string[];

/** A part of the product, with what customers report, ask and want for it. */
export type Area = { readonly name: string } & Readonly<
  Record<'keywords' | 'bugs' | 'wishes' | 'questions', Texts>
>;

interface KindOfTopic {
  readonly weight: number;
  readonly issueType: string;
  readonly titlePrefix: string;
  readonly summary: string;
  readonly summaryEnds: Texts;
  readonly circumstances: Texts;
}

interface TopicTexts
  extends Readonly<Record<'reporters' | 'places' | 'extraKeywords' | 'awkwardTitles' | 'deals', Texts>> {
  readonly kinds: Readonly<Record<Kind, KindOfTopic>>;
  readonly scores: Readonly<Record<Priority, { readonly weight: number; readonly reason: string }>>;
  readonly archiveReasons: readonly (string | null)[];
  readonly areas: readonly Area[];
}

/** The role of a message: the first one, its author again, another customer, staff, an internal note, thanks, a bot. */
export type Role = 'opener' | 'detail' | 'echo' | 'answer' | 'note' | 'thanks' | 'bot';

interface MessageTexts
  extends Readonly<Record<'greetings' | 'effects' | 'foreign' | 'awkward' | 'edits', Texts>> {
  readonly roles: Readonly<Record<Role, Texts>>;
  readonly slots: Readonly<Record<string, Texts>>;
}

/** The properties of a source system. */
export interface Source {
  readonly name: string;
  readonly weight: number;
  readonly messageType: string;
  readonly threads: boolean;
  readonly notes: boolean;
  readonly reactions: boolean;
}

interface OrganizationTexts extends Readonly<Record<'name' | 'domain' | 'slug' | 'agent', string>> {
  readonly sources: readonly Source[];
  readonly reactions: readonly { readonly identifier: string; readonly unicode: string | null }[];
  readonly channels: readonly Readonly<Record<'source' | 'name' | 'context', string>>[];
  readonly templates: readonly {
    readonly name: string;
    readonly prompt: string;
    readonly schedule: object;
  }[];
  readonly people: Readonly<Record<'bots' | 'mailDomains' | 'ecosystemTags' | 'expertiseTags', Texts>>;
  readonly stories: {
    readonly titles: Texts;
    readonly archiveReasons: readonly (string | null)[];
    readonly labels: Readonly<Record<string, string>>;
    readonly rationales: Texts;
  };
}

function load<T>(name: string): T {
  return parse(readFileSync(new URL(`./texts/${name}.yaml`, import.meta.url), 'utf8')) as T;
}

export const topicTexts = load<TopicTexts>('topics');
export const messageTexts = load<MessageTexts>('messages');
export const organizationTexts = load<OrganizationTexts>('organization');
