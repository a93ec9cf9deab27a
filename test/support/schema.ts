import { join } from 'node:path';
import { readModels } from '../../src/load/models.js';
import { schemaOf } from '../../src/load/views.js';
import { sqlDir } from '../../src/store/sql.js';

/** The statements that make the program's tables and views, in an empty database. */
export function schemaStatements(): string[] {
  return schemaOf({ models: readModels(), viewsDir: join(sqlDir, 'views'), analysis: undefined });
}
