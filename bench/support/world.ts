import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openDataset } from "./datasets.ts";
import type { Dataset } from "./datasets.ts";
import { openCluster } from "./engines.ts";
import type { Cluster } from "./engines.ts";
import type { Shape } from "./events.ts";
import { startGenerator } from "./load.ts";
import type { Generator } from "./load.ts";
import type { Kind, ServiceStorage } from "./storage.ts";
import { startLimitServer } from "./processes.ts";
import { waitUntilIdle } from "./idle.ts";

/**
 * Shared resources of the benchmarks on one kind of engines: engines, data sets and helper
 * processes. Each is created on first use and removed at the end.
 */
export class World implements AsyncDisposable {
  readonly kind: Kind;
  readonly #say: (line: string) => void;
  readonly #closing = new AsyncDisposableStack();
  readonly #datasets = new Map<string, Promise<Dataset>>();
  #cluster: Promise<Cluster> | null = null;
  #generator: Promise<Generator> | null = null;
  #limitServer: Promise<{ readonly port: number }> | null = null;

  constructor(kind: Kind, say: (line: string) => void) {
    this.kind = kind;
    this.#say = say;
  }

  cluster(): Promise<Cluster> {
    return (this.#cluster ??= openCluster(this.#say).then(async (cluster) => {
      this.#closing.use(cluster);
      await waitUntilIdle();
      return cluster;
    }));
  }

  generator(): Promise<Generator> {
    return (this.#generator ??= startGenerator().then((generator) => this.#closing.use(generator)));
  }

  /** Starts the `node:http` server that answers forms. */
  limitServer(): Promise<{ readonly port: number }> {
    return (this.#limitServer ??= startLimitServer().then((server) => this.#closing.use(server)));
  }

  /** Creates empty storage, whose folder is removed with the world. */
  async storage(): Promise<ServiceStorage> {
    const { kind } = this;
    if (kind === "embedded") return { kind, folder: this.folder() };
    const cluster = await this.cluster();
    return { kind, namespace: cluster.namespace(), cluster };
  }

  /** Creates events over 30 days, a service on them, and the bare engine for comparison. */
  dataset(count: number, shape: Shape = "plain"): Promise<Dataset> {
    const key = `${shape} ${count}`;
    let dataset = this.#datasets.get(key);
    if (dataset === undefined) {
      dataset = this.storage()
        .then((storage) => openDataset(storage, { count, shape }, this.#say, () => this.folder()))
        .then((dataset) => this.#closing.use(dataset));
      this.#datasets.set(key, dataset);
    }
    return dataset;
  }

  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), "loggia-bench-"));
    this.#closing.defer(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closing.disposeAsync();
  }
}
