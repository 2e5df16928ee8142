import type { Kind } from "./support/storage.ts";
import type { World } from "./support/world.ts";

/** A benchmark. Each has a file beside this one and a line in `benchmarks.ts`. */
export type Benchmark = {
  readonly name: string;
  /** Engines that it runs on. Default: all. */
  readonly kind?: Kind;
  /** Whether it runs only by name, since it takes minutes. */
  readonly isOptIn?: boolean;
  /** One line on what is measured against which limit. */
  readonly about: string;
  readonly run: (bench: Bench) => Promise<void>;
};

/** Context of a benchmark. */
export type Bench = {
  /** Runs for seconds instead of minutes, to verify the harness. The figures mean little. */
  readonly quick: boolean;
  /** Whether it was requested by name, and may take longer: a complete run has 25 minutes. */
  readonly named: boolean;
  readonly world: World;
  readonly report: Report;
};

/** One of several ways to do the same work. `once` returns a round's figure: a rate or a time. */
export type Variant = { readonly name: string; readonly once: () => Promise<number> };

/**
 * Returns the figures of each way by round. Every way runs once per round. Each round starts with
 * another way and reverses the direction, so that other load of the machine, and the after-effects
 * of a way, affect all ways alike.
 *
 * @param options.least minimum number of rounds
 * @param options.most maximum number of rounds
 * @param options.budget_ms time after which no further round starts
 */
export async function interleaved(
  variants: readonly Variant[],
  options: { least: number; most?: number; budget_ms?: number },
): Promise<Figures[]> {
  const { least, most = least, budget_ms = Infinity } = options;
  const figures: number[][] = variants.map(() => []);
  const end_ms = performance.now() + budget_ms;
  for (let round = 0; round < least || (round < most && performance.now() < end_ms); round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const step = round % 2 === 0 ? turn : variants.length - turn;
      const i = (round + step) % variants.length;
      figures[i]!.push(await variants[i]!.once());
    }
  }
  return variants.map(({ name }, i) => ({ name, rounds: figures[i]! }));
}

/** Figures of a way, one per round. */
export type Figures = { readonly name: string; readonly rounds: readonly number[] };

/** Returns the duration of `work` in milliseconds. */
export async function time_ms(work: () => Promise<unknown>): Promise<number> {
  const start_ms = performance.now();
  await work();
  return performance.now() - start_ms;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** @param part from 0 (minimum) to 1 (maximum) */
export function quantile(values: ArrayLike<number>, part: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return NaN;
  const place = (sorted.length - 1) * part;
  const low = sorted[Math.floor(place)]!;
  return low + (sorted[Math.ceil(place)]! - low) * (place - Math.floor(place));
}

/** Target of a figure. */
export type Target = { readonly kind: "at least" | "at most"; readonly value: number };

export type Unit = "/s" | "ms" | "µs" | "MB" | "KiB" | "bytes" | "×";

/** Prints results and collects verdicts. */
export type Report = {
  line(text?: string): void;
  /**
   * Reports the figures of a way, those of a limit in the same rounds, and the ratio of each round
   * by median and spread. Without a target there is no verdict.
   */
  ratio(row: { name: string; unit: Unit; ours: Figures; limit: Figures; target?: Target }): void;
  /** Reports a figure that is judged by itself. */
  figure(row: { name: string; unit: Unit; ours: Figures; target?: Target }): void;
  /** Reports whether something holds. */
  fact(name: string, holds: boolean): void;
  table(rows: readonly (readonly string[])[]): void;
  readonly verdicts: readonly Verdict[];
};

export type Verdict = { readonly name: string; readonly reached: boolean; readonly text: string };

export function createReport(print: (line: string) => void): Report {
  const verdicts: Verdict[] = [];
  function judge(name: string, value: number, unit: Unit, target: Target | undefined): string {
    if (target === undefined) return "";
    const reached = target.kind === "at least" ? value >= target.value : value <= target.value;
    const text = `${show(value, unit)} ${unit}, target: ${target.kind} ${show(target.value, unit)} ${unit}`;
    verdicts.push({ name, reached, text });
    return `   ${target.kind} ${show(target.value, unit)}: ${reached ? "reached" : "MISSED"}`;
  }
  return {
    verdicts,
    line: (text = "") => print(text),
    ratio({ name, unit, ours, limit, target }) {
      const ratios = { name, rounds: ours.rounds.map((figure, i) => figure / limit.rounds[i]!) };
      print(`  ${name}`);
      print(`    ${limit.name.padEnd(28)} ${spread(limit, unit)} ${unit}`);
      print(`    ${ours.name.padEnd(28)} ${spread(ours, unit)} ${unit}`);
      print(`    ${"ratio".padEnd(28)} ${spread(ratios, "×")} ×${judge(name, median(ratios.rounds), "×", target)}`);
    },
    figure({ name, unit, ours, target }) {
      const verdict = judge(name, median(ours.rounds), unit, target);
      print(`  ${name.padEnd(30)} ${spread(ours, unit)} ${unit}${verdict}`);
    },
    fact(name, reached) {
      verdicts.push({ name, reached, text: reached ? "yes" : "no" });
      print(`  ${name}: ${reached ? "yes" : "NO"}`);
    },
    table(rows) {
      const widths = rows[0]!.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
      for (const row of rows) {
        print(`  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  ")}`);
      }
    },
  };
}

/** Formats the median and the range from the 10th to the 90th percentile of the rounds. */
function spread({ rounds }: Figures, unit: Unit): string {
  const [low, middle, high] = [0.1, 0.5, 0.9].map((part) => show(quantile(rounds, part), unit));
  return `${middle!.padStart(9)}  (${low} to ${high}, ${rounds.length} rounds)`;
}

export function show(value: number, unit: Unit): string {
  const digits = unit === "/s" || unit === "MB" ? 0 : value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
