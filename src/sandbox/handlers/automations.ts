import { randomUUID } from 'node:crypto';
import type { BodyOf } from '../../contract/endpoints.js';
import { HttpError, invalid } from '../errors.js';
import type { OutputDestination } from '../options.js';
import { iso } from '../wire/renderer.js';
import { answer, type Call, type Handlers } from './call.js';

type NewAutomation = BodyOf<'create_automation'>;
type Schedule = NewAutomation['schedule'];

/** The document does not show the list of event names: names like `github.pull_request.opened` are accepted. */
const eventName = /^[a-z0-9_]+(?:\.[a-z0-9_]+)+$/;
const pullRequestEvent = /^github\.pull_request(?:\.|$)/;
const millisecondsOf = { hours: 3_600_000, minutes: 60_000 } as const;

export const writeAutomations: Pick<Handlers, 'create_automation'> = {
  create_automation: (call) => {
    if (call.principal.key.kind === 'jwt') {
      throw new HttpError(403, 'This endpoint accepts organization API keys only, not a service JWT');
    }
    const { body, world } = call;
    checkSchedule(body.schedule);
    checkTimezone(body.timezone);
    if (body.templateSlug !== undefined && !world.templates.has(body.templateSlug)) {
      throw invalid(`templateSlug: automation template ${body.templateSlug} does not exist`);
    }
    const automation = automationOf(body, destinationOf(call), world.now);
    world.automations.set(automation.id, { id: automation.id, body: automation });
    return answer(automation, [{ type: 'automation', id: automation.id, fields: Object.keys(body) }]);
  },
};

function automationOf(body: NewAutomation, destination: OutputDestination, now: number) {
  const enabled = body.enabled ?? true;
  const capabilityMode = body.capabilityMode ?? 'all';
  return {
    id: randomUUID() as string,
    name: body.name,
    prompt: body.prompt,
    schedule: body.schedule,
    timezone: body.timezone,
    enabled,
    status: enabled ? 'healthy' : 'paused',
    modelLevel: body.modelLevel ?? 'med',
    capabilityMode,
    allowedCapabilities: capabilityMode === 'custom' ? (body.allowedCapabilities ?? null) : null,
    templateSlug: body.templateSlug ?? null,
    outputChannels: [destination],
    createdAt: iso(now),
    updatedAt: iso(now),
    lastAttemptAt: null,
    lastRunAt: null,
    nextRunAt: enabled ? nextRun(body.schedule, now) : null,
    lastErrorMessage: null,
  };
}

/** Only for a single time and for intervals. The other schedules need a scheduler, which the sandbox does not have. */
function nextRun(schedule: Schedule, now: number): string | null {
  if ('at' in schedule) return schedule.at;
  return 'n' in schedule ? iso(now + schedule.n * millisecondsOf[schedule.unit]) : null;
}

function checkSchedule(schedule: Schedule): void {
  if ('n' in schedule && schedule.n < 1) throw invalid('schedule.n must be at least 1');
  if (!('events' in schedule)) return;
  const unknown = schedule.events.filter((event) => !eventName.test(event));
  if (unknown.length > 0)
    throw invalid(`schedule.events: not a registered event name: ${unknown.join(', ')}`);
  if (schedule.targetBranches && !schedule.events.every((event) => pullRequestEvent.test(event))) {
    throw invalid('schedule.targetBranches is valid only when every event is a GitHub pull-request event');
  }
}

function checkTimezone(timezone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch {
    throw invalid(`timezone: ${timezone} is not an IANA time zone`);
  }
}

/** The channel that the request names, or else the organization's default. @throws HttpError 400 without either */
function destinationOf({ body, service, world }: Call<'create_automation'>): OutputDestination {
  const { sourceName, sourceChannelId } = body;
  if (sourceName !== undefined && sourceChannelId !== undefined) {
    const channel = [...world.channels.values()].find(
      (one) => one.sourceName === sourceName && one.sourceChannelId === sourceChannelId && one.isConnected,
    );
    if (!channel)
      throw invalid(`No connected ${sourceName} channel ${sourceChannelId} to send the output to`);
    return { channel: sourceName, destinations: [sourceChannelId], mode: 'specific' };
  }
  if (!service.settings.defaultDestination)
    throw invalid('The organization has no default output destination');
  return service.settings.defaultDestination;
}
