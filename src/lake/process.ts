import { answerTask } from '../base/processes.js';
import type { LakeNote, LakeTaskParts } from './open.js';
import { lakeStatus } from './publications.js';
import { initLake, publishToLake } from './publish.js';
import { dropFromLake } from './remove.js';

/**
 * The program of the process that app/lake.ts starts. DuckDB's extensions for object stores and catalogs run here and nowhere
 * else: whatever becomes of this process, the worker and its files are not affected.
 */

/** What the process can do, by the name of the command. */
const commands = { init: initLake, publish: publishToLake, status: lakeStatus, drop: dropFromLake };
export type LakeCommands = typeof commands;

/** What the process is asked to do. */
export interface LakeTask {
  readonly command: keyof LakeCommands;
  readonly parts: LakeTaskParts;
}

answerTask<LakeTask, LakeNote>(({ command, parts }, say, stop) => {
  const logged =
    (level: LakeNote['level']) =>
    (...[first, text]: readonly unknown[]) =>
      void say({ level, text: typeof first === 'string' ? first : String(text ?? '') });
  const log = { info: logged('info'), warn: logged('warn') };
  return commands[command]({ ...parts, stop, log });
});
