import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { problemText, UsageError } from '../../../src/base/errors.js';
import {
  fileProblems,
  loadConfig,
  loadConfigWithCredentials,
  loadServeConfig,
  organizationNames,
  type Sources,
} from '../../../src/config/load.js';
import { secretSources } from '../../../src/config/secrets.js';
import { jobProblems } from '../../../src/serve/schedule/job.js';
import { testFolder } from '../../support/test-folders.js';

const folder = testFolder();
let files = 0;

function file(content: string, name = `file-${files++}.yaml`): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function problemsOf(load: () => unknown): { setting: string; problem: string }[] {
  try {
    load();
  } catch (error) {
    if (error instanceof UsageError) return [...error.problems];
    throw error;
  }
  return [];
}

const settingsOf = (load: () => unknown) => problemsOf(load).map(({ setting }) => setting);
const good = { SIGNALHOUSE_BASE_URL: 'https://api.example.com/v1/', SIGNALHOUSE_API_KEY: 'svc_0123456789' };

describe('where a setting comes from', () => {
  it('is the file over the default, the environment over the file, and a flag over both', () => {
    const configFile = file(
      'rateLimit: {requests: 10, windowMs: 1000}\nlog: {level: debug}\ndataDir: from-file\n',
    );
    const sources: Sources = {
      configFile,
      cwd: '/base',
      env: { SIGNALHOUSE_RATE_LIMIT_REQUESTS: '20', SIGNALHOUSE_DATA_DIR: 'from-env' },
      flags: [{ path: 'dataDir', flag: '--data-dir', value: 'from-flag' }],
    };
    const config = loadConfig(sources);
    expect(config.rateLimit).toEqual({ requests: 20, windowMs: 1000 });
    expect(config.log.level).toBe('debug');
    expect(config.dataDir).toBe('/base/from-flag');
  });

  it('is named where the data directory is a file', () => {
    const path = file('not a directory');
    const flags = [{ path: 'dataDir', flag: '--data-dir', value: path }];
    const problem = `${path} is a file, not a directory`;
    expect(problemsOf(() => loadConfig({ env: {}, flags }))).toEqual([{ setting: '--data-dir', problem }]);
    expect(problemsOf(() => loadConfig({ env: { SIGNALHOUSE_DATA_DIR: path } }))).toEqual([
      { setting: 'SIGNALHOUSE_DATA_DIR', problem },
    ]);
    expect(problemsOf(() => loadConfig({ env: { SIGNALHOUSE_DATA_DIR: join(path, 'data') } }))).toMatchObject(
      [{ problem: `${path}/data is below a file` }],
    );
    expect(loadConfig({ env: { SIGNALHOUSE_DATA_DIR: folder } }).dataDir).toBe(folder);
    expect(loadConfig({ env: { SIGNALHOUSE_DATA_DIR: join(folder, 'not-yet') } }).dataDir).toMatch(
      /not-yet$/,
    );
  });

  it('is named where the data directory begins with ~, which no shell has replaced', () => {
    const configFile = file('dataDir: ~/signals\n');
    expect(problemsOf(() => loadConfig({ env: {}, configFile }))).toEqual([
      {
        setting: `${configFile}: dataDir`,
        problem: 'begins with ~, which only a shell replaces: write the whole path',
        line: 1,
      },
    ]);
    expect(loadConfig({ env: { SIGNALHOUSE_DATA_DIR: '/tmp/~x' } }).dataDir).toBe('/tmp/~x');
  });

  it('names its file by SIGNALHOUSE_CONFIG, and by --config over that', () => {
    const inEnv = file('log: {level: warn}');
    const flagged = file('log: {level: error}');
    expect(loadConfig({ env: { SIGNALHOUSE_CONFIG: inEnv } }).log.level).toBe('warn');
    expect(loadConfig({ env: { SIGNALHOUSE_CONFIG: inEnv }, configFile: flagged }).log.level).toBe('error');
  });

  it('takes an empty variable for one that is not set', () => {
    expect(loadConfig({ env: { SIGNALHOUSE_RATE_LIMIT_REQUESTS: ' ' } }).rateLimit.requests).toBe(120);
  });

  it('takes a section or a setting without a value for one that is not given', () => {
    const config = loadConfig({
      env: {},
      configFile: file('api:\n  # all of it commented out\nsync:\n  recheck:\n'),
    });
    expect(config.api.outageMinutes).toBe(30);
    expect(config.sync.recheck).toBe(1);
  });
});

