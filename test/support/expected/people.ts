import { activityOf, companyItemJson, companyOf } from '../../../src/sandbox/handlers/companies.js';
import { identitiesOf, personOf } from '../../../src/sandbox/handlers/people.js';
import type { Renderer } from '../../../src/sandbox/handlers/renderer.js';
import { personCounts } from '../../../src/sandbox/world/counts.js';
import { columns, deletedColumns, type ExpectedTable, nested, notDeleted } from './row.js';

const ofPerson = ['github', 'linkedin', 'phone', 'title', 'twitter', 'website'];
const ofCompany = ['email', 'github', 'linkedin', 'phone', 'twitter'];

export function peopleTables(renderer: Renderer): ExpectedTable[] {
  const { world } = renderer;
  const everyone = [...world.people.values()];
  return [
    {
      table: 'people',
      key: ['id'],
      rows: everyone.map((person) => {
        const { company, connections, ...rest } = personOf(renderer, person);
        return {
          ...columns(rest),
          ...nested('company', ['id', 'name', 'domain', 'logoUrl'], company),
          ...nested('connections', ofPerson, connections),
          ...notDeleted,
          detail_unavailable_reason: null,
        };
      }),
      otherRow: ({ id }) => deletedColumns(world, 'person', String(id)),
      lagging: [
        'description',
        'ecosystem_tags',
        'expertise_tags',
        // It shifts by itself when a week passes.
        'weekly_activity',
        ...ofPerson.map((name) => `connections_${name}`),
      ],
    },
    {
      table: 'person_identities',
      key: ['person_id', 'platform', 'platform_id'],
      rows: everyone.flatMap((person) =>
        identitiesOf(renderer, person).map((identity) => ({ person_id: person.id, ...columns(identity) })),
      ),
      lagging: ['platform_username'],
    },
    {
      table: 'person_source_stats',
      key: ['person_id', 'source'],
      rows: everyone.flatMap((person) =>
        personCounts(world, person.id).sourceStats.map((stat) => ({
          person_id: person.id,
          ...columns(stat),
        })),
      ),
    },
  ];
}

export function companyTables(renderer: Renderer): ExpectedTable[] {
  const { world } = renderer;
  const all = [...world.companies.values()];
  return [
    {
      table: 'companies',
      key: ['id'],
      rows: all.map((company) => {
        const { connections, ...rest } = companyOf(renderer, company);
        return {
          ...columns(rest),
          ...columns(JSON.parse(companyItemJson(renderer, company))),
          weekly_activity: activityOf(renderer, company).weeklyActivity,
          ...nested('connections', ofCompany, connections),
          ...notDeleted,
          detail_unavailable_reason: null,
        };
      }),
      // Its activity is removed with it.
      otherRow: ({ id }) => ({ ...deletedColumns(world, 'company', String(id)), weekly_activity: null }),
      lagging: ['weekly_activity', ...ofCompany.map((name) => `connections_${name}`)],
    },
    {
      table: 'company_employees',
      key: ['company_id', 'person_id'],
      rows: [...world.people.values()].flatMap(({ id, avatarUrl, companyId, displayName }) =>
        companyId === null
          ? []
          : [{ company_id: companyId, person_id: id, name: displayName, avatar_url: avatarUrl }],
      ),
      rowsLag: true,
    },
    {
      table: 'company_identities',
      key: ['company_id', 'platform', 'platform_id'],
      rows: all.flatMap((company) =>
        company.identities.map((identity) => ({ company_id: company.id, ...columns(identity) })),
      ),
      rowsLag: true,
    },
    {
      table: 'company_source_stats',
      key: ['company_id', 'source'],
      rows: all.flatMap((company) =>
        activityOf(renderer, company).sourceStats.map((stat) => ({
          company_id: company.id,
          ...columns(stat),
        })),
      ),
    },
  ];
}
