/** Words of scripts in the language of the page: the catalogue is another script (kschedweb/locale), English is here. */

type Values = Record<string, string | number>;

interface Catalogue {
  gettext(text: string): string;
  ngettext(one: string, many: string, count: number): string;
}

function catalogue(): Catalogue | undefined {
  return (globalThis as { django?: Catalogue }).django;
}

function filled(text: string, values: Values): string {
  return text.replace(/%\((\w+)\)s/g, (all, name: string) => String(values[name] ?? all));
}

/** `text` with `values` in place of its "%(name)s". */
export function t(text: string, values: Values = {}): string {
  return filled(catalogue()?.gettext(text) ?? text, values);
}

/** `one` or `many`, by `count`, which is "%(count)s". */
export function n(one: string, many: string, count: number, values: Values = {}): string {
  return filled(catalogue()?.ngettext(one, many, count) ?? (count === 1 ? one : many), { count, ...values });
}
