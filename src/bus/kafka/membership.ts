import { setTimeout as sleep } from "node:timers/promises";

import { PartitionAssigners, type Consumer, type PartitionAssigner } from "kafkajs";
import type { Logger } from "pino";
import { kafkaReason } from "./client.ts";

/**
 * Private parts of kafkajs, whose consumers cannot remove an earlier consumer's member from a
 * group.
 */
type Coordinator = { leaveGroup(member: { groupId: string; memberId: string }): Promise<unknown> };
type Cluster = { findGroupCoordinator(group: { groupId: string }): Promise<Coordinator> };

/**
 * Pause between attempts: a broker that has just returned refuses requests until its groups are
 * loaded.
 */
const RETRY_MS = 200;

/** Longest rebalance that is not reported. */
const BRIEF_MS = 1_000;

/**
 * One member of a consumer group, across the consumers that represent it. After a restart a broker
 * remembers the members, and blocks the group until each has rejoined or its session has expired. A
 * consumer that lost its broker is replaced by one that joins as a new member, so the old member is
 * removed from the group first.
 */
export class KafkaMembership {
  readonly #group: string;
  readonly #log: Logger;
  #cluster: Cluster | null = null;
  #memberId: string | null = null;
  #lost_ms: number | null = performance.now();

  constructor(group: string, log: Logger) {
    this.#group = group;
    this.#log = log;
  }

  /** Partition assigner for the consumer. kafkajs passes its cluster object only to assigners. */
  readonly assigner: PartitionAssigner = (config) => {
    this.#cluster = config.cluster as unknown as Cluster;
    return PartitionAssigners.roundRobin(config);
  };

  follow(consumer: Consumer): void {
    const { events } = consumer;
    consumer.on(events.GROUP_JOIN, ({ payload }) => {
      this.#memberId = payload.memberId;
      this.#lost_ms = null;
    });
    consumer.on(events.REBALANCING, () => this.lost());
  }

  /** Called when the consumer has ended or must rejoin. */
  lost(): void {
    this.#lost_ms ??= performance.now();
  }

  /**
   * Removes the last consumer's member from the group. Called between connecting and joining.
   *
   * @param session_ms session timeout, after which the broker removes the member itself
   */
  async removePrevious(session_ms: number, signal: AbortSignal): Promise<void> {
    const start_ms = performance.now();
    while (!signal.aborted && performance.now() - start_ms < session_ms) {
      if (await this.#tryToRemove()) return;
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Returns false if the coordinator is not ready yet. */
  async #tryToRemove(): Promise<boolean> {
    const [cluster, memberId, groupId] = [this.#cluster, this.#memberId, this.#group];
    if (cluster === null || memberId === null) return true;
    try {
      const coordinator = await cluster.findGroupCoordinator({ groupId });
      await coordinator.leaveGroup({ groupId, memberId });
      this.#memberId = null;
      return true;
    } catch (error) {
      // The member is unknown if its session has expired. With any other error, joining waits at
      // most for that.
      this.#log.debug(
        { reason: kafkaReason(error) },
        "the previous member could not be removed from the consumer group",
      );
      return (error as { readonly retriable?: boolean }).retriable !== true;
    }
  }

  /** Why no records arrive at the moment, in words for operators; null if they do. */
  fault(): string | null {
    const isLost = this.#lost_ms !== null && performance.now() - this.#lost_ms > BRIEF_MS;
    return isLost ? "is reachable, but this process has not rejoined the consumer group yet: posted events wait" : null;
  }
}
