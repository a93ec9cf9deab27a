import { answer, type Handlers } from '../call.js';
import { activityOf, companyItemJson, companyOf } from '../wire/companies.js';
import { historyOf, recordsOf } from '../wire/history.js';
import { companyAt, withHistory } from './find.js';
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
