import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ExecutionContext } from "ava";
import type { Page } from "playwright-core";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** A violation of one rule, as axe reports it. */
type Violation = {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
};

type Axe = {
  readonly run: (options: { resultTypes: string[] }) => Promise<{ readonly violations: readonly Violation[] }>;
};

export const SCHEMES = [
  { name: "light", colorScheme: "light", forcedColors: "none" },
  { name: "dark", colorScheme: "dark", forcedColors: "none" },
  { name: "forced colours", colorScheme: "dark", forcedColors: "active" },
] as const;

/** Asserts that axe finds no violation in the page as shown, in light, dark and forced colours. */
export async function assertAccessible(t: ExecutionContext, page: Page, what: string): Promise<void> {
  await page.evaluate(AXE);
  for (const { name, colorScheme, forcedColors } of SCHEMES) {
    await page.emulateMedia({ colorScheme, forcedColors });
    await settle(page);
    const violations = await page.evaluate(async () => {
      const { axe } = globalThis as unknown as { readonly axe: Axe };
      // Otherwise axe spends most of its time on describing what passed.
      return (await axe.run({ resultTypes: ["violations"] })).violations;
    });
    t.deepEqual(violations.flatMap(describe), [], `${what}, ${name}`);
  }
  await page.emulateMedia({ colorScheme: null, forcedColors: null });
}

/** Waits for fade-ins to end, because the contrast is too low half-way. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.all(ending.map(({ finished }) => finished.catch(() => undefined)));
  });
}

function describe({ id, help, nodes }: Violation): string[] {
  return nodes.slice(0, 5).map(({ html, failureSummary = "" }) => `${id}: ${help}\n${html}\n${failureSummary}`);
}
