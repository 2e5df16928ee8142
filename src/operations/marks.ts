import type { HoldName } from "../monitoring/holds.ts";
import type { StorePart } from "../store/store.ts";

/**
 * Last known state of the engines. It is stored beside them, so that an engine that lost data does
 * not match it.
 */
export type Marks = {
  /** End offset of the topic `events`, by partition. */
  readonly ends: Readonly<Record<string, number>>;
  /** Number of changes of the catalog; null if unknown. */
  readonly catalog: number | null;
  /** Changes if the catalog is recreated; null if the engine has no such id. */
  readonly catalogId: string | null;
  readonly hasAccounts: boolean;
  /** A person accepted a catalog without accounts, and none was created since. */
  readonly mayLackAccounts: boolean;
  readonly hasEvents: boolean;
  /** The parts of the store. */
  readonly parts: readonly StorePart[];
  /** Lost parts that no person has accepted yet. */
  readonly lost: readonly StorePart[];
  /** A time and each partition's first offset since then. A recreated topic has lower offsets. */
  readonly moment: { readonly at: number; readonly offsets: Readonly<Record<string, number>> } | null;
  /** Mismatches that no person has accepted yet, with their reasons. */
  readonly pending: Readonly<Partial<Record<EngineName, string>>>;
};

export type MarksFile = {
  read(): Promise<Marks | null>;
  /** False without writing if another process has written since {@link read}. */
  write(marks: Marks): Promise<boolean>;
  /** See {@link Marks}. The number never falls, whatever is written. */
  catalog(): Promise<{ readonly catalog: number; readonly catalogId: string | null }>;
  /** Parts of the store that retention has removed or announced to remove. */
  removed(): Promise<readonly StorePart[]>;
  /** Deletes the note of a part that was not removed after all. */
  forgetRemoved(id: string): Promise<void>;
};

export type EngineName = Extract<HoldName, "bus" | "store" | "catalog">;
export const ENGINES: readonly EngineName[] = ["bus", "store", "catalog"];

/** State of one partition of the topic `events`. */
export type PartitionState = {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  /** Offset up to which the pipeline has acknowledged, by the bus. */
  readonly acknowledged: number;
  /** Offset up to which the store holds the records, by the store; null if it keeps none. */
  readonly covered: number | null;
};

/** Current state of the engines. */
export type EngineState = Omit<Marks, "pending" | "mayLackAccounts"> & {
  /** Set if the first offset of a known moment has fallen: records from it on were replaced. */
  readonly replaced: { readonly partition: number; readonly offset: number } | null;
  readonly partitions: readonly PartitionState[];
  /** Damage to the bus's file reported by its engine. */
  readonly damage: string | null;
  readonly keepsOffsets: boolean;
  /** Whether an empty store has lost data: it keeps offsets, or a log keeps its events forever. */
  readonly isNeverEmpty: boolean;
};

/**
 * Returns the marks of a state, with members in the order of reading, so that equal marks serialize
 * equally.
 */
export function marksOfState(state: EngineState, before: Marks | null): Omit<Marks, "pending"> {
  const { ends, catalog, catalogId, hasAccounts, hasEvents, parts, lost, moment } = state;
  const mayLackAccounts = !hasAccounts && before?.mayLackAccounts === true;
  return { ends, catalog, catalogId, hasAccounts, mayLackAccounts, hasEvents, parts, lost, moment };
}
