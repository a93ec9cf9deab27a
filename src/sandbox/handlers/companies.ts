import { HttpError, invalid } from '../errors.js';
import { activityOf, companyItemJson, companyOf, writtenCompany } from '../wire/companies.js';
import { historyOf, recordsOf } from '../wire/history.js';
import {
  addCompanyPeople,
  type CompanyFields,
  createCompany,
  linkCompanyIdentity,
  linkIdentity,
  mergeCompanies,
  patchCompany,
} from '../world/changes/index.js';
import type { World } from '../world/types.js';
import {
  answer,
  type Handlers,
  keyActor,
  requireCompany,
  requireHistory,
  runBatch,
  stringValues,
} from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

export const readCompanies: Pick<
  Handlers,
  'companies' | 'company' | 'company_activity' | 'company_history' | 'company_identities'
> = {
  companies: (call) => {
    const companies = visibleItems(
      call,
      'companies',
      call.query,
      () => [...call.world.companies.values()],
      ({ id }) => id,
    );
    return pagedAnswer(call, call.query, companies, (company) => companyItemJson(call.renderer, company));
  },

  company: ({ renderer, params, world }) =>
    answer(companyOf(renderer, requireCompany(world, params.companyId))),

  company_activity: ({ renderer, params, world }) =>
    answer(activityOf(renderer, requireCompany(world, params.companyId))),

  company_history: ({ params, world }) => {
    requireHistory(world, 'company', params.companyId);
    const records = recordsOf(world, 'company', params.companyId);
    return answer(historyOf(world, 'company', params.companyId, records, records.length));
  },

  company_identities: ({ params, world }) =>
    answer({ identities: requireCompany(world, params.companyId).identities }),
};

export const writeCompanies: Pick<
  Handlers,
  | 'create_companies'
  | 'update_companies'
  | 'merge_companies'
  | 'update_company'
  | 'add_company_people'
  | 'identify'
> = {
  create_companies: ({ body, renderer, world }) => {
    const { results, touched } = runBatch(
      body.companies,
      ({ name }) => (name === undefined ? {} : { name }),
      ({ name, domain }) => {
        if (!name && !domain) throw invalid('name or domain must be given');
        const existing = [...world.companies.values()].find((one) => domain && one.primaryDomain === domain);
        if (existing) throw new HttpError(409, `Company ${existing.id} already has the domain ${domain}`);
        const company = createCompany(world, { name, primaryDomain: domain }, keyActor);
        return {
          data: companyOf(renderer, company),
          touched: { type: 'company', id: company.id, fields: ['name', 'primaryDomain'] },
        };
      },
    );
    return answer({ results }, touched);
  },

  update_companies: ({ body, renderer, world }) => {
    const { results, touched } = runBatch(
      body.companies,
      ({ companyId }) => ({ companyId }),
      ({ companyId, ...item }) => {
        const fields = changeCompany(world, companyId, item);
        return {
          data: writtenCompany(renderer, requireCompany(world, companyId)),
          touched: { type: 'company', id: companyId, fields },
        };
      },
    );
    return answer({ results }, touched);
  },

  merge_companies: ({ body, world }) => {
    const sources = body.sourceCompanyIds.filter((id) => id !== body.targetCompanyId);
    if (sources.length === 0) throw invalid('sourceCompanyIds must name a company other than the target');
    const merge = mergeCompanies(world, sources, body.targetCompanyId, keyActor);
    return answer({ mergedCount: merge.sources.length }, [
      { type: 'company', id: body.targetCompanyId, fields: ['merges'] },
      ...merge.sources.map(({ id }) => ({ type: 'company' as const, id, fields: ['mergedInto'] })),
    ]);
  },

  update_company: ({ body, renderer, params, world }) => {
    const company = requireCompany(world, params.companyId);
    const fields = changeCompany(world, company.id, body);
    return answer(companyOf(renderer, company), [{ type: 'company', id: company.id, fields }]);
  },

  add_company_people: ({ body, params, world }) => {
    const company = requireCompany(world, params.companyId);
    const { results, touched } = runBatch(
      body.personIds,
      (personId) => ({ personId }),
      (personId) => {
        addCompanyPeople(world, company.id, [personId], keyActor);
        return { touched: { type: 'person', id: personId, fields: ['company'] } };
      },
    );
    return answer({ results }, touched);
  },

  identify: ({ body, world }) => {
    const { results, touched } = runBatch(
      body.links,
      ({ personId, companyId }) => (personId === undefined ? { companyId } : { personId }),
      ({ personId, companyId, ...record }) => {
        const { platform, platformId } = record;
        if (personId !== undefined && companyId === undefined) {
          const author = linkIdentity(world, personId, record, keyActor);
          const data = { id: author.id, platform, platformId, platformUsername: author.displayName };
          return { data, touched: { type: 'person', id: personId, fields: ['identities'] } };
        }
        if (companyId !== undefined && personId === undefined) {
          const data = linkCompanyIdentity(world, companyId, record, keyActor);
          return { data, touched: { type: 'company', id: companyId, fields: ['identities'] } };
        }
        throw invalid('Exactly one of personId and companyId must be given');
      },
    );
    return answer({ results }, touched);
  },
};

interface CompanyItem {
  readonly name?: string | undefined;
  readonly logoUrl?: string | undefined;
  readonly isVip?: boolean | undefined;
  readonly primaryDomain?: string | undefined;
  readonly connections?: Record<string, unknown> | undefined;
}

function changeCompany(world: World, id: string, item: CompanyItem): string[] {
  requireCompany(world, id);
  const { connections, ...rest } = item;
  const fields: CompanyFields =
    connections === undefined ? rest : { ...rest, connections: stringValues(connections) };
  if (Object.keys(fields).length === 0) throw invalid('At least one field must be given');
  patchCompany(world, id, fields, keyActor);
  return Object.keys(fields);
}
