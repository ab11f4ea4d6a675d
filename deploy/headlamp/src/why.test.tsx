// The sections over answers of a real site, which a server of this machine gives: answers.json holds what REST answered
// about the demo, and a test of kschedweb keeps it true.

import { ConfigStore } from '@kinvolk/headlamp-plugin/lib';
import { ThemeProvider } from '@mui/material/styles';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ReactNode } from 'react';
import { Provider } from 'react-redux';
import { MemoryRouter } from 'react-router-dom';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lightTheme } from '../node_modules/@kinvolk/headlamp-plugin/lib/components/App/defaultAppThemes';
import { createMuiTheme } from '../node_modules/@kinvolk/headlamp-plugin/lib/lib/themes';
import store from '../node_modules/@kinvolk/headlamp-plugin/lib/redux/stores/store';
import answers from './answers.json';
import { WhySection } from './index';
import { PLUGIN, Settings, SettingsForm } from './settings';
import { join, nameCluster } from './site';

// Headlamp's configuration takes modules of Node for those of browsers.
const { createServer } = globalThis.process.getBuiltinModule('node:http');
const TOKEN = 'ksw_test';
const CLUSTER = '/api/v1/clusters/demo/';
const QUESTION = {
  id: '0199f1a2-7c3d-7e4f-8a5b-6c7d8e9f0a1b',
  state: 'running',
  error: '',
  answer: null,
};

let server: Server;
let address: string;
let asked: string[];
/** How often the site says that its job still runs, and how the job ends. */
let job: { waits: number; error: string };

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Allow-Headers', 'Authorization');
    response.setHeader('Access-Control-Expose-Headers', 'Retry-After');
    response.setHeader('Retry-After', '0');
    response.setHeader('Content-Type', 'application/json');
    const [status, body] = answerTo(
      request.method ?? '',
      path,
      request.headers.authorization ?? ''
    );
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
});

beforeEach(() => {
  asked = [];
  job = { waits: 0, error: '' };
});

afterEach(cleanup);

function answerTo(method: string, path: string, authorization: string): [number, object] {
  if (method === 'OPTIONS') return [204, {}];
  if (authorization !== `Bearer ${TOKEN}`) return [401, { detail: 'The token is not known.' }];
  const answer = (answers as Record<string, object>)[path.replace(CLUSTER, '')];
  if (path.includes('/questions/')) {
    job.waits -= 1;
    if (job.waits > 0) return [200, QUESTION];
    if (job.error) return [200, { ...QUESTION, state: 'failed', error: job.error }];
    return [
      200,
      { ...QUESTION, state: 'succeeded', answer: answers['nodes/gpu-a-2/report/?places=false'] },
    ];
  }
  if (job.waits) return [202, QUESTION];
  return answer ? [200, answer] : [404, { detail: `There is no ${path}.` }];
}

/** What Headlamp has around every page. */
function Headlamp({ children }: { children: ReactNode }) {
  return (
    <Provider store={store}>
      <ThemeProvider theme={createMuiTheme(lightTheme)}>
        <MemoryRouter>{children}</MemoryRouter>
      </ThemeProvider>
    </Provider>
  );
}

function show(kind: string, metadata: object, settings: Settings = {}) {
  new ConfigStore<Settings>(PLUGIN).set({ address, token: TOKEN, ...settings });
  const resource = { kind, cluster: 'demo', metadata } as any;
  return render(<WhySection resource={resource} />, { wrapper: Headlamp });
}

