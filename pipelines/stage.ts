import type { BusRecord, Position } from "../src/bus/bus.ts";
import type { StoredEvent } from "../src/events/event.ts";
import type { Visit } from "../src/events/visit.ts";
import { giveWay } from "../src/pace.ts";
import type { StageName } from "./deadletters/letter.ts";
import type { Patience } from "./retry.ts";

/** An event on its way, with the place that it came from; what a stage makes of the event takes its place. Before `enrich` its hash is "", before `classify` its class is null. */
export type Item = { readonly record: BusRecord; readonly line: number; event: StoredEvent };

/** A visit on its way, with the place that it came from. */
export type VisitItem = { readonly record: BusRecord; readonly line: number; readonly visit: Visit };

/** What a stage made of the items that it was given: each is either passed on or refused, and never both. */
type Judged = { readonly passed: readonly Item[]; readonly refused: readonly Refusal[] };

export type Refusal = { readonly item: Item; readonly reason: string };

/** What the stages share while they work on one slice of a batch. */
export type Work = {
  readonly patience: Patience;
  /** The position that goes along with the last rows of a batch; null where more of it follows, or where it is moved by itself. */
  readonly position: Position | null;
  /** Resolves when all slices before, of the same batch, are durable: for events that are written in order. null where they need not be. */
  readonly turn: Promise<void> | null;
  /** Called by the stage that had `position` committed together with the last rows. */
  covered(): void;
  /** Counts alerts that are durable. */
  alerted(count: number): void;
};

/**
 * A step from event to store. It resolves once what it writes is durable.
 *
 * Invariant: what a stage refuses is a durable dead letter before the next stage starts.
 */
export type Stage = {
  readonly name: Exclude<StageName, "decode" | "track">;
  run(items: readonly Item[], work: Work): Promise<Judged>;
};

/** Events of one step: between two of them, whatever else this process serves may have its turn. */
export const TURN_ITEMS = 64;

/** A stage that makes one event of another. An event on which `change` throws is refused; the others are not concerned. */
export function transform(name: Stage["name"], change: (event: StoredEvent) => StoredEvent): Stage {
  return {
    name,
    run: async (items) => {
      const refused = new Map<Item, Refusal>();
      for (let i = 0; i < items.length; i++) {
        if (i % TURN_ITEMS === 0) await giveWay();
        const item = items[i]!;
        try {
          item.event = change(item.event);
        } catch (error) {
          refused.set(item, { item, reason: String(error) });
        }
      }
      if (refused.size === 0) return { passed: items, refused: [] };
      return { passed: items.filter((item) => !refused.has(item)), refused: [...refused.values()] };
    },
  };
}
