// Completion in the policy's YAML: keys and values that the JSON Schema knows at the cursor.
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import type { Extension, Text } from "@codemirror/state";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  const?: unknown;
}

interface Place {
  /** Keys from the root to the mapping that the line belongs to; lists leave no trace. */
  path: string[];
  /** Keys and values already written in that mapping. */
  siblings: Map<string, string>;
}

const LINE = /^(\s*)((?:- +)*)(?:(["']?)([\w./-]+)\3\s*:(?:\s+(.*))?)?/;

interface Line {
  indent: number;
  key: string;
  value: string;
  dashed: boolean;
}

function parseLine(text: string): Line | null {
  if (/^\s*(#|$)/.test(text)) return null;
  const match = LINE.exec(text);
  if (!match) return null;
  const [, space = "", dashes = "", , key = "", value = ""] = match;
  return {
    indent: space.length + dashes.length,
    key,
    value: value.replace(/\s+#.*$/, "").replace(/^["']|["']$/g, ""),
    dashed: dashes !== "",
  };
}

/** Where the line stands, from the indentation of the lines around it. */
function findPlace(doc: Text, number: number, indent: number, startsItem: boolean): Place {
  const path: string[] = [];
  const siblings = new Map<string, string>();
  let limit = indent;
  let inItem = !startsItem;
  for (let above = number - 1; above > 0; above--) {
    const line = parseLine(doc.line(above).text);
    if (!line) continue;
    if (line.indent === limit && path.length === 0 && inItem) {
      if (line.key) siblings.set(line.key, line.value);
      if (line.dashed) inItem = false;
    }
    const outer = line.dashed ? doc.line(above).text.search(/\S/) : line.indent;
    if (line.indent < limit && line.key) {
      path.unshift(line.key);
      limit = line.indent;
    }
    // A dash opens an item: what holds the list lies at its column or left of it.
    if (line.dashed && outer < limit) limit = outer + 1;
  }
  for (let below = number + 1; below <= doc.lines; below++) {
    const line = parseLine(doc.line(below).text);
    if (!line) continue;
    if (line.indent < indent || line.dashed) break;
    if (line.indent === indent && line.key) siblings.set(line.key, line.value);
  }
  return { path, siblings };
}

function resolveSchema(root: Schema, schema: Schema | undefined): Schema | undefined {
  let current = schema;
  for (let step = 0; current && (current.$ref || current.items) && step < 20; step++) {
    const target: Schema | undefined = current.items ?? followReference(root, current.$ref ?? "");
    current = target;
  }
  return current;
}

function followReference(root: Schema, reference: string): Schema | undefined {
  const keys = reference.replace(/^#\//, "").split("/");
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root) as
    | Schema
    | undefined;
}

function schemaAt(root: Schema, path: string[], plugin: string): Schema | undefined {
  let current = resolveSchema(root, root);
  let previous = "";
  for (const key of path) {
    const isArgs = key === "args" && previous === "pluginConfig";
    current = isArgs
      ? resolveSchema(root, root.$defs?.[`${plugin}Args`])
      : resolveSchema(root, current?.properties?.[key]);
    previous = key;
  }
  return current;
}

/** The plugin whose arguments the line lies in: the name beside the nearest `args` above. */
function pluginOf(doc: Text, number: number): string {
  let indent = Infinity;
  for (let above = number; above > 0; above--) {
    const line = parseLine(doc.line(above).text);
    if (line?.key === "args" && line.indent < indent) {
      indent = line.indent;
      const { siblings } = findPlace(doc, above, line.indent, line.dashed);
      return siblings.get("name") ?? "";
    }
  }
  return "";
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function keyOption(root: Schema, key: string, property: Schema): Completion {
  const schema = resolveSchema(root, property);
  const type = property.type ?? schema?.type;
  const nested = Boolean(schema?.properties) || type === "object" || type === "array";
  const base = property.default === undefined ? {} : { detail: `default ${formatValue(property.default)}` };
  return {
    label: key,
    apply: nested ? `${key}:` : `${key}: `,
    type: "property",
    info: property.description ?? schema?.description ?? "",
    ...base,
  };
}

function listValueOptions(root: Schema, schema: Schema | undefined, key: string): Completion[] {
  const target = resolveSchema(root, schema?.properties?.[key]);
  const constants = (target?.anyOf ?? []).filter((constant) => constant.const !== undefined);
  if (constants.length) {
    return constants.map((constant) => ({
      label: constant.const === "*" ? '"*"' : formatValue(constant.const),
      type: "class",
      info: constant.description ?? "",
    }));
  }
  const allowedValues = target?.enum ?? (target?.type === "boolean" ? [true, false] : (target?.examples ?? []));
  return allowedValues
    .filter((value) => typeof value !== "object")
    .map((value) => ({ label: formatValue(value), type: "enum" }));
}

function completeAt(context: CompletionContext, root: Schema): CompletionResult | null {
  const line = context.state.doc.lineAt(context.pos);
  const prefix = line.text.slice(0, context.pos - line.from);
  const dashes = /^(\s*)((?:- +)*)/.exec(prefix);
  const indent = (dashes?.[0] ?? "").length;
  const startsItem = Boolean(dashes?.[2]);
  const { path, siblings } = findPlace(context.state.doc, line.number, indent, startsItem);
  const schema = schemaAt(root, path, pluginOf(context.state.doc, line.number));
  const content = prefix.slice(indent);
  const value = /^(["']?)([\w./-]+)\1\s*:\s+(["']?)([\w./*-]*)$/.exec(content);
  if (value) {
    const options = listValueOptions(root, schema, value[2] ?? "");
    return options.length ? { from: context.pos - (value[4] ?? "").length, options, validFor: /^[\w./*-]*$/ } : null;
  }
  if (!/^[\w-]*$/.test(content) || (!content && !context.explicit)) return null;
  const options = Object.entries(schema?.properties ?? {})
    .filter(([key]) => !siblings.has(key))
    .map(([key, property]) => keyOption(root, key, property));
  return options.length ? { from: context.pos - content.length, options, validFor: /^[\w-]*$/ } : null;
}

/** Completion from the schema that `load` fetches when it is first needed. */
export function schemaCompletion(load: () => Promise<Schema>): Extension {
  return autocompletion({
    override: [
      async (context) => {
        try {
          return completeAt(context, await load());
        } catch {
          return null; // Without the schema there is no completion, and everything else goes on.
        }
      },
    ],
  });
}
