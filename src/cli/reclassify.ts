import { call, type ServiceOptions } from "./call.ts";
import { at, readMoment } from "./manage.ts";
import type { CommandOutput } from "./manage.ts";
import { printable } from "./terminal.ts";
import { untilEnded } from "./wait.ts";
import type { WaitedJob } from "./wait.ts";

type Reclassification = WaitedJob & {
  readonly from: string | null;
  readonly total: number | null;
  readonly done: number;
  readonly changed: number;
};

/** Reclassifies stored events of a log by the current filters, and by default waits until done. */
export async function applyClasses(
  options: ServiceOptions & { readonly from?: string; readonly wait?: boolean },
  log: string,
  stderr: NodeJS.WriteStream,
): Promise<CommandOutput> {
  const path = at("logs", log, "reclassify");
  const { from, wait = true } = options;
  const json = from === undefined ? {} : { from };
  const ordered = (await call(options, "POST", path, { json })) as Reclassification;
  if (!wait) return { value: ordered, text: `events of log ${printable(log)}${since(ordered)} are being reclassified` };
  const read = async () => (await call(options, "GET", path)) as Reclassification;
  const value = await untilEnded(ordered, read, show, stderr);
  return {
    value,
    text: `log ${printable(log)}${since(value)}: ${value.done} events examined, ${value.changed} changed`,
  };
}

function since({ from }: Reclassification): string {
  return from === null ? "" : ` from ${readMoment(from)} on`;
}

function show({ state, done, total, changed }: Reclassification): string {
  if (state === "waiting" || total === null) return "waiting to start";
  const share = total === 0 ? 100 : Math.floor((100 * done) / total);
  return `${done} of ${total} events (${share} %), ${changed} changed`;
}