describe('a pod', () => {
  test('that fits nowhere: why, and what helps with its command', async () => {
    show('Pod', { namespace: 'analytics', name: 'cube-builder' });
    await screen.findByText('It fits no node.');
    screen.getByText('have less than 60 CPU free');
    const { fixes } = answers['pods/analytics/cube-builder/decision/'];
    expect(fixes.length).toBeGreaterThan(0);
    for (const fix of fixes) screen.getByText(fix.sentence);
    for (const change of fixes.flatMap(fix => fix.changes)) {
      if (change.command) screen.getByText(change.command);
    }
    const link = screen.getByText('The whole answer in kschedweb') as HTMLAnchorElement;
    expect(link.href).toBe(`${address}/decision/demo/analytics/cube-builder/`);
  });

  test('that fits: where it would go, and the best nodes', async () => {
    show('Pod', { namespace: 'ml', name: 'notebook' });
    const { chosen } = answers['pods/ml/notebook/decision/'];
    await screen.findByText(new RegExp(`^It fits: it would go to ${chosen}, the best of`));
    screen.getByText('Best nodes');
  });

  test('that runs: where, and whether it would go there again', async () => {
    show('Pod', { namespace: 'kube-system', name: 'kube-proxy-9lq6f' });
    await screen.findByText(/^It runs on general-a-1/);
  });
});

describe('a node', () => {
  test('how full it is, and whom it refuses', async () => {
    show('Node', { name: 'gpu-a-2' });
    const report = answers['nodes/gpu-a-2/report/?places=false'];
    await screen.findByText(new RegExp(`^Fullest by ${report.fullest}: \\d+ % is requested.`));
    for (const { message } of report.refused) expect(screen.getAllByText(message).length).toBe(1);
    const link = screen.getByText('The whole answer in kschedweb') as HTMLAnchorElement;
    expect(link.href).toBe(`${address}/nodes/gpu-a-2/?cluster=demo`);
  });

  test('of a large cluster, whose answer a job finds', async () => {
    job.waits = 3;
    show('Node', { name: 'gpu-a-2' });
    await screen.findByText(/^Fullest by/);
    expect(asked.filter(path => path.includes(QUESTION.id)).length).toBeGreaterThan(1);
  });

  test('whose job fails: why', async () => {
    job = { waits: 2, error: 'The snapshot was deleted.' };
    show('Node', { name: 'gpu-a-2' });
    await screen.findByText('The snapshot was deleted.');
  });
});

test('other kinds have no section', () => {
  expect(show('Service', { namespace: 'default', name: 'web' }).container.textContent).toBe('');
});

test('without settings it says where they are, and asks nobody', async () => {
  show('Pod', { namespace: 'ml', name: 'notebook' }, { token: '' });
  screen.getByText(/^Enter the address of your kschedweb and a token/);
  expect(asked).toEqual([]);
});

test.each([
  [{ token: 'ksw_other' }, 'The token is not known.'],
  [
    { clusters: 'demo=production' },
    'There is no /api/v1/clusters/production/pods/ml/notebook/decision/.',
  ],
  [{ address: 'http://127.0.0.1:9' }, /its operator allows them with KSCHEDWEB_API_ORIGINS\.$/],
])('what is wrong is said: %o', async (settings, message) => {
  show('Pod', { namespace: 'ml', name: 'notebook' }, settings);
  expect((await screen.findByRole('alert')).textContent).toMatch(message);
});

test('names of clusters are mapped, and addresses escaped', () => {
  const settings = { address: 'https://example.com/base/', clusters: 'kind-dev = dev, main=prod' };
  expect(['kind-dev', 'main', 'other'].map(name => nameCluster(settings, name))).toEqual([
    'dev',
    'prod',
    'other',
  ]);
  expect(join(settings, 'nodes', 'a/b')).toBe('https://example.com/base/nodes/a%2Fb/');
});

test('the form of settings hands on what is entered, with the token hidden', () => {
  let saved: Settings = { address: 'https://example.com' };
  render(<SettingsForm data={saved} onDataChange={data => (saved = data)} />, {
    wrapper: Headlamp,
  });
  const token = screen.getByLabelText('Token') as HTMLInputElement;
  expect(token.type).toBe('password');
  fireEvent.change(token, { target: { value: ' ksw_1 ' } });
  expect(saved).toEqual({ address: 'https://example.com', token: 'ksw_1' });
});
