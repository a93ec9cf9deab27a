import { type EntityType, fieldsOf } from '../fields.js';

/** The paragraphs of the sheet "How to use": for a person who never saw this before. */
export function howTo(entityType: EntityType): string[] {
  const [noun, plural] = entityType === 'topic' ? ['topic', 'topics'] : ['company', 'companies'];
  const fields = fieldsOf[entityType].map(({ name }) => name).join(', ');
  const own =
    entityType === 'topic'
      ? [
          'priority and lifecycle_state have a list to choose from. archived is TRUE or FALSE. archived_reason is used only when archived is TRUE.',
        ]
      : ['is_vip is TRUE or FALSE; logo_url begins with https://. The others are text.'];
  return [
    `How to change ${plural} with this workbook`,
    `1. Edit the cells of these columns where they stand: ${fields}. What you changed is coloured.`,
    ...own,
    '2. Save the workbook, as .xlsx or as CSV.',
    '3. signalhouse changes import FILE shows what would change, asks, and puts it into the queue. Nothing is sent yet.',
    '4. signalhouse push sends it. With --result FILE it writes your sheet again, with what became of each row.',
    `The grey columns at the right (base_ …) hold what was there when the sheet was made. Leave them as they are: a change is where a cell differs from its base, and when somebody else changed the same ${noun} meanwhile, both values are shown instead of overwriting one.`,
    `Sort, filter, hide, delete rows and add columns as you like. Rows that you leave alone change nothing. Keep the column ${entityType}_id.`,
    'A cell cannot be emptied: the API shows no way to clear a value. Times are UTC.',
  ];
}
