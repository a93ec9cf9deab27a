import { messageOf } from '../../base/errors.js';
import type { BodyOf } from '../../contract/endpoints.js';
import { HttpError, invalid } from '../errors.js';
import type { Touched } from '../stats.js';
import { activityOf, companyItemJson, companyOf } from '../wire/companies.js';
import { historyOf } from '../wire/history.js';
import { without } from '../wire/renderer.js';
import { type CompanyFields, patchCompany } from '../world/changes/index.js';
import { answer, type Call, type Handlers, keyActor, requireCompany, requireHistory } from './call.js';
import { pagedAnswer, visibleItems } from './lists.js';

export const companyHandlers: Pick<
  Handlers,
  'companies' | 'company' | 'company_activity' | 'company_history' | 'company_identities' | 'update_companies'
> = {
  companies: (call) => {
    const { query, renderer, world } = call;
    const all = () => [...world.companies.values()];
    const companies = visibleItems(call, 'companies', query, all, ({ id }) => id);
    return pagedAnswer(call, query, companies, (company) => companyItemJson(renderer, company));
  },

  company: ({ renderer, params, world }) =>
    answer(companyOf(renderer, requireCompany(world, params.companyId))),

  company_activity: ({ renderer, params, world }) =>
    answer(activityOf(renderer, requireCompany(world, params.companyId))),

  company_history: ({ params, world }) => {
    const records = requireHistory(world, 'company', params.companyId);
    return answer(historyOf(world, 'company', params.companyId, records, records.length));
  },

  company_identities: ({ params, world }) =>
    answer({ identities: requireCompany(world, params.companyId).identities }),

  update_companies: (call) => {
    const touched: Touched[] = [];
    const results = call.body.companies.map(({ companyId, ...item }) => {
      try {
        const fields = changeCompany(call, companyId, item);
        touched.push({ type: 'company', id: companyId, fields });
        const company = requireCompany(call.world, companyId);
        const data = without(companyOf(call.renderer, company), 'createdAt', 'isOrgCompany');
        return { companyId, success: true, data };
      } catch (error) {
        // "A failing item has `success` false and an `error` string while the others proceed" (Errors).
        if (!(error instanceof HttpError)) throw error;
        return { companyId, success: false, error: messageOf(error) };
      }
    });
    return answer({ results }, touched);
  },
};

type Item = Omit<BodyOf<'update_companies'>['companies'][number], 'companyId'>;

/** Changes one company of a batch; returns the names of the fields. @throws HttpError 400 or 404 */
function changeCompany({ world }: Call<'update_companies'>, id: string, item: Item): string[] {
  requireCompany(world, id);
  const names = Object.keys(item);
  if (names.length === 0) throw invalid('At least one field must be given');
  const { connections, ...fields } = item;
  const given: CompanyFields = { ...fields, ...(connections && { connections: onlyTexts(connections) }) };
  patchCompany(world, id, given, keyActor);
  return names;
}

/** The values of a connections object that are text. */
function onlyTexts(values: Record<string, unknown>): Record<string, string> {
  const texts = Object.entries(values).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(texts) as Record<string, string>;
}
