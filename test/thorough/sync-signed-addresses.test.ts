import { afterAll, describe, expect, it } from 'vitest';
import { Pulling, startTown } from '../support/pulling.js';
import { Folders } from '../support/signalhouse.js';

const folders = new Folders();
afterAll(() => folders.remove());

describe('addresses of pictures that are signed anew in each answer', () => {
  it('make nothing look changed', async () => {
    const sandbox = await startTown({ signedUrls: true });
    try {
      const pulling = Pulling.into(folders, sandbox);
      expect(await pulling.sync()).toMatchObject({ code: 0 });
      const second = await pulling.sync();
      expect(second.code).toBe(0);
      // No child is requested.
      expect(Object.keys(second.seen).sort()).toEqual(
        ['whoami', 'topics', 'companies', 'people', 'channels', 'stories', 'automation_templates'].sort(),
      );
      const pictures = [
        'authors.source_avatar_url',
        'people.avatar_url',
        'people.company_logo_url',
        'companies.logo_url',
        'company_employees.avatar_url',
        'topic_people.avatar_url',
        'topic_people.company_logo_url',
        'messages.reply_to',
        'messages.thread',
      ];
      expect(await pulling.differences({ except: pictures })).toEqual([]);
    } finally {
      await sandbox.stop();
    }
  });
});