describe('what is wrong', () => {
  it('is named all at once, as it was written', () => {
    const configFile = file('rateLimit: {request: 5}\nsync: {recheck: often}\nlog: {level: loud}\n');
    expect(
      settingsOf(() =>
        loadConfigWithCredentials({ configFile, env: { SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: 'long' } }),
      ),
    ).toEqual(
      expect.arrayContaining([
        `${configFile}: rateLimit.request`,
        `${configFile}: sync.recheck`,
        `${configFile}: log.level`,
        'SIGNALHOUSE_RATE_LIMIT_WINDOW_MS',
        'SIGNALHOUSE_BASE_URL',
        'SIGNALHOUSE_API_KEY',
      ]),
    );
  });

  it.each([
    ['half-written YAML', 'log:\n  level: info\n bad'],
    ['an alias without its anchor', 'log: *nothing'],
    ['a key twice', 'dataDir: a\ndataDir: b'],
    ['a list', '- dataDir'],
    ['a sentence', 'all is well'],
  ])('in a file of %s is a problem of that file', (_, content) => {
    const configFile = file(content);
    const problems = problemsOf(() => loadConfig({ env: {}, configFile }));
    expect(problems.length).toBeGreaterThan(0);
    for (const { setting, problem } of problems) {
      expect(setting).toBe(configFile);
      expect(problem).toMatch(/\w/);
    }
  });

  it('in a file of another encoding is its encoding, and no other name than the one that was written', () => {
    for (const encoding of ['latin1', 'utf16le'] as const) {
      const configFile = join(folder, 'encoded.yaml');
      writeFileSync(configFile, Buffer.from('\uFEFFdataDir: /srv/Müller\n', encoding));
      expect(problemsOf(() => loadConfig({ env: {}, configFile }))).toEqual([
        { setting: '--config', problem: `${configFile} is not UTF-8: save it in this encoding` },
      ]);
    }
  });

  it('in an accepted host is what no request has as its host name', () => {
    const of = (hosts: string) => {
      const configFile = file(`serve: {allowedHosts: ${hosts}}`);
      return problemsOf(() => loadConfig({ env: {}, configFile })).map(
        ({ setting }) => setting.split(': ')[1],
      );
    };
    expect(of("[a.example, A-b_c, '[2001:db8::1]', 10.0.0.5]")).toEqual([]);
    const wrong = ['https://a.example', 'a.example:8080', '2001:db8::1', '*.a.example', 'a.example/'];
    expect(of(JSON.stringify(wrong))).toEqual(wrong.map((_, at) => `serve.allowedHosts[${at}]`));
  });

  it('with a file that is not there is told with the name of what pointed to it', () => {
    expect(settingsOf(() => loadConfig({ env: { SIGNALHOUSE_CONFIG: '/nowhere.yaml' } }))).toEqual([
      'SIGNALHOUSE_CONFIG',
    ]);
    expect(settingsOf(() => loadConfig({ env: {}, configFile: '/nowhere.yaml' }))).toEqual(['--config']);
  });
});

