import { join } from 'node:path';
import { readModels } from '../../src/warehouse/load/models.js';
import { sqlDir } from '../../src/warehouse/sql.js';
import { schemaOf } from '../../src/warehouse/views.js';

/** The statements that make the program's tables and views, in an empty database. */
export function schemaStatements(): string[] {
  return schemaOf({ models: readModels(), viewsDir: join(sqlDir, 'views'), analysis: undefined });
}
