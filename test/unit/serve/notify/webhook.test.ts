import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../../src/serve/notify/deliver.js';
import { webhook, webhookProblem } from '../../../../src/serve/notify/webhook.js';
import { type RawServer, rawServer } from '../../../support/raw-server.js';
import { now } from '../serving.js';

const message: Message = {
  event: 'failed',
  kind: 'job',
  subject: 'nightly',
  from: 'Acme <b>',
  title: 'job nightly failed',
  detail: '<!channel> & [a link](https://evil.example)',
  since: new Date(now).toISOString(),
};

describe('the form of a message', () => {
  let server: RawServer;
  beforeEach(async () => {
    server = await rawServer((response) => void response.end());
  });
  afterEach(() => server.close());
  const send = (format?: 'json' | 'teams') =>
    webhook({ url: server.baseUrl, ...(format && { format }) })(message, new AbortController().signal);
  const heard = () => server.requests.map(({ body }) => JSON.parse(body));

  it('is text for Slack, in which nothing is markup', async () => {
    await send();
    const { from, title, ...rest } = message;
    const text = '[Acme &lt;b&gt;] job nightly failed: &lt;!channel&gt; &amp; [a link](https://evil.example)';
    expect(heard()).toEqual([{ ...rest, text }]);
  });

  it('is plain JSON for programs, every part as it is', async () => {
    await send('json');
    const text = '[Acme <b>] job nightly failed: <!channel> & [a link](https://evil.example)';
    expect(heard()).toEqual([{ ...message, text }]);
  });

  it('is an adaptive card for Microsoft Teams, in which nothing is Markdown', async () => {
    await send('teams');
    const [card] = heard() as [
      { type: string; attachments: { contentType: string; content: CardContent }[] },
    ];
    expect(card.type).toBe('message');
    expect(card.attachments).toHaveLength(1);
    const [{ contentType, content }] = card.attachments as [(typeof card.attachments)[number]];
    expect(contentType).toBe('application/vnd.microsoft.card.adaptive');
    expect(content).toMatchObject({ type: 'AdaptiveCard', version: '1.4' });
    // Teams renders Markdown in a TextBlock, and none in a TextRun.
    expect(content.body.map(({ type }) => type)).toEqual(Array(3).fill('RichTextBlock'));
    expect(content.body.flatMap(({ inlines }) => inlines.map(({ text }) => text))).toEqual([
      '[Acme <b>] job nightly failed',
      message.detail,
      `since ${message.since}`,
    ]);
  });
});

interface CardContent {
  readonly body: { readonly type: string; readonly inlines: { readonly text: string }[] }[];
}

describe('the address', () => {
  it.each(['https://hooks.example.com/services/T0/B0/x', 'http://localhost:9/x', 'http://[::1]/x'])(
    'may be %s',
    (address) => {
      expect(webhookProblem(address)).toBeUndefined();
    },
  );

  it.each(['http://hooks.example.com/SECRET', 'file:///SECRET', 'SECRET', 'https://a:SECRET@b.example/'])(
    'may not be %s, which is not repeated',
    (address) => {
      expect(webhookProblem(address)).toMatch(/^must /);
      expect(webhookProblem(address)).not.toContain('SECRET');
    },
  );
});
