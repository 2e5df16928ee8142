import type { Suite } from "./selection.ts";

export type Arguments = {
  readonly suite: Suite;
  /** Files or folders below `test/`; none means the whole suite. */
  readonly names: readonly string[];
  readonly repetitions: number;
  /** Options that are passed on to ava. */
  readonly options: readonly string[];
};

const REPEAT = /^--repeat=(.*)$/;

/** Reads the arguments of a run. @throws Error that says what is wrong */
export function readArguments(args: readonly string[]): Arguments {
  const own = (arg: string): boolean => arg === "--fast" || arg === "--long" || REPEAT.test(arg);
  if (args.includes("--fast") && args.includes("--long")) throw new Error("Give --fast or --long, not both.");
  const repeat = args.map((arg) => REPEAT.exec(arg)?.[1]).find((given) => given !== undefined);
  if (repeat !== undefined && !/^[1-9]\d{0,5}$/.test(repeat)) {
    throw new Error(`REPEAT is "${repeat}"; give a whole number of repetitions, such as 150.`);
  }
  const suite = args.includes("--fast") ? "fast" : args.includes("--long") ? "long" : "standard";
  return {
    suite,
    names: args.filter((arg) => !arg.startsWith("-")),
    repetitions: Number(repeat ?? 1),
    options: args.filter((arg) => arg.startsWith("-") && !own(arg)),
  };
}