describe('a variable with our prefix', () => {
  const problemsOfNames = (env: NodeJS.ProcessEnv) =>
    problemsOf(() => loadConfig({ env })).map(({ setting, problem }) => `${setting} ${problem}`);

  it('that is spelled almost like one that is read is an error, with what was probably meant', () => {
    const env = {
      SIGNALHOUSE_RATELIMIT_REQUESTS: '5',
      SIGNALHOUSE_API_KEYFILE: '/k',
      SIGNALHOUSE_DATA: '/d',
      SIGNALHOUSE_LEFT_EMPTY: '',
    };
    const unread = 'is not a variable that Signalhouse reads';
    expect(problemsOfNames(env)).toEqual([
      `SIGNALHOUSE_RATELIMIT_REQUESTS ${unread}; did you mean SIGNALHOUSE_RATE_LIMIT_REQUESTS?`,
      `SIGNALHOUSE_API_KEYFILE ${unread}; did you mean SIGNALHOUSE_API_KEY_FILE?`,
      `SIGNALHOUSE_DATA ${unread}; did you mean SIGNALHOUSE_DATA_DIR?`,
    ]);
  });

  it('belongs to somebody else otherwise, as where Kubernetes sets it for a Service', () => {
    const env = {
      SIGNALHOUSE_ZEBRA: 'x',
      SIGNALHOUSE_SERVICE_HOST: '10.0.0.1',
      SIGNALHOUSE_SERVICE_PORT: '8080',
      SIGNALHOUSE_SERVICE_PORT_HTTP: '8080',
      SIGNALHOUSE_PORT: 'tcp://10.0.0.1:8080',
      SIGNALHOUSE_ACME_PORT: 'tcp://10.0.0.1:8080',
      SIGNALHOUSE_PORT_8080_TCP_ADDR: '10.0.0.1',
    };
    expect(problemsOfNames(env)).toEqual([]);
  });

  it('is no error where this project itself sets or reads it', () => {
    const root = new URL('../../../', import.meta.url);
    const files = ['compose.yaml', 'Dockerfile', 'deploy', 'docs', 'integrations', 'src', 'test/support'];
    const all = files.flatMap((name) => {
      const path = fileURLToPath(new URL(name, root));
      if (statSync(path).isFile()) return [path];
      const found = readdirSync(path, { recursive: true, withFileTypes: true });
      return found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
    });
    const names = all.flatMap(
      (path) => readFileSync(path, 'utf8').match(/\bSIGNALHOUSE_\w*[A-Z](?!\w)/g) ?? [],
    );
    expect(new Set(names).size).toBeGreaterThan(20);
    const env = Object.fromEntries(names.map((name) => [name, '100']));
    const problems = problemsOfNames(env).filter((one) => one.includes('is not a variable'));
    expect(problems).toEqual([]);
  });
});

it('config/default.yaml changes nothing', () => {
  const configFile = fileURLToPath(new URL('../../../config/default.yaml', import.meta.url));
  expect({ ...loadConfig({ env: {}, configFile }), settingsFile: undefined }).toEqual(
    loadConfig({ env: {} }),
  );
});

it.each(['mail.example.com', 'smtp://u:p@h', 'http://h', 'smtp://h/?requireTLS=false'])(
  '%s is no address of a mail server',
  (server) => {
    const configFile = file(`serve: {notify: {email: {server: '${server}'}}}`);
    expect(settingsOf(() => loadConfig({ env: {}, configFile }))).toContain(
      `${configFile}: serve.notify.email.server`,
    );
  },
);

it('the age of a list may be given for all, and for some', () => {
  const freshnessOf = (text: string) => loadConfig({ env: {}, configFile: file(text) }).serve.freshness;
  expect(freshnessOf('serve: {freshness: 50}')).toBe(50);
  expect(freshnessOf('serve: {freshness: {default: 50, people: 0}}')).toEqual({ default: 50, people: 0 });
  const wrong = file('serve: {freshness: {persons: 3}}');
  expect(problemsOf(() => loadConfig({ env: {}, configFile: wrong }))).toEqual([
    { setting: `${wrong}: serve.freshness.persons`, problem: 'is not a setting', line: 1 },
  ]);
});

