// Builds src/ into dist/: one file for each entry, the stylesheet, and the icon sprite.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build, context } from "esbuild";

const out = "dist";
const entries = [
  "app.ts",
  "charts.ts",
  "nodemap.ts",
  "document-editor.ts",
  "approvals.ts",
  "connect.ts",
  "reference.ts",
  "css/app.css",
];
const icons = readFileSync("src/icons.txt", "utf8").split(/\s+/).filter(Boolean);

/** Gathers the icons named in src/icons.txt into one SVG file of symbols. */
function sprite() {
  const symbols = icons.map((name) => {
    const svg = readFileSync(`node_modules/lucide-static/icons/${name}.svg`, "utf8");
    const inner = svg
      .replace(/<!--.*?-->/gs, "")
      .replace(/^[\s\S]*?<svg[^>]*>/, "")
      .replace(/<\/svg>\s*$/, "");
    return `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${inner.replace(/\s+/g, " ").trim()}</symbol>`;
  });
  const mark = symbols[icons.indexOf("boxes")]
    .replaceAll("symbol", "svg")
    .replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"');
  writeFileSync(`${out}/favicon.svg`, `${mark.replace("currentColor", "#3d8bd9")}\n`);
  writeFileSync(`${out}/icons.svg`, `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>\n`);
}

const options = {
  entryPoints: entries
    .filter((name) => existsSync(`src/${name}`))
    .map((name) => ({ in: `src/${name}`, out: name.replace(/^css\//, "").replace(/\.\w+$/, "") })),
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  legalComments: "linked",
  logLevel: "warning",
  // Custom properties and light-dark() must reach the browser as they are written.
  supported: { nesting: true },
};

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
sprite();
if (process.argv.includes("--watch")) {
  await (await context(options)).watch();
} else {
  await build(options);
}
