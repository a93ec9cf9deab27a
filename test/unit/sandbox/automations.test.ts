import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { call, type Reply } from './call-api.js';
import { smallWorld } from './small-world.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await launch({ rate: { requests: 10_000 } }, smallWorld().world);
});
afterAll(() => sandbox.stop());

const cron = { type: 'cron', expr: '0 9 * * 1' };

function create(fields: Record<string, unknown>): Promise<Reply> {
  return call(sandbox, '/automations', {
    body: { name: 'Digest', prompt: 'Sum up', schedule: cron, timezone: 'Europe/Berlin', ...fields },
  });
}

const event = (fields: object) => ({ schedule: { type: 'event', ...fields } });
const many = Array.from({ length: 21 }, (_, n) => `topic.created_${n}`);
const pull = 'github.pull_request.opened';

describe('POST /automations', () => {
  it('fills in what is left out and sends output to the default destination', async () => {
    expect((await create({})).body).toMatchObject({
      ...{ enabled: true, status: 'healthy', modelLevel: 'med', capabilityMode: 'all', templateSlug: null },
      outputChannels: [{ channel: 'slack', mode: 'any-internal' }],
    });
  });

  it.each([
    { schedule: cron },
    { schedule: { type: 'rrule', rrule: 'FREQ=DAILY' } },
    { schedule: { type: 'once', at: '2026-07-01T09:00:00Z' } },
    { schedule: { type: 'every', n: 2, unit: 'hours' } },
    event({ events: ['topic.created'], delaySeconds: 604_800 }),
    event({ events: many.slice(0, 20) }),
    event({ events: [pull], targetBranches: ['main', 'release/*'] }),
    { sourceName: 'slack', sourceChannelId: 'source-support' },
  ])('accepts %j', async (fields) => {
    expect((await create(fields)).status).toBe(200);
  });

  it.each([
    { schedule: { type: 'cron' } },
    { schedule: { ...cron, n: 2 } },
    { schedule: { type: 'once', at: 'soon' } },
    { schedule: { type: 'every', n: 1.5, unit: 'hours' } },
    event({ events: [] }),
    event({ events: many }),
    event({ events: ['topic.created'], delaySeconds: 604_801 }),
    event({ events: [pull, 'topic.created'], targetBranches: ['main'] }),
    { prompt: '' },
    { sourceName: 'slack' },
    { sourceName: 'discord', sourceChannelId: 'source-left-behind' },
    { timezone: 'Middle/Earth' },
    { templateSlug: 'nowhere' },
  ])('refuses %j', async (fields) => {
    expect((await create(fields)).status).toBe(400);
  });
});
