import { Counter, Gauge } from "@prometheus-io/client";
import type { Registry } from "@prometheus-io/client";

/** Registers a counter whose value is read when metrics are collected. */
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

/** Registers a counter by one label with a fixed set of values, read when metrics are collected. */
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

/**
 * Registers a gauge that is read when metrics are collected. With null or an error it has no value.
 */
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

/** Registers a gauge by one label with a fixed set of values, read when metrics are collected. */
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
