// Tries to open a database file for writing, and prints the result.
import { DuckDBInstance } from '@duckdb/node-api';

try {
  const instance = await DuckDBInstance.create(String(process.argv[2]));
  instance.closeSync();
  process.stdout.write('open');
} catch (error) {
  process.stdout.write(String(error));
}
