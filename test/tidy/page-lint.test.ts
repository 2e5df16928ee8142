import test from "ava";

import { lintPlanted } from "./planted-lint.ts";

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
  const component = (body: string) =>
    `export function Planted({ text, root }: { text: string; root: HTMLElement }) {\n  return ${body};\n}\n`;
  const planted: Readonly<Record<string, string>> = Object.fromEntries(
    Object.entries(PLANTED).map(([name, body]) => [`src/web/${name}.tsx`, component(body)]),
  );
  const harmless = { "src/web/harmless.tsx": component("<p title={root.title}>{text}</p>") };
  const { faulty, output } = lintPlanted(t, { ...planted, ...harmless });
  t.deepEqual(faulty, Object.keys(planted).toSorted(), output);
});
