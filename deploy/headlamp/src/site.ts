// The site's REST API, as far as this plugin reads it (docs/openapi.yaml of kschedweb).

import type { Settings } from './settings';

export interface Change {
  sentence: string;
  command: string;
}

export interface Fix {
  sentence: string;
  node: string;
  changes: Change[];
}

export interface Decision {
  status: string;
  scheduler: { name: string };
  approval: { sentence: string } | null;
  bound_to: string;
  chosen?: string;
  verdicts: { count: number; words: string; reasons: string[] }[];
  fixes?: Fix[];
  total?: Record<string, number>;
  maximum: number;
}

export interface NodeReport {
  fullest: string;
  resources: { resource: string; requested_percent: number; used_percent: number | null }[];
  refused: { message: string; pods: string[] }[];
  fitting: string[];
}

/** The answer of a large cluster comes by a job. */
interface Question<Answer> {
  id: string;
  state: string;
  error: string;
  answer: Answer | null;
}

const ENDED = new Set(['failed', 'cancelled']);
const RETRY_AFTER = 2; // seconds

/** An error whose message is for the person. */
export class SiteError extends Error {}

/** How the site calls the cluster that Headlamp calls `name`. */
export function nameCluster(settings: Settings, name: string): string {
  const pairs = (settings.clusters ?? '').split(',').map(pair => pair.split('='));
  return pairs.find(([headlamp]) => headlamp.trim() === name)?.[1]?.trim() || name;
}

/** The address of a page or of REST below the site, of parts that are escaped. */
export function join(settings: Settings, ...parts: string[]): string {
  const path = parts.map(encodeURIComponent).join('/');
  return `${(settings.address ?? '').replace(/\/+$/, '')}/${path}/`;
}

/** Asks about `parts` of a cluster, and waits for the job that answers where there is one. */
export async function ask<Answer>(
  settings: Settings,
  cluster: string,
  parts: string[],
  signal: AbortSignal,
  query = ''
): Promise<Answer> {
  const api = (...path: string[]) => join(settings, 'api', 'v1', ...path);
  const address = api('clusters', nameCluster(settings, cluster), ...parts) + query;
  const response = await read(settings, address, signal);
  if (response.status !== 202) return response.json();
  const retry = Number(response.headers.get('Retry-After') ?? RETRY_AFTER);
  let question: Question<Answer> = await response.json();
  while (!question.answer) {
    if (ENDED.has(question.state))
      throw new SiteError(question.error || `The job ${question.state}.`);
    await pause(retry, signal);
    question = await (
      await read(settings, api('decisions', 'questions', question.id), signal)
    ).json();
  }
  return question.answer;
}

async function read(settings: Settings, address: string, signal: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    const headers = { Authorization: `Bearer ${settings.token}` };
    response = await fetch(address, { headers, signal, credentials: 'omit' });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new SiteError(
      `${settings.address} does not answer, or not to pages of ${window.location.origin}: its operator allows them ` +
        'with KSCHEDWEB_API_ORIGINS.'
    );
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new SiteError(
    problem.detail || `${settings.address} answers with status ${response.status}.`
  );
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
