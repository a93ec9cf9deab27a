import type { StoredTopic } from '../world/types.js';

/** Least similarity at which a topic is found at all. */
const threshold = 0.05;

/**
 * Ranks topics by how alike they are to a text, best first, with the similarity in 0..1. It stands in for semantic
 * search: the cosine of the letter trigrams of both.
 */
export function similarityTo(
  text: string,
  topics: readonly StoredTopic[],
): { topic: StoredTopic; similarity: number }[] {
  const wanted = trigrams(text);
  return topics
    .map((topic) => ({
      topic,
      similarity: cosine(wanted, trigrams(`${topic.title} ${topic.keywords.join(' ')} ${topic.summary}`)),
    }))
    .filter(({ similarity }) => similarity >= threshold)
    .sort((a, b) => b.similarity - a.similarity || (a.topic.id < b.topic.id ? -1 : 1));
}

function trigrams(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const letters = `  ${text.toLowerCase().split(/\s+/).join('  ')}  `;
  for (let at = 0; at + 3 <= letters.length; at += 1) {
    const trigram = letters.slice(at, at + 3);
    counts.set(trigram, (counts.get(trigram) ?? 0) + 1);
  }
  return counts;
}

/** Rounded to four places; never above 1, whatever floating point makes of two equal texts. */
function cosine(a: Map<string, number>, b: Map<string, number>): number {
  let shared = 0;
  for (const [trigram, count] of a) shared += count * (b.get(trigram) ?? 0);
  const size = Math.hypot(...a.values()) * Math.hypot(...b.values());
  return size === 0 ? 0 : Math.min(1, Math.round((shared / size) * 10_000) / 10_000);
}
