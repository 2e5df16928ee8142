import { Counter, Gauge } from "@prometheus-io/client";
import type { Registry } from "@prometheus-io/client";

/** A counter that is read, whenever somebody asks, from where the counting is done. */
export function readCounter(registry: Registry, name: string, help: string, read: () => number): Counter {
  return new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** The same by the values of one label, which come from a fixed set. */
export function readCounters(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [value: string, count: number]>,
): Counter {
  return new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      this.reset();
      for (const [value, count] of read()) this.inc({ [label]: value }, count);
    },
  });
}

/** A gauge that is read whenever somebody asks. null, or a failure: not known, and not told. */
export function readGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number | null | Promise<number | null>,
): Gauge {
  return new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await Promise.try(read).catch(() => null);
      if (value === null) this.remove();
      else this.set(value);
    },
  });
}

/** A gauge by the values of one label, which come from a fixed set. */
export function readGauges(
  registry: Registry,
  name: string,
  help: string,
  label: string,
  read: () => Pairs | Promise<Pairs>,
): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    async collect() {
      for (const [value, amount] of await read()) this.set({ [label]: value }, amount);
    },
  });
}

type Pairs = Iterable<readonly [value: string, amount: number]>;
