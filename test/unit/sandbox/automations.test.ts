import { afterEach, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.js';
import { launch, type Sandbox } from '../../../src/sandbox/start.js';
import { call, type Reply } from './call-api.js';
import { smallWorld } from './small-world.js';

let sandbox: Sandbox;

async function start(options: SandboxOptions = {}): Promise<void> {
  sandbox = await launch(options, smallWorld().world);
}
afterEach(() => sandbox.stop());

const cron = { type: 'cron', expr: '0 9 * * 1' };

function create(fields: Record<string, unknown>): Promise<Reply> {
  return call(sandbox, '/automations', {
    body: { name: 'Digest', prompt: 'Sum up', schedule: cron, timezone: 'Europe/Berlin', ...fields },
  });
}

const event = (fields: object) => ({ schedule: { type: 'event', ...fields } });

describe('POST /automations', () => {
  it('fills in what is left out and sends output to the default destination', async () => {
    await start();
    expect((await create({})).body).toMatchObject({
      enabled: true,
      status: 'healthy',
      modelLevel: 'med',
      capabilityMode: 'all',
      allowedCapabilities: null,
      templateSlug: null,
      outputChannels: [{ channel: 'slack', mode: 'any-internal' }],
      lastErrorMessage: null,
    });
    expect(sandbox.world.automations.size).toBe(1);
  });

  it('accepts each of the five schedules, and no mixture', async () => {
    await start();
    const good: Record<string, unknown>[] = [cron, { type: 'rrule', rrule: 'FREQ=DAILY' }];
    good.push({ type: 'once', at: '2026-07-01T09:00:00Z' }, { type: 'every', n: 2, unit: 'hours' });
    good.push({ type: 'event', events: ['topic.created'], delaySeconds: 604_800 });
    for (const schedule of good)
      expect([schedule, (await create({ schedule })).status]).toEqual([schedule, 200]);
    const bad: Record<string, unknown>[] = [
      { type: 'cron' },
      { type: 'cron', expr: '' },
      { type: 'once', at: 'soon' },
    ];
    bad.push(
      { ...cron, n: 2 },
      { type: 'every', n: 1.5, unit: 'hours' },
      { type: 'every', n: 1, unit: 'days' },
    );
    for (const schedule of bad)
      expect([schedule, (await create({ schedule })).status]).toEqual([schedule, 400]);
  });

  it('limits events, their delay, and target branches to pull requests', async () => {
    await start();
    const many = Array.from({ length: 21 }, (_, n) => `topic.created_${n}`);
    const refused: object[] = [{ events: [] }, { events: many }, { events: ['No Such Event'] }];
    refused.push(
      { events: ['topic.created'], delaySeconds: 0 },
      { events: ['topic.created'], delaySeconds: 604_801 },
    );
    refused.push({ events: ['github.pull_request.opened', 'topic.created'], targetBranches: ['main'] });
    refused.push({ events: ['github.pull_request.opened'], targetBranches: [] });
    for (const fields of refused)
      expect([fields, (await create(event(fields))).status]).toEqual([fields, 400]);
    const branches = { events: ['github.pull_request.opened'], targetBranches: ['main', 'release/*'] };
    expect((await create(event(branches))).body.schedule).toMatchObject(branches);
    expect((await create(event({ events: many.slice(0, 20) }))).status).toBe(200);
  });

  it('limits the prompt to 130000 characters', async () => {
    await start();
    expect((await create({ prompt: '🐛'.repeat(65_000) })).status).toBe(200);
    expect((await create({ prompt: 'x'.repeat(130_001) })).status).toBe(400);
    expect((await create({ prompt: '' })).status).toBe(400);
  });

  it('sends output only to a connected channel that is named by both of its parts', async () => {
    await start();
    const output = await create({ sourceName: 'slack', sourceChannelId: 'source-support' });
    expect(output.body.outputChannels).toEqual([
      { channel: 'slack', destinations: ['source-support'], mode: 'specific' },
    ]);
    expect((await create({ sourceName: 'slack' })).status).toBe(400);
    expect((await create({ sourceChannelId: 'source-support' })).status).toBe(400);
    expect((await create({ sourceName: 'slack', sourceChannelId: 'nowhere' })).status).toBe(400);
    expect((await create({ sourceName: 'discord', sourceChannelId: 'source-left-behind' })).status).toBe(400);
  });

  it('fails without any destination', async () => {
    await start({ defaultDestination: null });
    expect((await create({})).status).toBe(400);
    expect((await create({ sourceName: 'slack', sourceChannelId: 'source-support' })).status).toBe(200);
  });

  it('refuses a time zone and a template that do not exist', async () => {
    await start();
    expect((await create({ timezone: 'Middle/Earth' })).status).toBe(400);
    expect((await create({ templateSlug: 'nowhere' })).status).toBe(400);
    expect((await create({ templateSlug: 'weekly-digest' })).body.templateSlug).toBe('weekly-digest');
  });

  it('returns the next run of a single time and of intervals, and none when it is disabled', async () => {
    await start();
    const at = '2026-07-01T09:00:00Z';
    expect((await create({ schedule: { type: 'once', at } })).body.nextRunAt).toBe(at);
    const { createdAt, nextRunAt } = (await create({ schedule: { type: 'every', n: 90, unit: 'minutes' } }))
      .body;
    expect(Date.parse(nextRunAt) - Date.parse(createdAt)).toBe(90 * 60_000);
    expect((await create({ enabled: false, schedule: { type: 'once', at } })).body).toMatchObject({
      status: 'paused',
      nextRunAt: null,
    });
  });
});
