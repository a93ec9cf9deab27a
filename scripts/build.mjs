// dist is made from nothing each time: a module that was renamed or deleted in src must not live on there.
// It is compiled beside its place and moved in whole, so that nobody ever runs half a build.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { kindsOfColumns, UnclearColumns } from './columns.mjs';
import { dbtSources } from './dbt-sources.mjs';
import { readSchema } from './read-schema.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const compiler = join(root, 'node_modules/@typescript/native/bin/tsc');
const fresh = join(root, `.dist-${process.pid}`);
const dist = join(root, 'dist');

try {
  execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--outDir', fresh], {
    cwd: root,
    stdio: 'inherit',
  });
  // What a browser loads, and the sandbox's texts, are no TypeScript, and go along as they are.
  for (const assets of ['serve/page/assets', 'view/assets', 'sandbox/world/texts'])
    cpSync(join(root, 'src', assets), join(fresh, assets), { recursive: true });
  cpSync(join(root, 'src/prove/assumptions.yaml'), join(fresh, 'prove/assumptions.yaml'));
  chmodSync(join(fresh, 'main.js'), 0o755);
  await describeSchema();
  writeFileSync(join(fresh, 'commit'), commit());
  rmSync(dist, { recursive: true, force: true });
  renameSync(fresh, dist);
} catch (error) {
  // The compiler has already said what is wrong; a stack trace of this script would only bury it.
  if (error instanceof UnclearColumns) console.error(error.message);
  else if (!(error instanceof Error && 'status' in error)) throw error;
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

/** The commit that is built; an image is built without git, and is told. */
function commit() {
  if (process.env.REVISION) return process.env.REVISION.slice(0, 12);
  const { stdout, status } = spawnSync('git', ['rev-parse', '--short=12', 'HEAD'], {
    cwd: root,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : 'unknown';
}

/** Writes dist/columns.json, what each column says about people, and the sources of the dbt project. */
async function describeSchema() {
  const compiled = (/** @type {string} */ path) => import(pathToFileURL(join(fresh, path)).href);
  const { kinds } = await compiled('contract/privacy.js');
  const { documentFields, resources } = await compiled('contract/resources.js');
  const { readModels } = await compiled('load/models.js');
  const { schemaOf } = await compiled('load/views.js');
  const models = readModels();
  const schema = await readSchema(schemaOf({ models, viewsDir: join(root, 'sql/views') }));
  const columns = kindsOfColumns(schema, {
    ...parse(readFileSync(join(root, 'sql/privacy.yaml'), 'utf8')),
    kinds,
    documents: documentFields(resources),
    models,
  });
  writeFileSync(join(fresh, 'columns.json'), JSON.stringify(columns));
  const project = join(root, 'integrations/dbt');
  // An image is built without it.
  if (!existsSync(project)) return;
  const target = join(project, 'models/sources');
  mkdirSync(target, { recursive: true });
  for (const { file, text } of dbtSources(schema, models)) writeFileSync(join(target, file), text);
}
