import { fetchThroughProxy } from '../../api/transport.js';
import { systemClock } from '../../base/clock.js';
import type { ServeConfig } from '../../config/load.js';
import type { Deliver } from '../../serve/notify/deliver.js';
import { email } from '../../serve/notify/email.js';
import { webhook } from '../../serve/notify/webhook.js';
import type { Access } from '../setup.js';

/** A way to reach people, for notifications and for a digest. */
export interface Channel {
  readonly name: 'webhook' | 'e-mail';
  readonly deliver: Deliver;
}

/**
 * The webhook, if it is wanted, and e-mail to these addresses, if there is a server for it; null for no e-mail. The secrets are
 * read for each message: they may have been replaced since the start.
 */
export function channelsOf(
  { config, readSecrets, clock = systemClock }: Access & Pick<ServeConfig, 'readSecrets'>,
  wanted: { readonly webhook: boolean; readonly to: string[] | null },
): Channel[] {
  const { webhookFormat: format, email: settings } = config.serve.notify;
  const { server } = settings;
  const { to } = wanted;
  const read = () => readSecrets().secrets;
  const channels: Channel[] = [];
  if (wanted.webhook)
    channels.push({
      name: 'webhook',
      deliver: (...message) =>
        webhook({ url: read().webhookUrl ?? '', format, clock, send: fetchThroughProxy })(...message),
    });
  if (server !== undefined && to !== null)
    channels.push({
      name: 'e-mail',
      deliver: (...message) =>
        email({ settings: { ...settings, server, to }, password: read().smtpPassword, clock })(...message),
    });
  return channels;
}
