import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { promptOf, recipesIn } from '../../../src/commands/mcp.js';

const cookbook = readFileSync(new URL('../../../docs/cookbook.md', import.meta.url), 'utf8');

it('every question of the cookbook with a query is a prompt with a name of its own, without the answer', () => {
  const recipes = recipesIn(cookbook);
  const questions = [...cookbook.matchAll(/^## (.*\?)$/gm)].map(([, question]) => question);
  expect(recipes.map(({ question }) => question)).toEqual(questions);
  expect(new Set(recipes.map(({ name }) => name)).size).toBe(recipes.length);
  for (const recipe of recipes) {
    expect(recipe.name).toMatch(/^[a-z0-9-]+$/);
    expect(promptOf(recipe)).toMatch(/```sql\n[^|]/);
    expect(promptOf(recipe)).not.toMatch(/^\|/m);
  }
});
