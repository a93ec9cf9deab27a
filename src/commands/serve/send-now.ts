import { systemClock } from '../../base/clock.js';
import { StoppedError } from '../../base/errors.js';
import { LoggedProgress, speedOf } from '../../run/progress.js';
import type { Scheduler } from '../../serve/schedule/scheduler.js';
import { pushConfirmed } from '../push.js';
import type { Access } from '../setup.js';
import { withWarehouse } from '../worker.js';
import type { SendNow } from './sheets.js';

/** The least time between publications after changes that were sent at once. */
const publishEveryMs = 5 * 60_000;

/** The longest wait for an API that does not answer: the rest goes out with the next push. */
const maxMinutes = 2;

/**
 * Sends confirmed changes at once (`serve.sendAfterConfirm`). The page shows the results from the queue, so that one
 * publication may follow later, for all that was sent until then. After `stop`, the next run publishes.
 */
export function sendNow(
  access: Access,
  schedule: Pick<Scheduler, 'exclusively'>,
  stop: AbortSignal,
): SendNow {
  const { log, clock = systemClock } = access;
  let isPublishing = false;
  let lastAt = Number.NEGATIVE_INFINITY;

  async function publishLater(): Promise<void> {
    if (isPublishing) return;
    isPublishing = true;
    try {
      await clock.sleep(Math.max(0, lastAt + publishEveryMs - clock.monotonic()), stop);
      const publish = () => withWarehouse(access, { wait: true, stop }, (warehouse) => warehouse.publish());
      await schedule.exclusively('the publication of what was sent', publish, { wait: true });
    } catch (error) {
      if (!(error instanceof StoppedError) && !stop.aborted)
        log.error({ err: error }, 'what was sent could not be published; the next run publishes it');
    } finally {
      lastAt = clock.monotonic();
      isPublishing = false;
    }
  }

  return {
    async send() {
      try {
        const observe = (api: Parameters<typeof speedOf>[0]) => new LoggedProgress(log, speedOf(api));
        const { applied, conflict, failed, left } = await pushConfirmed(access, {
          wait: true,
          stop,
          maxMinutes,
          observe,
        });
        log.info(
          { applied, conflict, failed: failed.total, left: left.queued + left.sending },
          'sent what was confirmed',
        );
      } catch (error) {
        if (!(error instanceof StoppedError))
          log.error(
            { err: error },
            'what was confirmed could not be sent; it is queued, and the next push sends it',
          );
      }
      void publishLater();
    },
  };
}
