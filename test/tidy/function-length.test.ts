import test from "ava";

import { lintPlanted } from "./planted-lint.ts";

/** Most lines of a function in `src` and `pipelines`. */
const MOST_LINES = 100;

const FORMS: Readonly<Record<string, (body: string) => string>> = {
  "src/declared.ts": (body) => `export function planted(text: string): void {\n${body}\n}\n`,
  "src/bus/kafka/arrow.ts": (body) => `export const planted = (text: string): void => {\n${body}\n};\n`,
  "pipelines/notify/method.ts": (body) => `export class Planted {\n  write(text: string): void {\n${body}\n  }\n}\n`,
  "src/web/features/list/component.tsx": (body) =>
    `export function Planted({ text }: { text: string }) {\n${body.split("\n").slice(1).join("\n")}\n  return <p>{text}</p>;\n}\n`,
};

/** Plants each form of a function with so many lines in all. */
function plantedFunctions(lines: number): Record<string, string> {
  const body = Array.from({ length: lines - 2 }, () => "    console.log(text);").join("\n");
  return Object.fromEntries(Object.entries(FORMS).map(([path, write]) => [path, write(body)]));
}

test("the lint rules find every function of more than 100 lines, and none of 100", (t) => {
  const long = lintPlanted(t, plantedFunctions(MOST_LINES + 1));
  t.deepEqual(long.faulty, Object.keys(FORMS).toSorted(), long.output);
  const short = lintPlanted(t, plantedFunctions(MOST_LINES));
  t.deepEqual(short.faulty, [], short.output);
});
