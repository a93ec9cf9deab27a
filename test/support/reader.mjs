// An analyst's own program: opens a file of DuckDB and counts its messages, again and again, until nobody listens.
import { DuckDBInstance } from '@duckdb/node-api';

const instance = await DuckDBInstance.create(process.argv[2], { access_mode: 'READ_ONLY' });
const connection = await instance.connect();
let over = false;
process.stdin.resume().on('end', () => {
  over = true;
});
while (!over) {
  const result = await connection.run(
    "SELECT count(*) FROM messages WHERE content IS NOT NULL OR content <> ''",
  );
  process.stdout.write(`${(await result.getRows())[0]?.[0]}\n`);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
connection.closeSync();
instance.closeSync();
