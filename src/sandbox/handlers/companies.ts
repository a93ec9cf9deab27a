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
import { answer, batch, companyAt, type Handlers, keyActor, onlyTexts, withHistory } from './call.js';
import { listed, pagedAnswer } from './lists.js';

export const readCompanies: Pick<
  Handlers,
  'companies' | 'company' | 'company_activity' | 'company_history' | 'company_identities'
> = {
  companies: (call) => {
    const companies = listed(
      call,
      'companies',
      call.query,
      () => [...call.world.companies.values()],
      ({ id }) => id,
    );
    return pagedAnswer(call, call.query, companies, (company) => companyItemJson(call.lens, company));
  },

  company: ({ lens, params, world }) => answer(companyOf(lens, companyAt(world, params.companyId))),

  company_activity: ({ lens, params, world }) => answer(activityOf(lens, companyAt(world, params.companyId))),

  company_history: ({ params, world }) => {
    withHistory(world, 'company', params.companyId);
    const records = recordsOf(world, 'company', params.companyId);
    return answer(historyOf(world, 'company', params.companyId, records, records.length));
  },

  company_identities: ({ params, world }) =>
    answer({ identities: companyAt(world, params.companyId).identities }),
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
  create_companies: ({ body, lens, world }) => {
    const { results, touched } = batch(
      body.companies,
      ({ name }) => (name === undefined ? {} : { name }),
      ({ name, domain }) => {
        if (!name && !domain) throw invalid('name or domain is needed');
        const known = [...world.companies.values()].find((one) => domain && one.primaryDomain === domain);
        if (known) throw new HttpError(409, `Company ${known.id} already has the domain ${domain}`);
        const company = createCompany(world, { name, primaryDomain: domain }, keyActor);
        return {
          data: companyOf(lens, company),
          touched: { type: 'company', id: company.id, fields: ['name', 'primaryDomain'] },
        };
      },
    );
    return answer({ results }, touched);
  },

  update_companies: ({ body, lens, world }) => {
    const { results, touched } = batch(
      body.companies,
      ({ companyId }) => ({ companyId }),
      ({ companyId, ...item }) => {
        const fields = change(world, companyId, item);
        return {
          data: writtenCompany(lens, companyAt(world, companyId)),
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

  update_company: ({ body, lens, params, world }) => {
    const company = companyAt(world, params.companyId);
    const fields = change(world, company.id, body);
    return answer(companyOf(lens, company), [{ type: 'company', id: company.id, fields }]);
  },

  add_company_people: ({ body, params, world }) => {
    const company = companyAt(world, params.companyId);
    const { results, touched } = batch(
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
    const { results, touched } = batch(
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

function change(world: World, id: string, item: CompanyItem): string[] {
  companyAt(world, id);
  const { connections, ...rest } = item;
  const fields: CompanyFields =
    connections === undefined ? rest : { ...rest, connections: onlyTexts(connections) };
  if (Object.keys(fields).length === 0) throw invalid('At least one field must be given');
  patchCompany(world, id, fields, keyActor);
  return Object.keys(fields);
}