describe('a problem of a file', () => {
  const located = (text: string) =>
    problemsOf(() => loadConfig({ env: {}, configFile: file(text, 'located.yaml') })).map(
      (one) => problemText(one).split('located.yaml: ')[1],
    );

  it.each([
    ['serve:\n  host: 0.0.0.0\n  prot: 1\n', 'serve.prot (line 3): is not a setting; did you mean port?'],
    ['sevre: {port: 1}', 'sevre (line 1): is not a setting; did you mean serve?'],
    [
      'serve:\n  jobs:\n    - {name: a, run: sync, cron: "0 3 * * *"}\n    - name: b\n      run: sync\n      cron: "0 4 * * *"\n      catchup: false\n',
      'serve.jobs[1].catchup (line 7): is not a setting; did you mean catchUp?',
    ],
    [
      'publish:\n  also:\n    - file: signals-a.duckdb\n      profil: strict\n',
      'publish.also[0].profil (line 4): is not a setting; did you mean profile?',
    ],
    ['x: &a {prot: 1}\nserve: *a\n', 'serve.prot (line 1): is not a setting; did you mean port?'],
    [
      'serve:\n  freshness:\n    poeple: 3\n',
      'serve.freshness.poeple (line 3): is not a setting; did you mean people?',
    ],
    ['log:\n  colour: blue\n', 'log.colour (line 2): is not a setting'],
  ])('has its line, and what was probably meant: %j', (text, problem) => {
    expect(located(text)).toContain(problem);
  });

  it('has the line of the value that is wrong', () => {
    expect(located('sync:\n  personGroups: all\n\n  recheck: often\n')).toEqual([
      expect.stringMatching(/^sync\.recheck \(line 4\): /),
    ]);
  });

  it.each([
    ['organizations: {acme: {api: {}}}', 'organizations (line 1): must be a list'],
    ['serve: {jobs: [nightly]}', 'serve.jobs[0] (line 1): must be a mapping'],
    [
      'analysis: {teams: {support: [90012]}}',
      'analysis.teams.support[0] (line 1): must be text; put it in quotes',
    ],
    ['rateLimit: {requests: "60"}', 'rateLimit.requests (line 1): must be a number, without quotes'],
    ['log: {level: loud}', 'log.level (line 1): must be one of fatal, error, warn, info, debug'],
    ['serve: {jobs: [{name: a, run: sync}]}', 'serve.jobs[0].cron (line 1): is required'],
    ['serve: {port: 70000}', 'serve.port (line 1): must be at most 65535'],
    ['rateLimit: {requests: 0}', 'rateLimit.requests (line 1): must be at least 1'],
    [
      'analysis: {serviceLevels: [{name: "", firstReplyHours: 0}]}',
      'analysis.serviceLevels[0].firstReplyHours (line 1): must be above 0',
    ],
    ['analysis: {serviceLevels: [{name: ""}]}', 'analysis.serviceLevels[0].name (line 1): must not be empty'],
  ])('is a wrong type or size in the words of YAML: %j', (text, problem) => {
    const found = fileProblems(file(text, 'located.yaml'), {}).map(problemText);
    expect(found).toContainEqual(expect.stringContaining(problem));
  });

  it('is found without the environment, and in the key file that it names', () => {
    const text = 'dataDir: /x\napi:\n  baseUrl: http://api.example.com/v1\n  keyFile: /nowhere\n';
    expect(fileProblems(file(text, 'located.yaml'), {}).map(({ setting, line }) => [setting, line])).toEqual([
      [expect.stringContaining('located.yaml: api.baseUrl'), 3],
      [expect.stringContaining('located.yaml: api.keyFile'), 4],
    ]);
  });
});

describe('the key', () => {
  it('comes from the environment, without the white space around it', () => {
    const { credentials } = loadConfigWithCredentials({
      env: { ...good, SIGNALHOUSE_API_KEY: ' svc_abc\n' },
    });
    expect(credentials).toEqual({ baseUrl: 'https://api.example.com/v1', apiKey: 'svc_abc' });
  });

  it('comes from a file, however that is named', () => {
    const keyFile = file('\ufeffsvc_from_file\r\n', 'key');
    const { SIGNALHOUSE_BASE_URL } = good;
    for (const sources of [
      { env: { SIGNALHOUSE_BASE_URL, SIGNALHOUSE_API_KEY_FILE: keyFile } },
      { env: { SIGNALHOUSE_BASE_URL }, configFile: file(`api: {keyFile: ${keyFile}}`) },
    ]) {
      expect(loadConfigWithCredentials(sources).credentials.apiKey).toBe('svc_from_file');
    }
  });

  it('is read again from its file, and every key that was read is told to who hides it', () => {
    const keyFile = file('svc_first', 'rotated');
    const { SIGNALHOUSE_BASE_URL } = good;
    const told: string[] = [];
    const { credentials } = loadConfigWithCredentials({
      env: { SIGNALHOUSE_BASE_URL, SIGNALHOUSE_API_KEY_FILE: keyFile },
      onSecret: (secret) => told.push(secret),
    });
    file('svc_second', 'rotated');
    expect(credentials.readKey?.()).toBe('svc_second');
    expect(told).toEqual(['svc_first', 'svc_second']);
    file('', 'rotated');
    expect(problemsOf(() => credentials.readKey?.())).toEqual([
      { setting: 'SIGNALHOUSE_API_KEY_FILE', problem: `${keyFile}: the key is empty` },
    ]);
    expect(loadConfigWithCredentials({ env: good }).credentials.readKey).toBeUndefined();
  });

  it('is no part of the settings', () => {
    const { config } = loadConfigWithCredentials({ env: good });
    expect(JSON.stringify(config)).not.toContain(good.SIGNALHOUSE_API_KEY);
  });

  it('is not taken from a file of settings, and not quoted', () => {
    const configFile = file('api: {apiKey: svc_secret_in_yaml}');
    const problems = problemsOf(() => loadConfigWithCredentials({ env: good, configFile }));
    expect(problems.map(({ setting }) => setting)).toEqual([`${configFile}: api.apiKey`]);
    expect(problems[0]?.problem).toContain('SIGNALHOUSE_API_KEY');
    expect(JSON.stringify(problems)).not.toContain('svc_secret_in_yaml');
  });

  it.each([
    ['missing', '/nowhere/key', 'ENOENT'],
    ['a folder', folder, 'EISDIR'],
    ['empty', file('\n', 'empty'), 'empty'],
    ['of several lines', file('svc_one\nsvc_two\n', 'two-lines'), 'white space'],
  ])('in a file that is %s is a problem of SIGNALHOUSE_API_KEY_FILE', (_, path, reason) => {
    const env = { SIGNALHOUSE_BASE_URL: good.SIGNALHOUSE_BASE_URL, SIGNALHOUSE_API_KEY_FILE: path };
    const problems = problemsOf(() => loadConfigWithCredentials({ env }));
    expect(problems).toEqual([
      { setting: 'SIGNALHOUSE_API_KEY_FILE', problem: expect.stringContaining(reason) },
    ]);
    expect(JSON.stringify(problems)).not.toContain('svc_');
  });
});

