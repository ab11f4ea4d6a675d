// What a person enters once: where the site is, and a token that may read it.

import { ConfigStore, PluginSettingsDetailsProps } from '@kinvolk/headlamp-plugin/lib';
import { NameValueTable } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import TextField from '@mui/material/TextField';

export const PLUGIN = 'kschedweb-headlamp';

export interface Settings {
  /** Of the site, such as https://kschedweb.example.com. */
  address?: string;
  /** Of scope view. */
  token?: string;
  /** Clusters whose names differ, as HEADLAMP=SITE, separated by commas. */
  clusters?: string;
}

const store = new ConfigStore<Settings>(PLUGIN);
export const useSettings = store.useConfig();

const FIELDS: { name: keyof Settings; label: string; help: string; type?: string }[] = [
  {
    name: 'address',
    label: 'Address',
    help: 'Of kschedweb, such as https://kschedweb.example.com',
  },
  {
    name: 'token',
    label: 'Token',
    help: 'Of scope view, made under Settings → Tokens of kschedweb. This browser keeps it.',
    type: 'password',
  },
  {
    name: 'clusters',
    label: 'Clusters',
    help: 'Only where names differ: HEADLAMP=KSCHEDWEB, separated by commas',
  },
];

export function SettingsForm({ data, onDataChange }: PluginSettingsDetailsProps) {
  const settings: Settings = data ?? {};
  const rows = FIELDS.map(({ name, label, help, type }) => ({
    name: label,
    value: (
      <TextField
        fullWidth
        variant="standard"
        type={type ?? 'text'}
        value={settings[name] ?? ''}
        helperText={help}
        inputProps={{ 'aria-label': label, autoComplete: 'off', spellCheck: false }}
        onChange={event => onDataChange?.({ ...settings, [name]: event.target.value.trim() })}
      />
    ),
  }));
  return <NameValueTable rows={rows} />;
}
