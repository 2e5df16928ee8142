import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import test from "ava";

import { temporaryFolder } from "../support/temporary.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Ways to turn a text into HTML, scripts or styles, each a component in a file of its own. */
const PLANTED: Readonly<Record<string, string>> = {
  innerHTML: "(root.innerHTML = text, null)",
  outerHTML: "(root.outerHTML = text, null)",
  insertAdjacentHTML: '(root.insertAdjacentHTML("beforeend", text), null)',
  write: "(document.write(text), null)",
  createContextualFragment: "(document.createRange().createContextualFragment(text), null)",
  cssText: "(root.style.cssText = text, null)",
  createPolicy: '(trustedTypes.createPolicy("all", {}), null)',
  danger: "<p dangerouslySetInnerHTML={{ __html: text }} />",
  attribute: "<p innerHTML={text} />",
  frame: '<iframe sandbox="" title="x" srcdoc={text} />',
  style: "<p style={text} />",
  address: '<a href="javascript:alert(1)">x</a>',
  eval: "(eval(text), null)",
};

test("the page's lint rules find every way in which a text could become HTML, a script or a style", (t) => {
  const folder = temporaryFolder(t);
  copyFileSync(join(ROOT, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
  mkdirSync(join(folder, "src/web"), { recursive: true });
  const component = (body: string) =>
    `export function Planted({ text, root }: { text: string; root: HTMLElement }) {\n  return ${body};\n}\n`;
  for (const [name, body] of Object.entries(PLANTED))
    writeFileSync(join(folder, `src/web/${name}.tsx`), component(body));
  writeFileSync(join(folder, "src/web/harmless.tsx"), component("<p title={root.title}>{text}</p>"));
  const { stdout } = spawnSync(join(ROOT, "node_modules/.bin/oxlint"), ["--format=unix"], {
    cwd: folder,
    encoding: "utf8",
  });
  const found = new Set([...stdout.matchAll(/^src\/web\/(\w+)\.tsx:/gm)].map(([, name = ""]) => name));
  t.deepEqual([...found].toSorted(), Object.keys(PLANTED).toSorted(), stdout);
});
