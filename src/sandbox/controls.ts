import type { FastifyInstance, FastifyPluginAsync } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type Change, changeKinds } from './colleague.js';
import { type DriftRule, driftRule } from './drift.js';
import { type FaultRuleInput, faultRule } from './faults.js';
import { CostTracker } from './least-cost.js';
import type { Service } from './service.js';
import { companyOf } from './wire/companies.js';
import { channelOf, storyOf } from './wire/organization.js';
import { personOf } from './wire/people.js';
import type { Renderer } from './wire/renderer.js';
import { topicOf } from './wire/topics.js';
import { defaultDay } from './world/advance.js';
import type { DayShape } from './world/types.js';

const hidden = { hide: true };

/** `/__sandbox/*`: controls for tests and demos. They need no key, have no limit and are not part of `/v1`. */
export function controls(service: Service): FastifyPluginAsync {
  return async (app) => {
    app.setValidatorCompiler(validatorCompiler);
    statistics(app, service);
    faults(app, service);
    drift(app, service);
    events(app, service);
    leastCost(app, service);
    app.post('/clock', { schema: { ...hidden, body: z.strictObject({ skewMs: z.number() }) } }, (request) => {
      service.clock.skew((request.body as { skewMs: number }).skewMs);
      return { now: new Date(service.clock.now()).toISOString() };
    });
    const state = z.object({ full: z.enum(['true', 'false', '']).optional() });
    app.get('/state', { schema: { ...hidden, querystring: state } }, (request) => {
      const { full } = request.query as z.infer<typeof state>;
      return stateOf(service.tenant.renderer, full === 'true' || full === '');
    });
  };
}

function statistics(app: FastifyInstance, service: Service): void {
  app.get('/stats', { schema: hidden }, () => service.stats.read());
  app.post('/stats/reset', { schema: hidden }, () => {
    service.stats.reset();
    return service.stats.read();
  });
  app.get('/writes', { schema: hidden }, () => ({
    writes: service.stats.writes,
    applied: service.stats.applied(),
  }));
}

/** Changes in the organization that are not made through the API. */
function events(app: FastifyInstance, service: Service): void {
  const share = z.number().min(0).max(1);
  const day = z.strictObject({
    days: z.number().int().min(0).default(1),
    shape: z.partialRecord(z.enum(Object.keys(defaultDay) as (keyof DayShape)[]), share).default({}),
  });
  app.post(
    '/advance',
    { schema: { ...hidden, body: z.preprocess((given) => given ?? {}, day) } },
    (request) => {
      const { days, shape } = request.body as z.infer<typeof day>;
      const counts = service.advance(days, shape);
      return { now: new Date(service.world.now).toISOString(), counts };
    },
  );
  const change = z.looseObject({ kind: z.enum(changeKinds) });
  app.post('/change', { schema: { ...hidden, body: change } }, (request) => ({
    result: service.change(request.body as Change),
    now: new Date(service.world.now).toISOString(),
  }));
}

/** The requests that a client needs at the least: for everything at the mark, and for what changed since. */
function leastCost(app: FastifyInstance, service: Service): void {
  const tracker = new CostTracker(service);
  app.post('/mark', { schema: hidden }, () => tracker.mark());
  app.get('/changed', { schema: hidden }, () => tracker.changed());
}

function faults(app: FastifyInstance, service: Service): void {
  const body = z.strictObject({ rules: z.array(faultRule), replace: z.boolean().default(false) });
  app.get('/faults', { schema: hidden }, () => ({ faults: service.faults.list() }));
  app.post('/faults', { schema: { ...hidden, body } }, (request) => {
    const { replace, rules } = request.body as { replace: boolean; rules: FaultRuleInput[] };
    if (replace) service.faults.clear();
    service.faults.add(rules);
    return { faults: service.faults.list() };
  });
  app.delete('/faults', { schema: hidden }, () => {
    service.faults.clear();
    return { faults: [] };
  });
}

/** Lists that change while they are read; see drift.ts. An empty body is the rule with its defaults. */
function drift(app: FastifyInstance, service: Service): void {
  const body = z.preprocess((given) => given ?? {}, driftRule);
  app.get('/drift', { schema: hidden }, () => service.drift.read());
  app.post('/drift', { schema: { ...hidden, body } }, (request) => {
    service.drift.start(request.body as DriftRule);
    return service.drift.read();
  });
  app.delete('/drift', { schema: hidden }, () => {
    service.drift.stop();
    return service.drift.read();
  });
}

/**
 * The state of the organization, to compare a client's copy with: the ids of every resource, and with `full` each
 * entity as its detail endpoint answers it.
 */
function stateOf(renderer: Renderer, full: boolean) {
  const { world } = renderer;
  return {
    now: new Date(world.now).toISOString(),
    organization: world.organization,
    ids: {
      topics: [...world.topics.keys()],
      migratedTopics: [...world.topics.values()].filter((topic) => topic.migrated).map(({ id }) => id),
      supersededTopics: [...world.topics.values()]
        .filter((topic) => topic.graphStatus === 'superseded')
        .map(({ id }) => id),
      groups: [...world.groups.keys()],
      messages: [...world.messages.keys()],
      authors: [...world.authors.keys()],
      people: [...world.people.keys()],
      companies: [...world.companies.keys()],
      channels: [...world.channels.keys()],
      stories: [...world.stories.keys()],
      templates: [...world.templates.keys()],
      automations: [...world.automations.keys()],
    },
    ...(full ? { items: itemsOf(renderer) } : {}),
  };
}

function itemsOf(renderer: Renderer) {
  const { world } = renderer;
  return {
    topics: [...world.topics.values()].map((topic) => topicOf(renderer, topic)),
    people: [...world.people.values()].map((person) => personOf(renderer, person)),
    companies: [...world.companies.values()].map((company) => companyOf(renderer, company)),
    channels: [...world.channels.values()].map((channel) => channelOf(renderer, channel)),
    stories: [...world.stories.values()].map((story) => storyOf(story)),
    templates: [...world.templates.values()],
    automations: [...world.automations.values()].map(({ body }) => body),
  };
}
