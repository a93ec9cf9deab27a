import type { FastifyPluginAsync } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type FaultRuleInput, faultRule } from './faults.js';
import type { Service } from './service.js';
import { type Change, changeKinds } from './world/changes/index.js';
import { dayShape } from './world/types.js';

const days = z.strictObject({ days: z.number().int().min(0).default(1), shape: dayShape.prefault({}) });
const rules = z.strictObject({ rules: z.array(faultRule), replace: z.boolean().default(false) });
const change = z.looseObject({ kind: z.enum(changeKinds) });

/** A body that may be left out when every field has a default. */
const optional = (body: z.ZodType) => z.preprocess((given) => given ?? {}, body);

/** `/__sandbox/*`: controls for tests and demos. They need no key, have no limit and are not part of `/v1`. */
export function controls(service: Service): FastifyPluginAsync {
  const { faults, stats, world } = service;
  return async (app) => {
    app.setValidatorCompiler(validatorCompiler);
    app.addHook('onRoute', (route) => {
      route.schema = { ...route.schema, hide: true };
    });

    app.get('/stats', () => stats.read());

    app.get('/faults', () => ({ faults: faults.list() }));
    app.post('/faults', { schema: { body: rules } }, (request) => {
      const given = request.body as { replace: boolean; rules: FaultRuleInput[] };
      if (given.replace) faults.clear();
      faults.add(given.rules);
      return { faults: faults.list() };
    });

    app.post('/advance', { schema: { body: optional(days) } }, (request) => {
      const given = request.body as z.infer<typeof days>;
      service.advance(given.days, given.shape);
      return { now: new Date(world.now).toISOString() };
    });
    app.post('/change', { schema: { body: change } }, (request) => {
      const result = service.change(request.body as Change);
      return { result, now: new Date(world.now).toISOString() };
    });
  };
}
