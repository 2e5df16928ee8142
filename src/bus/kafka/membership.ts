import { setTimeout as sleep } from "node:timers/promises";

import { PartitionAssigners, type Consumer, type PartitionAssigner } from "kafkajs";
import type { Logger } from "pino";
import { reasonOf } from "./client.ts";

/**
 * What is reached for inside kafkajs, whose consumers cannot leave a group that an earlier one
 * joined.
 */
type Coordinator = { leaveGroup(member: { groupId: string; memberId: string }): Promise<unknown> };
type Cluster = { findGroupCoordinator(group: { groupId: string }): Promise<Coordinator> };

/** A broker that has just returned loads its groups first, and refuses until then. */
const RETRY_MS = 200;

/** A rebalance that takes no longer is nobody's concern. */
const BRIEF_MS = 1_000;

/**
 * One member of a consumer group, through all the consumers that play it. A broker that comes back
 * remembers the members it had, and lets no group go on before each has joined again or its session
 * has ended. A consumer that lost its broker is replaced by one that joins as a new member, so that
 * one first takes its predecessor out of the group.
 */
export class KafkaMembership {
  readonly #group: string;
  readonly #log: Logger;
  #cluster: Cluster | null = null;
  #memberId: string | null = null;
  #away_ms: number | null = performance.now();

  constructor(group: string, log: Logger) {
    this.#group = group;
    this.#log = log;
  }

  /**
   * For the consumer's option: kafkajs hands its cluster to those who assign partitions, and to
   * nobody else.
   */
  readonly assigner: PartitionAssigner = (config) => {
    this.#cluster = config.cluster as unknown as Cluster;
    return PartitionAssigners.roundRobin(config);
  };

  follow(consumer: Consumer): void {
    const { events } = consumer;
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      this.#memberId = payload.memberId;
      this.#away_ms = null;
    });
    consumer.on(events.REBALANCING, () => this.lost());
  }

  /** The consumer ended, or has to join anew. */
  lost(): void {
    this.#away_ms ??= performance.now();
  }

  /**
   * Takes the member of the last consumer out of the group. A consumer that is connected does so
   * before it joins.
   *
   * @param session_ms after so long the broker removes the member itself
   */
  async leaveLast(session_ms: number, signal: AbortSignal): Promise<void> {
    const start_ms = performance.now();
    while (!signal.aborted && performance.now() - start_ms < session_ms) {
      if (await this.#tryToLeave()) return;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** False where the coordinator is not ready yet. */
  async #tryToLeave(): Promise<boolean> {
    const [cluster, memberId, groupId] = [this.#cluster, this.#memberId, this.#group];
    if (cluster === null || memberId === null) return true;
    try {
      const coordinator = await cluster.findGroupCoordinator({ groupId });
      await coordinator.leaveGroup({ groupId, memberId });
      this.#memberId = null;
      return true;
    } catch (error) {
      // It is unknown where its session has ended. Whatever else is wrong, joining waits for that
      // end at the most.
      this.#log.debug({ reason: reasonOf(error) }, "the last member could not be taken out of the group");
      return (error as { readonly retriable?: boolean }).retriable !== true;
    }
  }

  /** Why no records come at the moment, in words for operators; null where they do. */
  fault(): string | null {
    const isAway = this.#away_ms !== null && performance.now() - this.#away_ms > BRIEF_MS;
    return isAway ? "is there, but the consumer group has not been joined again yet: what was posted waits" : null;
  }
}