it('a further published file has a name of its own, and no path', () => {
  const names = ['ok.duckdb', 'Worker.duckdb', 'signals.duckdb', 'recovery.duckdb', '../out.duckdb', 'x.db'];
  const configFile = file(`publish: {also: [${names.map((name) => `{file: ${name}}`).join(', ')}]}`);
  const wrong = names.slice(1).map((_, index) => `${configFile}: publish.also[${index + 1}].file`);
  expect(settingsOf(() => loadConfig({ env: {}, configFile }))).toEqual(wrong);
});

describe('jobs', () => {
  it('are checked with everything else, also where another setting is wrong', () => {
    const configFile = file(`rateLimit: {requets: 10}
serve:
  jobs:
    - {name: a, run: sync, cron: '0 25 * * *'}
    - {name: a, run: push, cron: '0 3 * * *', timezone: Europe/Berln}
    - {name: b, run: pull, cron: bad}
    - {name: c, run: sync}
    - {name: d, run: sync, cron: '0 3 * * *', timezone: 5}
`);
    const sources = { env: {}, configFile, checkJobs: jobProblems };
    const expected = [
      'rateLimit.requets',
      'serve.jobs[2].run',
      'serve.jobs[3].cron',
      'serve.jobs[4].timezone',
      'serve.jobs[0].cron',
      'serve.jobs[1].name',
      'serve.jobs[1].timezone',
      'serve.jobs[2].cron',
    ].map((setting) => `${configFile}: ${setting}`);
    expect(settingsOf(() => loadConfig(sources))).toEqual(expected);
    const needed = ['SIGNALHOUSE_BASE_URL', 'SIGNALHOUSE_API_KEY'];
    expect(settingsOf(() => loadConfigWithCredentials(sources))).toEqual([...expected, ...needed]);
  });
});

it('name where the secrets come from, and never the secrets', () => {
  const env = {
    SIGNALHOUSE_API_KEY: 'svc_secret',
    SIGNALHOUSE_SERVE_TOKEN_FILE: '/run/token',
    SIGNALHOUSE_WEBHOOK_URL: '',
  };
  const found = secretSources({ env }, '/run/key');
  expect(found.slice(0, 4).map(({ source }) => source)).toEqual([
    'SIGNALHOUSE_API_KEY',
    '/run/token',
    null,
    null,
  ]);
  expect(JSON.stringify(found)).not.toContain('svc_secret');
  expect(secretSources({ env: {} }, '/run/key')[0]?.source).toBe('/run/key');
});

