import { amount, names, whole } from '../flags.js';

/** What limits a run, for the commands that make one. */
export const caps = {
  only: names.optional(),
  maxRequests: whole().optional(),
  maxMinutes: amount.optional(),
};

export const capOptions = {
  only: {
    type: 'array',
    string: true,
    requiresArg: true,
    describe: 'Resources or endpoints, e.g. topics,company_activity',
  },
  'max-requests': { type: 'number', requiresArg: true, describe: 'Stop after so many requests' },
  'max-minutes': { type: 'number', requiresArg: true, describe: 'Stop after so many minutes' },
  wait: { type: 'boolean', describe: 'Wait while another process holds the warehouse' },
} as const;
