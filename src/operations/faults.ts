import type { StorePart } from "../store/store.ts";
import type { Marks, EngineName, EngineState } from "./marks.ts";

const SHOWN = 5;

/** Returns the mismatches and their reasons, by engine. */
export function engineFaults(state: EngineState, before: Marks | null): Partial<Record<EngineName, string>> {
  const faults: Partial<Record<EngineName, string>> = {};
  for (const { partition, first, end, acknowledged, covered } of state.partitions) {
    const ended = Math.max(before?.ends[partition] ?? 0, covered ?? 0, acknowledged);
    if (end < ended) faults.bus = `the bus ends at record ${end}, but reached ${ended} before: it was lost or replaced`;
    if (covered !== null && covered < first && covered < acknowledged) {
      faults.store = `the store ends at record ${covered}, and the bus begins at ${first}: records between are missing`;
    }
    const isMissing = acknowledged > first && !state.hasEvents && state.isNeverEmpty;
    // Marks may be older than the store's first events, so the offsets are compared: a store that
    // keeps offsets stores one before the pipeline acknowledges it.
    if (covered === null && isMissing && (state.keepsOffsets || before === null)) {
      faults.store = `the store is empty, but the records of the bus up to ${acknowledged} were stored`;
    }
  }
  // If the parts are known, each is compared by itself, and retention may have emptied the store.
  if (before?.hasEvents === true && before.parts.length === 0 && !state.hasEvents && state.isNeverEmpty) {
    faults.store ??= "the store is empty, but held events before";
  }
  const found = [
    ...(state.lost.length > 0 ? [lostText(state.lost)] : []),
    ...foreignTexts(newForeignParts(state, before)),
  ];
  if (found.length > 0) faults.store = found.join("; ");
  if (state.damage !== null) {
    faults.bus ??= `the bus's file is damaged, so records may be missing: ${state.damage}`;
  }
  if (state.replaced !== null) {
    const { partition, offset } = state.replaced;
    faults.bus ??=
      "the bus was recreated or truncated: " +
      `from record ${offset} of partition ${partition} on, it holds other records than before`;
  }
  // Marks may be older than the first accounts. Events imply an account that owns their log.
  const isUsed = before?.hasAccounts === true || state.hasEvents || isPosted(state);
  const version = before?.catalog ?? null;
  if (!state.hasAccounts && isUsed && before?.mayLackAccounts !== true) {
    faults.catalog = "the catalog holds no accounts, but events were posted before";
  } else if (version !== null && state.catalog !== null && state.catalog < version) {
    faults.catalog = `the catalog ends at change ${state.catalog}, but reached ${version} before`;
  } else if (typeof before?.catalogId === "string" && state.catalogId !== before.catalogId) {
    faults.catalog = "the catalog is not the one known before: it was recreated or restored";
  }
  return faults;
}

/**
 * Returns the parts in another layout that are not in the marks. Those in the marks are in the
 * reason of a hold, or a person has accepted them.
 */
export function newForeignParts({ parts }: Pick<EngineState, "parts">, before: Marks | null): readonly StorePart[] {
  const known = new Set(before?.parts.filter(({ lacksLayout }) => lacksLayout).map(({ id }) => id));
  return parts.filter(({ id, lacksLayout }) => lacksLayout && !known.has(id));
}

function lostText(lost: readonly StorePart[]): string {
  return `these indices were lost or recreated, and their documents are missing: ${placesOf(lost)}`;
}

function foreignTexts(parts: readonly StorePart[]): readonly string[] {
  if (parts.length === 0) return [];
  const places = placesOf(parts);
  return [
    `these indices were created by an index template other than the service's, so queries find nothing in them: ${places}; ` +
      "remove that template first",
  ];
}

function placesOf(parts: readonly StorePart[]): string {
  const more = parts.length > SHOWN ? ` and ${parts.length - SHOWN} more` : "";
  return parts
    .slice(0, SHOWN)
    .map(({ place }) => place)
    .join(", ")
    .concat(more);
}

function isPosted({ partitions, keepsOffsets }: EngineState): boolean {
  return partitions.some(({ end }) => end > (keepsOffsets ? 1 : 0));
}
