import type { Group } from '../../command.js';
import { cancel, retry } from './decide.js';
import { importCommand } from './import.js';
import { list } from './list.js';
import { sheet } from './sheet.js';
import { show } from './show.js';
import { undo } from './undo.js';

/** Everything about changes except sending them, which is `push`. */
export const changes: Group = {
  name: 'changes',
  summary: 'Re-prioritize from a spreadsheet: write it, import it, manage the queue',
  commands: [sheet, importCommand, list, show, cancel, retry, undo],
  examples: [
    ['signalhouse changes sheet --out topics.xlsx', 'A sheet to edit'],
    ['signalhouse changes import topics.xlsx', 'Queue the edits'],
    ['signalhouse push', 'Send them'],
    ['signalhouse changes undo topics.xlsx', 'Queue the reverse'],
  ],
};
