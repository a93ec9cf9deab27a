import type { Network, Sent, Served } from './network.js';

/**
 * How a service behaves that is no single server: replicas that lag behind, writes that are accepted and made later, texts that are
 * stored in another form, and colleagues who work between two requests of a push.
 */
export type Meddling = 'lagging' | 'late' | 'among';

type Handling = Network['handling'];

export class Meddler {
  /** What it does with the requests of the next command; null for nothing. */
  how: Meddling | null = null;
  /** Told of a change of a topic right before it is made: a colleague may be faster. */
  beforeWrite: (key: string, topicId: string, fields: Readonly<Record<string, unknown>>) => void = () =>
    undefined;
  /** The keys of the writes that were accepted and made later. */
  readonly lateKeys = new Set<string>();
  /** The keys of the writes whose reads may have lagged behind. */
  readonly laggedKeys = new Set<string>();
  readonly #late: { readonly sent: Sent; readonly serve: (sent: Sent) => Promise<Served> }[] = [];
  /** The last different answers about topics, by path, the oldest first. */
  readonly #answers = new Map<string, Buffer[]>();

  /** Makes what was accepted before. Between two commands no time passes: an answer that a fault holds back never comes. */
  async makeLate(): Promise<void> {
    for (const { sent, serve } of this.#late.splice(0)) {
      const givenUp = new AbortController();
      let isServed = false;
      const served = serve({ ...sent, signal: givenUp.signal }).finally(() => {
        isServed = true;
      });
      for (let turn = 0; turn < 1_000 && !isServed; turn += 1)
        await new Promise<void>((resolve) => setImmediate(resolve));
      givenUp.abort();
      await served;
    }
  }

  readonly handle: Handling = async (given, serve) => {
    const sent = normalised(given);
    const key = sent.headers['idempotency-key'];
    const [, topicId] = /^\/v1\/topics(?:\/([^/?]+))?(?:\?|$)/.exec(sent.path) ?? [];
    if (sent.method === 'PATCH' && key !== undefined) {
      if (this.how === 'among' && topicId !== undefined)
        this.beforeWrite(key, topicId, JSON.parse(String(sent.body)) as Record<string, unknown>);
      if (this.how === 'lagging') this.laggedKeys.add(key);
      if (this.how === 'late') return this.#accepted(sent, key, serve);
    }
    const answer = await serve(sent);
    const isRead =
      sent.method === 'GET' && sent.path.startsWith('/v1/topics') && !/\/topics\/[^/]+\//.test(sent.path);
    if (!isRead || typeof answer === 'string' || answer.statusCode !== 200) return answer;
    const answers = this.#answers.get(sent.path) ?? [];
    if (!answers.at(-1)?.equals(answer.rawPayload))
      this.#answers.set(sent.path, [...answers, answer.rawPayload].slice(-2));
    const [older] = answers;
    if (this.how !== 'lagging' || older === undefined) return answer;
    const headers = { ...answer.headers, 'content-length': String(older.length) };
    return { ...answer, headers, rawPayload: older };
  };

  #accepted(sent: Sent, key: string, serve: (sent: Sent) => Promise<Served>): Served {
    this.lateKeys.add(key);
    this.#late.push({ sent, serve });
    const rawPayload = Buffer.from('{}');
    const headers = { 'content-type': 'application/json', 'content-length': String(rawPayload.length) };
    return { statusCode: 202, headers, rawPayload };
  }
}

/** A request as a service stores it that keeps no two spaces in a row. */
function normalised(sent: Sent): Sent {
  if (sent.method !== 'PATCH' || sent.body === null) return sent;
  const text = sent.body.toString().replaceAll(/(?<=[^\s"]) {2,}(?=[^\s"])/g, ' ');
  if (text === sent.body.toString()) return sent;
  const body = Buffer.from(text);
  const length = 'content-length' in sent.headers ? { 'content-length': String(body.length) } : {};
  return { ...sent, body, headers: { ...sent.headers, ...length } };
}
