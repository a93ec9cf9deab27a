import { counted } from '../../base/units.js';
import { command, whole } from '../command.js';
import { answer } from '../output.js';
import { setUp } from '../setup.js';

export const retention = command({
  name: 'retention',
  summary: 'Show how much content the next sync drops because it is too old, without changing anything',
  examples: [
    ['signalhouse retention', 'By the settings of retention'],
    ['signalhouse retention --messages-months 24', 'Before retention.messagesMonths is set to 24'],
  ],
  flags: {
    messagesMonths: whole().max(1_200).optional().describe('As if retention.messagesMonths were this'),
    peopleMonths: whole().max(1_200).optional().describe('As if retention.peopleMonths were this'),
  },
  async run(months, context) {
    const { previewRetention } = await import('../../app/retention.js');
    const found = await previewRetention(await setUp(context), months);
    return answer(context, found, ({ before, messages, people }) => {
      const reasons = (deleted: string | null, text: string, at: string | null) =>
        [
          at && `${text} before ${at.slice(0, 10)}`,
          deleted && `deleted in the API before ${deleted.slice(0, 10)}`,
        ]
          .filter(Boolean)
          .join(', or ') || 'none is ever too old';
      return `The next sync drops what the retention does not allow. Their rows, times and counts stay.
  content of ${counted(messages, 'message')} (${reasons(before.deleted, 'written', before.messages)})
  personal fields of ${counted(people, 'person', 'people')} (${reasons(before.deleted, 'last seen', before.people)})
It cannot be undone. What the API still has is not stored again.`;
    });
  },
});
