// npm run release:check: whether this commit can be released as the version in package.json. Prints what is well, what the owner has
// to decide, and what is wrong (exit 1). Writes the list of what the program is made of to .release/sbom.cdx.json (CycloneDX).
//   npm run release:check -- [--no-container]    without building and running the image

import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({ options: { 'no-container': { type: 'boolean', default: false } } });
const { name, version, license, private: isPrivate } = JSON.parse(read('package.json'));
let wrong = 0;

checkCommit();
checkChangelog();
checkLicence();
checkLabels();
checkBase();
writeBill();
checkContainers();
process.stdout.write(
  wrong === 0
    ? `\n${name} ${version} can be released.\n`
    : `\n${wrong} to fix before ${version} can be released.\n`,
);
process.exitCode = wrong === 0 ? 0 : 1;

function checkCommit() {
  const changed = git('status', '--porcelain');
  const isTagged = git('tag', '--list', `v${version}`) !== '';
  if (changed !== '') bad('commit', `there are changes that are not committed:\n${changed}`);
  else good('commit', git('rev-parse', '--short', 'HEAD'));
  if (isTagged) bad('version', `v${version} is a tag already: raise the version in package.json`);
  else good('version', version);
}

function checkChangelog() {
  const sections = read('CHANGELOG.md').split(/^## /m).slice(1);
  const own = sections.find((section) => section.startsWith(`[${version}]`));
  if (own === undefined)
    bad('changelog', `CHANGELOG.md has no section [${version}]: say there what is in it, with its date`);
  else if (!/^\[[^\]]+\] - \d{4}-\d\d-\d\d\n+\S/.test(own))
    bad('changelog', `the section [${version}] needs a date and a text`);
  else good('changelog', own.split('\n', 1)[0] ?? '');
}

/** The owner chooses it; a release without one is possible, and says so. */
function checkLicence() {
  const file = ['LICENSE', 'LICENSE.md', 'LICENCE'].find((one) => existsSync(join(root, one)));
  if (file === undefined)
    open(
      'licence',
      `there is no file LICENSE, and package.json says ${license}: nobody else may use it. The owner chooses`,
    );
  else if (license === 'UNLICENSED') bad('licence', `${file} is there, but package.json says UNLICENSED`);
  else good('licence', `${license} (${file})`);
  if (isPrivate) open('npm', 'package.json is private: it is not published to a registry of packages');
}

function checkLabels() {
  const labels = [...read('Dockerfile').matchAll(/org\.opencontainers\.image\.(\w+)=/g)].map(
    ([, label]) => label,
  );
  const missing = ['title', 'description', 'version', 'revision', 'licenses'].filter(
    (one) => !labels.includes(one),
  );
  if (missing.length > 0) bad('image labels', `the Dockerfile lacks ${missing.join(', ')}`);
  else good('image labels', labels.join(', '));
}

/** The image that containers are built on, by its digest: in the Dockerfile, or for this build in BASE. */
function checkBase() {
  const base = process.env.BASE ?? /^ARG BASE=(\S+)$/m.exec(read('Dockerfile'))?.[1] ?? '';
  if (/@sha256:[\da-f]{64}$/.test(base)) good('base image', base);
  else
    bad(
      'base image',
      `${base} is a tag, which may be replaced: add its digest in BASE or the Dockerfile (docker buildx imagetools inspect ${base})`,
    );
}

/** From the lock file: `npm sbom --omit dev` (npm 11.19) leaves out what the tests need as well, zod and yaml among them. */
function writeBill() {
  /** @type {Record<string, { version: string, license?: string, integrity?: string, dev?: boolean }>} */
  const locked = JSON.parse(read('package-lock.json')).packages;
  const components = Object.entries(locked).flatMap(
    ([path, { version: of, license: terms, integrity, dev }]) => {
      const [, called] = /.*node_modules\/(.+)$/.exec(path) ?? [];
      if (called === undefined || dev) return [];
      const [algorithm = '', hash = ''] = (integrity ?? '').split('-');
      const purl = `pkg:npm/${called.replace(/^@/, '%40')}@${of}`;
      return {
        type: 'library',
        'bom-ref': `${purl}#${path}`,
        name: called,
        version: of,
        purl,
        ...(terms && {
          licenses: [/ (OR|AND) /.test(terms) ? { expression: terms } : { license: { name: terms } }],
        }),
        ...(hash && {
          hashes: [
            { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(hash, 'base64').toString('hex') },
          ],
        }),
      };
    },
  );
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    serialNumber: `urn:uuid:${randomUUID()}`,
    metadata: { timestamp: new Date().toISOString(), component: { type: 'application', name, version } },
    components,
  };
  mkdirSync(join(root, '.release'), { recursive: true });
  writeFileSync(join(root, '.release/sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
  good('SBOM', `.release/sbom.cdx.json, ${components.length} packages`);
  const unlicensed = components
    .filter(({ licenses }) => !licenses)
    .map((one) => `${one.name}@${one.version}`);
  if (unlicensed.length > 0) open('licences of packages', `${unlicensed.join(', ')} name none`);
}

/** The image is built and run for this machine, and for the other architecture where its programs can run here. */
function checkContainers() {
  if (values['no-container']) return open('container', 'not checked (--no-container)');
  const engine = process.env.ENGINE ?? ['docker', 'podman', 'buildah'].find(runs);
  if (engine === undefined)
    return open('container', 'not checked: there is neither docker, podman nor buildah here');
  const own = process.arch === 'arm64' ? 'arm64' : 'amd64';
  for (const arch of ['amd64', 'arm64']) {
    const emulator = `/proc/sys/fs/binfmt_misc/qemu-${arch === 'arm64' ? 'aarch64' : 'x86_64'}`;
    if (arch !== own && !existsSync(emulator)) {
      open(
        `container ${arch}`,
        `not checked: this machine runs no programs for ${arch} (register qemu-user-static)`,
      );
      continue;
    }
    const flags = `--platform linux/${arch} --build-arg VERSION=${version} --build-arg REVISION=${git('rev-parse', 'HEAD')}`;
    const { status } = spawnSync('bash', [join(root, 'scripts/container-check.sh')], {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        ENGINE: engine,
        BUILD_FLAGS: `${process.env.BUILD_FLAGS ?? ''} ${flags}`.trim(),
      },
    });
    if (status === 0) good(`container ${arch}`, `built and run with ${engine}`);
    else bad(`container ${arch}`, `scripts/container-check.sh failed with ${engine}; see above`);
  }
}

/** @param {string} engine */
function runs(engine) {
  return spawnSync(engine, ['info'], { stdio: 'ignore' }).status === 0;
}

/** @param {string} path */
function read(path) {
  return readFileSync(join(root, path), 'utf8');
}

/** @param {string[]} args */
function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

/** @param {string} what @param {string} text */
function good(what, text) {
  process.stdout.write(`ok       ${what}: ${text}\n`);
}

/** What is for the owner to decide, or could not be looked at here. @param {string} what @param {string} text */
function open(what, text) {
  process.stdout.write(`open     ${what}: ${text}\n`);
}

/** @param {string} what @param {string} text */
function bad(what, text) {
  wrong += 1;
  process.stdout.write(`WRONG    ${what}: ${text}\n`);
}
