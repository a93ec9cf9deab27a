import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../../src/serve/notify/deliver.js';
import { webhook, webhookProblem } from '../../../../src/serve/notify/webhook.js';
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
  let server: Server;
  let url: string;
  let heard: unknown[];

  beforeEach(async () => {
    heard = [];
    server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      heard.push(JSON.parse(body));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  it('is text for Slack, in which nothing is markup', async () => {
    await webhook({ url })(message, new AbortController().signal);
    const { from, title, ...rest } = message;
    const text = '[Acme &lt;b&gt;] job nightly failed: &lt;!channel&gt; &amp; [a link](https://evil.example)';
    expect(heard).toEqual([{ ...rest, text }]);
  });

  it('is plain JSON for programs, every part as it is', async () => {
    await webhook({ url, format: 'json' })(message, new AbortController().signal);
    const text = '[Acme <b>] job nightly failed: <!channel> & [a link](https://evil.example)';
    expect(heard).toEqual([{ ...message, text }]);
  });

  it('is an adaptive card for Microsoft Teams, in which nothing is Markdown', async () => {
    await webhook({ url, format: 'teams' })(message, new AbortController().signal);
    const [card] = heard as [{ type: string; attachments: { contentType: string; content: CardContent }[] }];
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
