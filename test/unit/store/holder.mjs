// A process of its own that holds the live file: POSIX locks do not conflict inside one process.
import { DuckDBInstance } from '@duckdb/node-api';

const [path] = process.argv.slice(2);
const instance = await DuckDBInstance.create(path);
process.stdin.once('data', () => {
  instance.closeSync();
  process.exit(0);
});
process.stdout.write('holding\n');
