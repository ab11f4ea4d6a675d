/** Reads the contexts of a kubeconfig, so that they are a choice before anything leaves the page. */
import { parser } from "@lezer/yaml";

type SyntaxNode = ReturnType<typeof parser.parse>["topNode"];
type Value = string | Value[] | Map<string, Value>;

/** A context, with what is known of its cluster and user. No credentials are kept. */
export interface KubeconfigContext {
  name: string;
  server: string;
  /** The certificate authority as PEM text; "" if the file holds none. */
  ca: string;
  /** The program or provider that makes its credentials; "" if they are in the file. */
  program: string;
}

export interface Kubeconfig {
  contexts: KubeconfigContext[];
  /** The context that is used if none is chosen; "" if none is current. */
  current: string;
}

/** The contexts of `text`, YAML or JSON; null if it is no kubeconfig. */
export function readKubeconfig(text: string): Kubeconfig | null {
  const tree = parser.parse(text);
  const document = tree.topNode.getChild("Document");
  const root = document ? readValue(contentOf(document), text) : "";
  if (!(root instanceof Map) || !Array.isArray(root.get("contexts"))) return null;
  const [clusters, users] = [entriesByName(root, "clusters", "cluster"), entriesByName(root, "users", "user")];
  const contexts = [...entriesByName(root, "contexts", "context")].map(([name, context]) => {
    const cluster = clusters.get(textOf(context, "cluster"));
    return {
      name,
      server: textOf(cluster, "server"),
      ca: decodeBase64(textOf(cluster, "certificate-authority-data")),
      program: programOf(users.get(textOf(context, "user"))),
    };
  });
  const current = textOf(root, "current-context");
  const isListed = contexts.some((context) => context.name === current);
  return contexts.length ? { contexts, current: isListed ? current : "" } : null;
}

/** A name for the cluster of `context`: its last part, as the site accepts names. */
export function suggestName(context: string): string {
  const parts = context.split(/[/@:]/).filter(Boolean);
  const slug = (parts.at(-1) ?? "").toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return slug.slice(0, 63).replace(/^-+|-+$/g, "");
}

/** `text` as one word of a shell. */
export function quoteWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

function programOf(user: Value | undefined): string {
  for (const key of ["exec", "auth-provider"]) {
    const maker = user instanceof Map ? user.get(key) : undefined;
    if (maker instanceof Map && maker.size) return textOf(maker, "command") || textOf(maker, "name") || key;
  }
  return "";
}

function entriesByName(root: Map<string, Value>, plural: string, singular: string): Map<string, Value> {
  const listed = root.get(plural);
  const entries = new Map<string, Value>();
  for (const entry of Array.isArray(listed) ? listed : []) {
    const name = textOf(entry, "name");
    if (name && entry instanceof Map) entries.set(name, entry.get(singular) ?? new Map());
  }
  return entries;
}

function textOf(value: Value | undefined, key: string): string {
  const text = value instanceof Map ? value.get(key) : "";
  return typeof text === "string" ? text : "";
}

function decodeBase64(text: string): string {
  try {
    return atob(text.replace(/\s+/g, ""));
  } catch {
    return "";
  }
}

const VALUES = [
  "BlockMapping",
  "FlowMapping",
  "BlockSequence",
  "FlowSequence",
  "Literal",
  "QuotedLiteral",
  "BlockLiteral",
];

/** The first child of `node` that is a value, also below a tag or an anchor. */
function contentOf(node: SyntaxNode): SyntaxNode | null {
  for (let child = node.firstChild; child; child = child.nextSibling) {
    if (VALUES.includes(child.name)) return child;
    if (child.name === "Tagged" || child.name === "Anchored") return contentOf(child);
  }
  return null;
}

function readValue(node: SyntaxNode | null, text: string): Value {
  if (!node) return "";
  if (node.name.endsWith("Mapping")) return readMapping(node, text);
  if (node.name.endsWith("Sequence")) return readSequence(node, text);
  return readScalar(node, text);
}

function readMapping(node: SyntaxNode, text: string): Map<string, Value> {
  const mapping = new Map<string, Value>();
  for (const pair of node.getChildren("Pair")) {
    const key = pair.getChild("Key");
    if (key) mapping.set(readScalar(contentOf(key), text), readValue(contentOf(pair), text));
  }
  return mapping;
}

function readSequence(node: SyntaxNode, text: string): Value[] {
  return node.getChildren("Item").map((item) => readValue(contentOf(item), text));
}

function readScalar(node: SyntaxNode | null, text: string): string {
  if (!node) return "";
  if (node.name === "BlockLiteral") {
    const content = node.getChild("BlockLiteralContent");
    return content ? text.slice(content.from, content.to).replace(/^\s+/gm, "").trim() : "";
  }
  const raw = text.slice(node.from, node.to);
  if (node.name !== "QuotedLiteral") return raw === "null" || raw === "~" ? "" : raw;
  if (raw.startsWith("'")) return raw.slice(1, -1).replaceAll("''", "'");
  try {
    return String(JSON.parse(raw));
  } catch {
    return raw.slice(1, -1);
  }
}
