import { join } from 'node:path';
import { makeFolder } from '../../base/atomic-file.js';
import { iso, systemClock } from '../../base/clock.js';
import { ExitCode, messageOf, type Problem } from '../../base/errors.js';
import type { Config, ServeConfig } from '../../config/load.js';
import { recordExport, refuseUnrecorded } from '../../privacy/audit.js';
import { DeliveryError, type Message } from '../../serve/notify/deliver.js';
import type { Job } from '../../serve/schedule/job.js';
import type { JobResult } from '../../serve/schedule/record.js';
import { writeSheetFile } from '../../sheet/write.js';
import { makeDigest, nextAfterDigest } from '../report.js';
import type { Access } from '../setup.js';
import { channelsOf } from './channels.js';

/** The digest as a job: it reads one published file, and goes to the people and the channel that the job names. */

type Sending = Access & Pick<ServeConfig, 'readSecrets'>;

/**
 * Makes the digest since the last one that was sent, sends it, and keeps it in reports/NAME of the data directory. Where it
 * cannot be sent, the one before is kept, so that the next begins where that one ends; who got it then gets it again.
 */
export async function sendDigest(access: Sending, job: Job, stop: AbortSignal): Promise<JobResult> {
  const { config, clock = systemClock } = access;
  refuseUnrecorded(access);
  const dir = join(config.dataDir, 'reports', job.name);
  makeFolder(dir);
  const path = join(dir, 'digest.html');
  const { title, text, html, asOf } = await makeDigest(access, {
    since: await nextAfterDigest(path),
    file: job.file,
  });
  if (asOf === null) return { outcome: 'done', exitCode: ExitCode.done, message: 'there are no data yet' };
  const message: Message = {
    event: 'digest',
    kind: 'digest',
    subject: job.name,
    from: config.organization ?? 'Signalhouse',
    title,
    detail: text,
    html,
    since: iso(clock.now()),
  };
  const sent: string[] = [];
  const failures: string[] = [];
  const posts = job.webhook === true && access.readSecrets().secrets.webhookUrl !== undefined;
  for (const { name, deliver } of channelsOf(access, { webhook: posts, to: job.to ?? null })) {
    try {
      const note = await deliver(message, stop);
      if (note !== null) failures.push(`${name}: ${note}`);
      sent.push(name);
    } catch (error) {
      failures.push(`${name}: ${error instanceof DeliveryError ? messageOf(error) : 'it could not be sent'}`);
    }
  }
  recordExport(
    access,
    { tables: ['digest'], format: 'html', rows: 0, file: [path, ...(job.to ?? [])].join(', ') },
    job.name,
  );
  if (failures.length === 0) await writeSheetFile(path, { overwrite: true }, (file) => file.writeFile(html));
  const outcome = failures.length === 0 ? 'done' : 'incomplete';
  const missed = `the digest did not arrive everywhere, and is sent again with the next: ${failures.join('; ')}`;
  const to = sent.length === 0 ? '' : `; sent by ${sent.toSorted().join(' and ')}`;
  return { outcome, exitCode: ExitCode[outcome], message: `${outcome === 'done' ? path : missed}${to}` };
}

/** Problems of the jobs that make digests, and of such settings of other jobs; `named` tells how the user gave each. */
export function digestProblems(
  { serve, publish }: Config,
  { webhookUrl }: ServeConfig['secrets'],
  named: (path: string) => string,
): Problem[] {
  const files = ['signals.duckdb', ...publish.also.map(({ file }) => file)];
  return serve.jobs.flatMap((job, at) => {
    const problem = (field: 'to' | 'webhook' | 'file', text: string) => ({
      setting: named(`serve.jobs[${at}].${field}`),
      problem: text,
    });
    if (job.run !== 'digest')
      return (['to', 'webhook', 'file'] as const).flatMap((field) =>
        job[field] === undefined ? [] : [problem(field, 'is for a job that runs digest')],
      );
    return [
      ...(job.file !== undefined && !files.includes(job.file)
        ? [problem('file', `${job.file} is not published; the files are ${files.join(', ')}`)]
        : []),
      ...(job.to && serve.notify.email.server === undefined
        ? [problem('to', 'needs serve.notify.email.server, which sends it')]
        : []),
      ...(job.webhook && webhookUrl === undefined
        ? [problem('webhook', 'needs SIGNALHOUSE_WEBHOOK_URL, where it is posted')]
        : []),
    ];
  });
}
