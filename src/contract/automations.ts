import { z } from 'zod';
import { dateTime, freeForm, id, maybe, object, text, texts, when } from './fields.js';
import { holding } from './privacy.js';
import { bySlug, paging, type ResourceEntry } from './resource-entry.js';
import type { TableEntry } from './table-entry.js';

/**
 * Exactly one of five variants. Only the type value `cron` is shown; the others differ in their fields,
 * so any text is accepted (docs/assumptions.md).
 */
const schedule = z.union([
  z.strictObject({ type: z.string(), expr: z.string().min(1) }),
  z.strictObject({ type: z.string(), rrule: z.string().min(1) }),
  z.strictObject({ type: z.string(), at: dateTime }),
  z.strictObject({ type: z.string(), n: z.number().int(), unit: z.enum(['hours', 'minutes']) }),
  z.strictObject({
    type: z.string(),
    events: z.array(z.string()).min(1).max(20),
    delaySeconds: z.number().int().min(1).max(604_800).optional(),
    targetBranches: z.array(z.string()).min(1).optional(),
  }),
]);

const modelLevel = z.enum(['high', 'low', 'med']);
const capabilityMode = z.enum(['all', 'custom']);

/** `POST /automations`. sourceName and sourceChannelId are given together or not at all (rule 1). */
export const createAutomation = z
  .object({
    name: z.string().min(1),
    prompt: z.string().min(1).max(130_000),
    schedule,
    timezone: z.string().min(1),
    enabled: z.boolean().optional(),
    modelLevel: modelLevel.optional(),
    capabilityMode: capabilityMode.optional(),
    allowedCapabilities: z.array(z.string()).nullish(),
    templateSlug: z
      .string()
      .regex(/^[a-z0-9-]+$/)
      .optional(),
    sourceName: z.enum(['discord', 'slack']).optional(),
    sourceChannelId: z.string().min(1).optional(),
  })
  .refine((body) => (body.sourceName === undefined) === (body.sourceChannelId === undefined), {
    message: 'sourceName and sourceChannelId are given together or not at all',
  });

export const automation = object({
  id: id('record_id'),
  name: z.string(),
  prompt: z.string(),
  schedule: z.record(z.string(), z.unknown()),
  timezone: z.string(),
  enabled: z.boolean(),
  status: z.enum(['completed', 'error', 'healthy', 'paused']),
  modelLevel: maybe(modelLevel),
  capabilityMode: maybe(capabilityMode),
  allowedCapabilities: maybe(z.array(z.string())),
  templateSlug: text('none'),
  outputChannels: z.array(
    object({
      channel: z.enum(['discord', 'email', 'msteams', 'slack']),
      destinations: maybe(z.array(z.string())),
      mode: z.enum(['any-internal', 'any', 'specific']),
    }),
  ),
  createdAt: when,
  updatedAt: when,
  lastAttemptAt: when,
  lastRunAt: when,
  nextRunAt: when,
  lastErrorMessage: text('worker_note'),
});

/** `GET /automation-templates`: not shown. Only the slug, which the path of the single template names, is needed. */
export const automationTemplate = object({
  slug: holding('none', z.string().min(1)).describe("The API's name of the template."),
  name: text('template_text').describe('Name. NULL when the API has no field of this name.'),
  description: text('template_text').describe('Description. NULL when the API has no field of this name.'),
  prompt: text('template_text').describe(
    'Instructions that are executed on each run. NULL when the API has no field of this name.',
  ),
  schedule: freeForm('none').describe('Schedule as JSON. NULL when the API has no field of this name.'),
  timezone: text('none').describe(
    'Time zone of the schedule (IANA). NULL when the API has no field of this name.',
  ),
  modelLevel: text('none').describe('high, med or low. NULL when the API has no field of this name.'),
  capabilityMode: text('none').describe('all or custom. NULL when the API has no field of this name.'),
  allowedCapabilities: texts('none').describe(
    'Capability keys when the mode is custom. NULL means all, or that the API has no field of this name.',
  ),
  createdAt: when.describe('When it was created (UTC). NULL when the API has no field of this name.'),
  updatedAt: when.describe('When it was last updated (UTC). NULL when the API has no field of this name.'),
});

export const automationResources = {
  automation_templates: {
    parent: null,
    endpoint: {
      path: '/automation-templates',
      summary: 'Automation templates',
      query: paging,
      response: z.unknown(),
      documented: false,
    },
    item: automationTemplate,
    key: ['slug'],
    reads: 'pages',
    detail: 'automation_template',
    presence: null,
  },
  automation_template: {
    parent: 'automation_templates',
    endpoint: {
      path: '/automation-templates/{slug}',
      summary: 'One automation template',
      params: bySlug,
      response: automationTemplate,
      documented: false,
    },
    item: automationTemplate,
    answer: { form: 'object', under: 'template' },
    weight: 170,
    maxAgeDays: 30,
    changeFields: ['$.updatedAt', '$.name', '$.version', '$.schedule'],
    removedWithParent: false,
  },
} as const satisfies Record<string, ResourceEntry>;

export const automationTables = {
  automation_templates: {
    comment:
      'One row per automation template. Their fields are not documented: the columns are assumed from those of an automation, and body has everything that the API returned.',
    key: ['slug'],
    documents: ['automation_templates', 'automation_template'],
    ids: { id: 'slug' },
    // Two kinds of schedules must not become one.
    whole: ['schedule'],
    fields: [automationTemplate],
    columns: {
      body: {
        is: 'document',
        type: 'JSON',
        kind: 'document',
        comment:
          "The whole template, without fields that are null: the list's item and the answer by slug combined, the newer field wins.",
      },
    },
  },
} as const satisfies Record<string, TableEntry>;
