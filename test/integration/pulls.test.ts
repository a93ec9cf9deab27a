import { expect, it } from 'vitest';
import { town, townOfFile } from '../support/pulling.js';

const { pulling } = await townOfFile({ holds: 'nothing', sizes: town });

it('the first pull costs what was planned', async () => {
  const plan = await pulling.plan();
  const { code, report, requests } = await pulling.sync();
  expect([code, report.requests.total]).toEqual([0, requests]);
  expect(Math.abs(plan.requests.total - requests) / requests).toBeLessThanOrEqual(0.05);
  expect(await pulling.differences()).toEqual([]);
  // What the plan has stored is no less new.
  const [counts] = await pulling.rows<Record<string, number>>(
    `SELECT (SELECT count(*)::INTEGER FROM topics) AS topics, (SELECT count(*)::INTEGER FROM people) AS people,
            (SELECT count(*)::INTEGER FROM companies) AS companies`,
  );
  const { topics, people, companies } = report.rows;
  expect({ topics: topics?.new, people: people?.new, companies: companies?.new }).toEqual(counts);
});

it('the next one, which finds nothing new, costs its lists, and changes no row', async () => {
  const { code, report, seen } = await pulling.sync();
  expect([code, report.rows]).toEqual([0, {}]);
  // Each list in one page, the bucket of archived stories, and a second answer for lists without a total.
  const lists = { topics: 1, companies: 1, people: 1, channels: 2, stories: 2, automation_templates: 2 };
  expect(seen).toEqual({ whoami: 1, ...lists });
});
