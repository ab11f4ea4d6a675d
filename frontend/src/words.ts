/** Words of scripts in the language of the page: the catalogue is another script (kschedweb/locale), English is here. */

type Values = Record<string, string | number>;

interface Catalogue {
  gettext(text: string): string;
  ngettext(singular: string, plural: string, count: number): string;
}

function catalogue(): Catalogue | undefined {
  return (globalThis as { django?: Catalogue }).django;
}

function fillValues(text: string, values: Values): string {
  return text.replace(/%\((\w+)\)s/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}

/** `text` with `values` in place of its "%(name)s". */
export function translate(text: string, values: Values = {}): string {
  return fillValues(catalogue()?.gettext(text) ?? text, values);
}

/** `singular` or `plural`, by `count`, which is "%(count)s". */
export function translateCount(singular: string, plural: string, count: number, values: Values = {}): string {
  return fillValues(catalogue()?.ngettext(singular, plural, count) ?? (count === 1 ? singular : plural), {
    count,
    ...values,
  });
}
