// The sections of a pod and of a node.

import { SectionBox, SimpleTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import Link from '@mui/material/Link';
import Typography from '@mui/material/Typography';
import { ReactNode, useEffect, useState } from 'react';
import { Settings, useSettings } from './settings';
import { ask, Decision, join, nameCluster, NodeReport, SiteError } from './site';

const BEST_NODES = 3;
const NAMED_PODS = 3;

type State<Answer> = { answer?: Answer; error?: string };

function useAnswer<Answer>(settings: Settings, cluster: string, parts: string[], query = '') {
  const [state, setState] = useState<State<Answer>>({});
  const ready = !!(settings.address && settings.token);
  const subject = JSON.stringify([settings, cluster, parts, query]);
  useEffect(() => {
    if (!ready) return;
    const controller = new AbortController();
    setState({});
    ask<Answer>(settings, cluster, parts, controller.signal, query).then(
      answer => setState({ answer }),
      error => {
        if (controller.signal.aborted) return;
        const isTold = error instanceof SiteError;
        setState({ error: isTold ? error.message : `The answer cannot be read: ${error}` });
      }
    );
    return () => controller.abort();
  }, [subject, ready]);
  return { ready, ...state };
}

interface WhyProps<Answer> {
  cluster: string;
  /** Of the address that answers, below the cluster's. */
  parts: string[];
  query?: string;
  /** The site's page with the whole answer. */
  page: (settings: Settings) => string;
  children: (answer: Answer) => ReactNode;
}

function Why<Answer>({ cluster, parts, query, page, children }: WhyProps<Answer>) {
  const settings = useSettings() ?? {};
  const { ready, answer, error } = useAnswer<Answer>(settings, cluster, parts, query);
  return (
    <SectionBox title="Why?">
      {!ready && (
        <Typography>
          Enter the address of your kschedweb and a token under Settings → Plugins →
          kschedweb-headlamp.
        </Typography>
      )}
      {ready && !answer && !error && <Typography role="status">Asking kschedweb…</Typography>}
      {error && (
        <Typography role="alert" color="error">
          {error}
        </Typography>
      )}
      {answer && children(answer)}
      {ready && (
        <Link href={page(settings)} target="_blank" rel="noreferrer">
          The whole answer in kschedweb
        </Link>
      )}
    </SectionBox>
  );
}

interface PodProps {
  cluster: string;
  namespace: string;
  name: string;
}

export function PodWhy({ cluster, namespace, name }: PodProps) {
  return (
    <Why<Decision>
      cluster={cluster}
      parts={['pods', namespace, name, 'decision']}
      page={settings => join(settings, 'decision', nameCluster(settings, cluster), namespace, name)}
    >
      {decision => <DecisionText decision={decision} />}
    </Why>
  );
}

/** The answer as one sentence. */
export function tell({ status, scheduler, approval, bound_to, chosen, total }: Decision): string {
  if (status === 'handled_elsewhere')
    return `Another scheduler decides about it: ${scheduler.name}.`;
  if (approval) return approval.sentence;
  const feasible = Object.keys(total ?? {}).length;
  const best = chosen && `${chosen}, the best of ${feasible} that fit`;
  if (!bound_to) return best ? `It fits: it would go to ${best}.` : 'It fits no node.';
  if (chosen === bound_to) return `It runs on ${best}.`;
  return best
    ? `It runs on ${bound_to}. Decided now it would go to ${best}.`
    : `It runs on ${bound_to}. Decided now it would fit no node.`;
}

function DecisionText({ decision }: { decision: Decision }) {
  const { verdicts, fixes = [], total = {}, maximum } = decision;
  const best = Object.entries(total).sort((one, other) => other[1] - one[1]);
  return (
    <>
      <Typography>{tell(decision)}</Typography>
      {verdicts.length > 0 && (
        <SimpleTable
          data={verdicts}
          columns={[
            { label: 'Nodes', getter: row => row.count },
            { label: 'Why not', getter: row => row.words || row.reasons.join(', ') },
          ]}
        />
      )}
      {fixes.length > 0 && (
        <>
          <Typography variant="h6">What helps</Typography>
          <ol>
            {fixes.map(fix => (
              <li key={fix.sentence}>
                <Typography>{fix.sentence}</Typography>
                {fix.changes
                  .filter(change => change.command)
                  .map(change => (
                    <pre key={change.command}>{change.command}</pre>
                  ))}
              </li>
            ))}
          </ol>
        </>
      )}
      {best.length > 0 && (
        <SimpleTable
          data={best.slice(0, BEST_NODES)}
          columns={[
            { label: 'Best nodes', getter: ([node]) => node },
            { label: `Score, of ${maximum}`, getter: ([, points]) => points },
          ]}
        />
      )}
    </>
  );
}

export function NodeWhy({ cluster, name }: { cluster: string; name: string }) {
  return (
    <Why<NodeReport>
      cluster={cluster}
      parts={['nodes', name, 'report']}
      query="?places=false"
      page={settings =>
        `${join(settings, 'nodes', name)}?cluster=${encodeURIComponent(
          nameCluster(settings, cluster)
        )}`
      }
    >
      {report => <ReportText report={report} />}
    </Why>
  );
}

function ReportText({ report }: { report: NodeReport }) {
  const { fullest, resources, refused, fitting } = report;
  const level = resources.find(row => row.resource === fullest);
  return (
    <>
      <Typography>
        {level && `Fullest by ${fullest}: ${Math.round(level.requested_percent)} % is requested. `}
        {count(fitting.length, 'pending pod')} would fit now.
      </Typography>
      <SimpleTable
        data={resources}
        columns={[
          { label: 'Resource', getter: row => row.resource },
          { label: 'Requested, %', getter: row => Math.round(row.requested_percent) },
          {
            label: 'Used, %',
            getter: row => (row.used_percent === null ? '–' : Math.round(row.used_percent)),
          },
        ]}
      />
      {refused.length > 0 && (
        <SimpleTable
          data={refused}
          columns={[
            { label: 'Refuses', getter: row => namePods(row.pods) },
            { label: 'Why', getter: row => row.message },
          ]}
        />
      )}
    </>
  );
}

function namePods(pods: string[]): string {
  const named = pods.slice(0, NAMED_PODS).join(', ');
  return pods.length > NAMED_PODS ? `${named} and ${pods.length - NAMED_PODS} more` : named;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