describe('a file with organizations', () => {
  const list = `dataDir: /srv
api: {baseUrl: https://api.example.com/v1}
rateLimit: {requests: 60}
push: {onConflict: overwrite}
organizations:
  - name: acme
    api: {keyFile: /nowhere/acme}
  - name: globex
    dataDir: /mnt/globex
    rateLimit: {windowMs: 1000}
    serve: {jobs: [{name: late, run: sync, cron: 0 5 * * *}]}
`;
  const told = (load: () => unknown) => {
    try {
      load();
    } catch (error) {
      if (error instanceof UsageError) return error.problems.map(problemText);
      throw error;
    }
    return [];
  };

  it('gives each what differs, and everything else from the top; a variable counts less than an entry', () => {
    const configFile = file(list);
    const env = { SIGNALHOUSE_RATE_LIMIT_REQUESTS: '90', SIGNALHOUSE_RATE_LIMIT_WINDOW_MS: '5000' };
    const acme = loadConfig({ configFile, env, organization: 'acme' });
    expect(acme).toMatchObject({ organization: 'acme', dataDir: '/srv/acme', jobsAtOnce: 1 });
    expect(acme.rateLimit).toEqual({ requests: 90, windowMs: 5000 });
    expect(acme.push.onConflict).toBe('overwrite');
    const globex = loadConfig({ configFile, env, organization: 'globex', together: 30 });
    expect(globex).toMatchObject({ organization: 'globex', dataDir: '/mnt/globex', jobsAtOnce: 2 });
    expect(globex.rateLimit).toEqual({ requests: 90, windowMs: 1000 });
    expect(globex.serve.jobs.map(({ name }) => name)).toEqual(['late']);
  });

  it('is asked for one of them, by a name that is in it', () => {
    const configFile = file(list);
    expect(told(() => loadConfig({ configFile, env: {} }))).toEqual([
      '--organization: is required: one of acme, globex',
    ]);
    expect(told(() => loadConfig({ configFile, env: {}, organization: 'globx' }))).toEqual([
      '--organization: "globx" is not one of acme, globex; did you mean globex?',
    ]);
    expect(told(() => loadConfig({ env: {}, organization: 'acme' }))).toHaveLength(1);
    const one = file('organizations: [{name: acme}]');
    expect(loadConfig({ configFile: one, env: {}, cwd: '/base' }).dataDir).toBe('/base/data/acme');
  });

  it.each([
    [
      'two of one name',
      'organizations:\n  - name: a\n  - name: a',
      'organizations[1].name (line 3): there are two',
    ],
    [
      'one directory for two',
      'dataDir: /d\norganizations:\n  - name: a\n  - name: b\n    dataDir: /d/../d/a/',
      'organizations[1].dataDir (line 5): /d/../d/a/ is the data directory of a already; leave it out for /d/b',
    ],
    ['a name with capitals', 'organizations:\n  - name: Acme Inc.', '(line 2): must have lowercase letters'],
    ['and what was meant', 'organizations:\n  - name: Acme Inc.', 'did you mean acme-inc?'],
    [
      'a setting that is none',
      'organizations:\n  - name: a\n    sinc: {}',
      'sinc (line 3): is not a setting; did you mean sync?',
    ],
    [
      'users of one of them',
      'organizations:\n  - name: a\n    serve: {users: []}',
      'organizations[0].serve.users (line 3): is for the whole service',
    ],
    ['none', 'organizations: []', 'must name at least one organization'],
  ])('is refused with %s', (_, content, problem) => {
    const configFile = file(content);
    expect(told(() => organizationNames({ configFile, env: {} }, false))).toContainEqual(
      expect.stringContaining(problem),
    );
    expect(fileProblems(configFile, {}).map(problemText)).toContainEqual(expect.stringContaining(problem));
  });

  it('names the entry of a setting that is wrong, or the top of the file, once', () => {
    const configFile = file(
      `sync: {recheck: often}\n${list.replace('/nowhere/acme', file('key'))}  - {name: third, push: {onConflict: fight}}`,
    );
    expect(fileProblems(configFile, {}).map(({ setting, line }) => [setting, line])).toEqual([
      [`${configFile}: sync.recheck`, 1],
      [`${configFile}: organizations[2].push.onConflict`, 13],
    ]);
  });

  it('that is no list hides nothing else that is wrong in the file', () => {
    const configFile = file('organizations: 3\nsync: {recheck: often}\nserve: {host: "::::"}');
    expect(fileProblems(configFile, {}).map(({ setting, line }) => [setting, line])).toEqual([
      [`${configFile}: organizations`, 1],
      [`${configFile}: sync.recheck`, 2],
      [`${configFile}: serve.host`, 3],
    ]);
  });

  it('names a key file that is not there or that holds no key, of every entry, and once where all inherit it', () => {
    const configFile = file(list.replace('/nowhere/acme', file('key-of-acme')));
    expect(fileProblems(configFile, {})).toEqual([]);
    const nowhere = file(`${list}  - {name: third, api: {keyFile: ${file('')}}}\n`);
    expect(fileProblems(nowhere, {}).map(problemText)).toEqual([
      `${nowhere}: organizations[0].api.keyFile (line 7): /nowhere/acme cannot be read: ENOENT`,
      expect.stringMatching(/organizations\[2\]\.api\.keyFile \(line 12\): \S+: the key is empty/),
    ]);
    const inherited = file('api: {keyFile: /nowhere/key}\norganizations: [{name: a}, {name: b}]');
    expect(fileProblems(inherited, {}).map(problemText)).toEqual([
      `${inherited}: api.keyFile (line 1): /nowhere/key cannot be read: ENOENT`,
    ]);
    const alone = file('api: {keyFile: /nowhere/key}');
    expect(fileProblems(alone, {}).map(problemText)).toEqual([
      `${alone}: api.keyFile (line 1): /nowhere/key cannot be read: ENOENT`,
    ]);
  });

  it('is refused whole at the start of a service that has no key for one of them', () => {
    const sources = { configFile: file(list), env: {}, organization: 'acme', together: 2 };
    expect(told(() => loadServeConfig(sources, () => []))).toEqual([
      expect.stringContaining('organizations[0].api.keyFile (line 7): /nowhere/acme cannot be read'),
    ]);
  });

  it('has no use for the one key of SIGNALHOUSE_API_KEY, unless only one needs it', () => {
    const key = file('key-of-acme');
    const both = {
      configFile: file(list.replace('/nowhere/acme', key)),
      env: { SIGNALHOUSE_API_KEY: 'one' },
    };
    expect(organizationNames(both, true)).toEqual(['acme', 'globex']);
    const keyOf = (organization: string) =>
      loadConfigWithCredentials({ ...both, organization }).credentials.apiKey;
    expect([keyOf('acme'), keyOf('globex')]).toEqual(['key-of-acme', 'one']);
    const neither = { ...both, configFile: file(list.replace(/keyFile: .*\}/, 'outageMinutes: 1}')) };
    expect(organizationNames(neither, false)).toEqual(['acme', 'globex']);
    expect(told(() => organizationNames(neither, true))).toEqual([
      expect.stringMatching(
        /organizations\[0\]\.api\.keyFile \(line 7\): is required: SIGNALHOUSE_API_KEY is the/,
      ),
      expect.stringContaining('organizations[1].api.keyFile'),
    ]);
  });

  it('has a key for each: two with one key would have the data of the same organization', () => {
    const shared = list.replace('/v1}', `/v1, keyFile: ${file('key-of-acme')}}`);
    const configFile = file(shared.replace('    api: {keyFile: /nowhere/acme}\n', ''));
    expect(organizationNames({ configFile, env: {} }, false)).toEqual(['acme', 'globex']);
    const problem =
      /organizations\[[01]\]\.api\.keyFile.*: \S+ is the key of one organization, and several use it: acme, globex/;
    expect(told(() => organizationNames({ configFile, env: {} }, true))).toEqual([
      expect.stringMatching(problem),
      expect.stringMatching(problem),
    ]);
  });

  it('has a key for each: two files, or a file and the variable, may hold the same one', () => {
    const [one, two] = [file('key-of-acme'), file('key-of-acme\n')];
    const ofAcme = list.replace('/nowhere/acme', one);
    const ofBoth = ofAcme.replace('name: globex', `name: globex\n    api: {keyFile: ${two}}`);
    const inFiles = { configFile: file(ofBoth), env: {} };
    const problem = `${one} and ${two} hold the same key: it is the key of one organization, and several use it`;
    expect(organizationNames(inFiles, false)).toEqual(['acme', 'globex']);
    expect(told(() => organizationNames(inFiles, true))).toEqual(
      Array(2).fill(expect.stringContaining(problem)),
    );
    const withVariable = { configFile: file(ofAcme), env: { SIGNALHOUSE_API_KEY: 'key-of-acme' } };
    expect(told(() => organizationNames(withVariable, true))).toEqual(
      Array(2).fill(expect.stringContaining(`${one} and SIGNALHOUSE_API_KEY hold the same key`)),
    );
  });
});
