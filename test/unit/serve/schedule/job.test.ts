import { describe, expect, it } from 'vitest';
import { type Job, jobProblems } from '../../../../src/serve/schedule/job.js';

const nightly: Job = {
  name: 'nightly',
  cron: '0 3 * * *',
  timezone: 'Europe/Berlin',
  run: 'sync',
  caps: {},
  overlap: 'wait',
};

describe('jobs of the settings', () => {
  it('finds nothing wrong with five fields, with six, and with a nickname', () => {
    const crons = ['0 3 * * *', '*/5 0 3 * * mon-fri', '@hourly', '0 3 L * ?'];
    expect(jobProblems(crons.map((cron, index) => ({ ...nightly, name: `job-${index}`, cron })))).toEqual([]);
  });

  it('names everything that is wrong, where it is written', () => {
    const wrong = [
      { ...nightly, name: '../etc' },
      { ...nightly, cron: '61 3 * * *', timezone: 'Mars/Olympus' },
      { ...nightly },
      { ...nightly },
      { ...nightly, name: 'never', cron: '0 0 L-30 2 *' },
    ];
    expect(jobProblems(wrong).map(({ setting }) => setting)).toEqual([
      'serve.jobs[0].name',
      'serve.jobs[1].cron',
      'serve.jobs[1].timezone',
      'serve.jobs[2].name',
      'serve.jobs[3].name',
      'serve.jobs[4].cron',
    ]);
  });
});
