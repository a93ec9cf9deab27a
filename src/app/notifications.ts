import { join } from 'node:path';
import { type Clock, iso, systemClock } from '../base/clock.js';
import { messageOf, type Problem } from '../base/errors.js';
import type { Config, ServeConfig } from '../config/load.js';
import type { FactsCache } from '../serve/facts-cache.js';
import { type Deliver, DeliveryError, testMessage } from '../serve/notify/deliver.js';
import { email, emailProblems, hasEmail } from '../serve/notify/email.js';
import { Notifier } from '../serve/notify/notifier.js';
import { notifyState } from '../serve/notify/state.js';
import { webhook, webhookProblem } from '../serve/notify/webhook.js';
import { fileStore } from '../serve/store.js';
import { readFacts } from './facts.js';
import type { Setup } from './setup.js';

/** Where `serve` sends notifications: the channels of its settings. */

type Secrets = ServeConfig['secrets'];
type Named = (path: string) => string;

/** A way to notify people. Each channel remembers for itself what it has sent, in a file of its own. */
interface Channel {
  readonly name: 'webhook' | 'e-mail';
  readonly file: string;
  readonly deliver: Deliver;
}

/** The problems of the settings of the channels that the schema cannot find. */
export function notificationProblems({ serve }: Config, secrets: Secrets, named: Named): Problem[] {
  const { webhookUrl, smtpPassword } = secrets;
  const problem = webhookUrl === undefined ? undefined : webhookProblem(webhookUrl);
  return [
    ...(problem === undefined ? [] : [{ setting: 'SIGNALHOUSE_WEBHOOK_URL', problem }]),
    ...emailProblems(serve.notify.email, smtpPassword, named),
  ];
}

function channelsOf({ serve }: Config, { webhookUrl: url, smtpPassword }: Secrets, clock: Clock): Channel[] {
  const { webhookFormat: format, email: settings } = serve.notify;
  const channels: Channel[] = [];
  if (url !== undefined) {
    channels.push({ name: 'webhook', file: 'notify.json', deliver: webhook({ url, format, clock }) });
  }
  if (hasEmail(settings)) {
    const deliver = email({ settings, password: smtpPassword, clock });
    channels.push({ name: 'e-mail', file: 'notify-email.json', deliver });
  }
  return channels;
}

/** A notifier for each channel. */
export function notifiersOf({ config, log, clock }: Setup, secrets: Secrets, facts: FactsCache): Notifier[] {
  return channelsOf(config, secrets, clock ?? systemClock).map(
    ({ name, file, deliver }) =>
      new Notifier({
        ...{ name, deliver, facts, log, clock },
        store: fileStore(join(config.dataDir, file), notifyState, log),
      }),
  );
}

/** How the test of one channel ended. */
export interface TestedChannel {
  readonly channel: Channel['name'];
  readonly delivered: boolean;
  /** Why it did not arrive, or what was wrong although it did; null when all is well. */
  readonly problem: string | null;
}

/** `signalhouse serve --test-notification`: sends a test message to every channel of the settings. */
export async function testNotifications(
  setup: Setup,
  secrets: Secrets,
  stop: AbortSignal,
): Promise<TestedChannel[]> {
  const { clock = systemClock, config } = setup;
  const message = testMessage(await nameOf(setup), iso(clock.now()));
  return Promise.all(
    channelsOf(config, secrets, clock).map(async ({ name: channel, deliver }): Promise<TestedChannel> => {
      try {
        return { channel, delivered: true, problem: await deliver(message, stop) };
      } catch (error) {
        if (!(error instanceof DeliveryError)) throw error;
        return { channel, delivered: false, problem: messageOf(error) };
      }
    }),
  );
}

/** The organization, where one is published and can be read. */
async function nameOf(setup: Setup): Promise<string> {
  const facts = await readFacts(setup).catch(() => null);
  const organization = facts?.contents?.organization;
  return organization?.name ?? organization?.id ?? 'Signalhouse';
}
