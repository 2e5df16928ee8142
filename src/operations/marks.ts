import type { HoldName } from "../monitoring/holds.ts";
import type { StorePart } from "../store/store.ts";

/**
 * What was last known of the engines. Kept beside them, so that an engine that lost something does
 * not agree with it.
 */
export type Marks = {
  /** The end of the topic of events, by partition. */
  readonly ends: Readonly<Record<string, number>>;
  /** How far the catalog had been written; null where that can't be told. */
  readonly catalog: number | null;
  /** What tells the catalog from one that was made anew; null where nothing does. */
  readonly catalogId: string | null;
  readonly hasAccounts: boolean;
  /** A person has accepted a catalog without accounts, and none was made since. */
  readonly mayLackAccounts: boolean;
  readonly hasEvents: boolean;
  /** The parts of the store. */
  readonly parts: readonly StorePart[];
  /** Parts whose loss waits for a decision. */
  readonly lost: readonly StorePart[];
  /**
   * A moment, and for each partition the first offset since then: a topic that was made anew has
   * lower ones.
   */
  readonly moment: { readonly at: number; readonly offsets: Readonly<Record<string, number>> } | null;
  /** What did not fit and waits for a decision, with the reason. */
  readonly pending: Readonly<Partial<Record<Part, string>>>;
};

export type MarksFile = {
  read(): Promise<Marks | null>;
  /** False, and nothing is written, where another process has written since {@link read}. */
  write(marks: Marks): Promise<boolean>;
  /** See {@link Marks}. The number never falls, whatever is written. */
  catalog(): Promise<{ readonly catalog: number; readonly catalogId: string | null }>;
  /** Parts of the store that retention has removed, or was about to. */
  removed(): Promise<readonly StorePart[]>;
  /** The part was not removed after all. */
  forgetRemoved(id: string): Promise<void>;
};

export type Part = Extract<HoldName, "bus" | "store" | "catalog">;
export const PARTS: readonly Part[] = ["bus", "store", "catalog"];

/** Of one partition of the topic of events. */
export type Found = {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
  /** What the bus knows that the pipeline has acknowledged. */
  readonly acknowledged: number;
  /** What the store itself says that it covers; null where it says nothing. */
  readonly covered: number | null;
};

/** What the engines hold now. */
export type State = Omit<Marks, "pending" | "mayLackAccounts"> & {
  /** Records of a partition that begin where they did before, and were other ones then. */
  readonly replaced: { readonly partition: number; readonly offset: number } | null;
  readonly partitions: readonly Found[];
  /** What the bus's engine said of damage to its file. */
  readonly damage: string | null;
  readonly keepsOffsets: boolean;
  /**
   * Whether an empty store is one that lost something: it keeps offsets, or a log keeps its events
   * for ever.
   */
  readonly isNeverEmpty: boolean;
};

/** In the order in which marks are read, so that equal ones have equal texts. */
export function known(state: State, before: Marks | null): Omit<Marks, "pending"> {
  const { ends, catalog, catalogId, hasAccounts, hasEvents, parts, lost, moment } = state;
  const mayLackAccounts = !hasAccounts && before?.mayLackAccounts === true;
  return { ends, catalog, catalogId, hasAccounts, mayLackAccounts, hasEvents, parts, lost, moment };
}
