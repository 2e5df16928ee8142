import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import test from "ava";

const WEB = join(import.meta.dirname, "../../src/web");
const SHEETS = join(WEB, "css");

type Module = {
  /** Modules and style sheets loaded with it. */
  readonly imports: readonly string[];
  /** Modules loaded on demand. */
  readonly lazy: readonly string[];
  readonly words: ReadonlySet<string>;
};

/** The class names for which each style sheet has rules. */
const rules = new Map(
  readdirSync(SHEETS)
    .filter((name) => name.endsWith(".css"))
    .map((name) => [join(SHEETS, name), classesOf(readFileSync(join(SHEETS, name), "utf8"))]),
);

function classesOf(sheet: string): ReadonlySet<string> {
  const selectors = sheet.replaceAll(/\/\*.*?\*\//gs, "").matchAll(/(?<=^|[{};])[^{};]+(?=\{)/g);
  return new Set(
    [...selectors].flatMap(([selector]) => [...selector.matchAll(/\.(?<name>[a-z][\w-]*)/g)].map(([, name]) => name!)),
  );
}

const modules = new Map(
  readdirSync(WEB, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => [join(WEB, name), moduleOf(join(WEB, name))]),
);

function moduleOf(path: string): Module {
  const text = readFileSync(path, "utf8");
  const pathsIn = (expression: RegExp) => [...text.matchAll(expression)].map(([, to]) => join(dirname(path), to!));
  const attributes = text.matchAll(/(?<![-\w])(?:class|\w+Class)(?:="[^"]*"|=\{[^}]*(?:\$\{[^}]*\}[^}]*)*\})/g);
  const literals = [...attributes].flatMap(([attribute]) => [...attribute.matchAll(/["`]([^"`]*)["`]/g)]);
  return {
    imports: pathsIn(/^(?:import (?!type\b)(?:[^"();]* from )?|\} from |export \{[^}]*\} from )"(\.[^"]+)";/gm),
    lazy: pathsIn(/\bimport\("(\.[^"]+)"\)/g),
    words: new Set(literals.flatMap(([, words]) => words!.split(/[^\w-]+/))),
  };
}

function closureOf(entry: string, closure = new Set<string>()): ReadonlySet<string> {
  if (closure.has(entry)) return closure;
  closure.add(entry);
  for (const path of modules.get(entry)?.imports ?? []) closureOf(path, closure);
  return closure;
}

test("each part of the page loads the style sheets of the classes that it uses", (t) => {
  const first = closureOf(join(WEB, "main.tsx"));
  const always = [...readFileSync(join(WEB, "page.css"), "utf8").matchAll(/@import "(.+?)"/g)].map(([, path]) =>
    join(WEB, path!),
  );
  t.true(always.length > 5);
  const entries = [...new Set([...modules.values()].flatMap(({ lazy }) => lazy))];
  t.true(entries.length > 20);
  const missing = [join(WEB, "main.tsx"), ...entries].flatMap((entry) => {
    const closure = closureOf(entry);
    const sheets = [...closure, ...first, ...always].filter((path) => path.endsWith(".css"));
    return [...closure].flatMap((path) => {
      const { words = [], lazy = [] } = modules.get(path) ?? {};
      // The content of a lazy component, such as its popover, is styled once that is loaded.
      const held = lazy.flatMap((each) => [...closureOf(each)]).filter((each) => each.endsWith(".css"));
      const has = (word: string) => [...sheets, ...held].some((sheet) => rules.get(sheet)!.has(word));
      return [...words].flatMap((word) => {
        const owners = [...rules].filter(([, names]) => names.has(word)).map(([sheet]) => relative(SHEETS, sheet));
        if (owners.length === 0 || has(word)) return [];
        return [`${relative(WEB, entry)}: ${relative(WEB, path)} uses .${word} of ${owners.join(" or ")}`];
      });
    });
  });
  t.deepEqual(missing, []);
});
