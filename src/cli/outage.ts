import { printable } from "./terminal.ts";

/** How long a service may be busy or silent before it is reported, in milliseconds. */
const SILENT_MS = 4_000;

/** Reports once that a service accepts no posts, and once more when it recovers. */
export type Outage = {
  /** Address of the service. */
  readonly where: string;
  /** Records a failed attempt: the service is unreachable, or asks the client to wait. */
  failed(kind: "unreachable" | "busy", why: string): void;
  succeeded(): void;
  /** Watches an attempt, which may never be answered. */
  watch<T>(attempt: Promise<T>): Promise<T>;
};

export function createOutage(options: { where: string; patience_s: number; note: (text: string) => void }): Outage {
  const { where, patience_s, note } = options;
  let since_ms: number | null = null;
  let isReported = false;
  const report = (why: string): void => {
    if (isReported) return;
    isReported = true;
    const until = patience_s === Infinity ? "until it does" : `for ${patience_s} s`;
    note(`loggia: ${printable(`${where} accepts no posts: ${why}`)}; retrying ${until}`);
  };
  return {
    where,
    failed(kind, why) {
      since_ms ??= performance.now();
      if (kind === "unreachable" || performance.now() - since_ms >= SILENT_MS) report(why);
    },
    succeeded() {
      if (isReported) note(`loggia: ${printable(where)} accepts posts again`);
      since_ms = null;
      isReported = false;
    },
    async watch(attempt) {
      const timer = setTimeout(() => report("it does not answer"), SILENT_MS);
      try {
        return await attempt;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
