import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sqlDir } from '../../../../src/warehouse/sql.js';

/** SHA-256 of each migration, as it was when it landed. Warehouses everywhere have recorded it. */
const landed: Readonly<Record<string, string>> = {
  '0001_raw_and_ops.sql': '4235974ca4572add94e49e5cb16c6b39da4ea4e3a753c1b5cdda4bddeb2cf7de',
  '0002_topics.sql': 'e3e5b35e67c4e6bc3f0114ae0d0665ac289d0f8d6d87420a5d8c9b3b41ddfaa5',
  '0003_conversations.sql': '73ef82103d9d65ff96043f7abd0f04f6c4876dad805d1406f38d51955ae325c5',
  '0004_people_and_companies.sql': '5c7e5f27068d7d34f59ed66ce0694847a813e77512f8649f1b52b60e028cc68b',
  '0005_organization_history_stories.sql': '75fa0a0ca7348c98fa5ff4e8c49d1fd3799c6c1d21d25873a2887493823722ba',
  '0006_versions.sql': '5b571b1841a9400529d46ff69fad59744bcc63debde1d3cb795cd9e92738b8aa',
  '0007_changes.sql': 'bb463d4ab0aa04f42571c5e96690cfc28e07f551c2af086904c5b05e5d11fa9e',
  '0008_plain_comments.sql': 'ec6a5faea1c345b2bf869e92e73b078efe4d1fe92bdf2b409b6a19dd6b359ac9',
  '0009_coverage_counters.sql': '8a1e9772718e1c43be75e5bf0ef70887c693858c81a0f4823e4523d7efcdcf72',
  '0010_answer_order.sql': 'bcd97a16cda7cc08d29e27b74ff961c0c4289bb93459d3677c634e35ac3a9e9d',
  '0011_comments_of_codes.sql': '19f1b707c5d38bb0673317494459f2b1f0c0b3fcbe178d45a9f7be202ad7a720',
  '0012_undo.sql': '16d75ab70a00a443cdfcba95098937991e8be2f54a28261d1751d8b9a7b03da2',
  '0013_change_fields.sql': 'a4cbea4585ec23b05a60e3164a3e0aaf04e837064c8535952a76429950a0b8e2',
  '0014_parts_of_documents.sql': '618fe32654f2c0fc2f836364a9b94ca1a6b683260f14e3f62d0acda9fe98d9f1',
  '0015_forgotten_and_audit.sql': 'bdb5384ff835644832f2060ba63f18319ce5b6abcccad90bb3db4c2f1009299c',
  '0016_order_bounds_and_who_asked.sql': 'ae63dc6cc226ebeb1a7cf2a76398ffe2a4f4774cf02eee7ad10a36ec84bc4c93',
};

const folder = join(sqlDir, 'migrations');
const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));

test.each([...new Set([...Object.keys(landed), ...files])].sort())(
  '%s is what it was when it landed',
  (name) => {
    const checksum = files.includes(name)
      ? createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex')
      : 'the file is missing';
    const advice =
      landed[name] === undefined
        ? `${name} is new: add '${name}': '${checksum}' to the list in this test.`
        : `${name} has landed and must not change, because warehouses that have it would be refused: restore the file, and add a new migration instead.`;
    expect(checksum, advice).toBe(landed[name]);
  },
);
