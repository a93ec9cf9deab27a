import type { Sandbox } from '../../src/sandbox/start.js';
import { companyItemJson } from '../../src/sandbox/wire/companies.js';
import { channelOf, storyItem } from '../../src/sandbox/wire/organization.js';
import { personItemJson } from '../../src/sandbox/wire/people.js';
import { Renderer } from '../../src/sandbox/wire/renderer.js';
import { topicItemJson } from '../../src/sandbox/wire/topics.js';
import { listedTopics } from './expected/topics.js';

/** The items of every list at one moment, as text. */
export class ListItems {
  constructor(readonly texts: ReadonlyMap<string, string>) {}

  /** What is new in its list, says something else of itself, or is not listed any more. */
  movedSince(before: ListItems): Set<string> {
    const moved = new Set<string>();
    for (const [id, text] of this.texts) if (before.texts.get(id) !== text) moved.add(id);
    for (const id of before.texts.keys()) if (!this.texts.has(id)) moved.add(id);
    return moved;
  }
}

/** What the lists show now, without the copies of people and companies in it. */
export function listItems({ world }: Sandbox): ListItems {
  const renderer = new Renderer(world, { signedUrls: false });
  const bare = (json: string) => {
    const { authors: _, persons: __, company, ...own } = JSON.parse(json);
    return JSON.stringify({ ...own, companyId: company?.id });
  };
  return new ListItems(
    new Map([
      ...listedTopics(renderer).map((topic) => [topic.id, bare(topicItemJson(renderer, topic))] as const),
      ...[...world.companies.values()].map((one) => [one.id, bare(companyItemJson(renderer, one))] as const),
      ...[...world.people.values()].map((one) => [one.id, bare(personItemJson(renderer, one))] as const),
      ...[...world.channels.values()].map(
        (one) => [one.id, JSON.stringify(channelOf(renderer, one))] as const,
      ),
      ...[...world.stories.values()].map((one) => [one.slug, JSON.stringify(storyItem(one))] as const),
    ]),
  );
}
