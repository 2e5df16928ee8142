import type { StoredEvent } from "../../src/events/event.ts";
import { fold, wellFormed } from "../../src/events/text.ts";
import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { NO_VALUE, compileAutomaton } from "./automaton.ts";
import type { Automaton, Pattern } from "./automaton.ts";
import { compileNames, mapNames } from "./names.ts";
import type { Names } from "./names.ts";
import { createScan, foldedOf, take } from "./scan.ts";
import type { Scan } from "./scan.ts";
import { endStepAfter, finish, forEachOf, groupInSteps, sortInSteps } from "./steps.ts";
import type { Steps } from "./steps.ts";
import { compileWindowHash, FEW } from "./window-hash.ts";
import type { WindowHash } from "./window-hash.ts";

/** What a filter looks at. Strings are well-formed. */
export type Subject = Pick<StoredEvent, "text" | "link" | "tags" | "source">;

/** The key of the filter that gives an event its class, or null where none matches. */
export type Matcher = (event: Subject) => string | null;

/**
 * Compiles class filters into a matcher whose cost depends on the event and not on how many filters
 * there are.
 *
 * A filter's rank is its place in the order (weight falling, key rising): the matching filter of
 * least rank wins. Filters that ask for the same tag and source (or for none) form a group, found
 * by name; an event with t tags belongs to at most 2t + 2 groups. Within a group
 *
 * - filters without `text` and `link` always match: only the one of least rank counts;
 * - what filters ask of the text is searched for in one pass or two however many match: by a hash
 *   of windows, and what that leaves by a set of an automaton, both of which carry the least rank
 *   of those without `link` along; the same goes for the link;
 * - filters with both are pairs of patterns: the pass over the link says which of their links were
 *   found. Where these have few pairs, the text is looked at for each of them, else it is searched
 *   for those of all pairs, and the pairs of the side with fewer of them are looked through. This
 *   alone may grow with the number of filters, where thousands of them share a pattern that the
 *   event contains: by one read of an array for each.
 *
 * A group is asked only where its least rank is better than what was found before.
 */
export function* matcherInSteps(filters: readonly ClassFilter[]): Steps<Matcher> {
  const ranked = yield* sortInSteps(filters, byRank);
  const keys = ranked.map(({ key }) => key);
  const sets: Pattern[][] = [];
  const index = yield* indexGroups(ranked, sets);
  const automaton = yield* compileAutomaton(sets);
  const untagged = index.get("");
  const tagged = yield* compileNames(index);
  const asksForTags = index.size > (untagged === undefined ? 0 : 1);
  /** Those of the event in hand: one list for all events, so that none is made for each. */
  const asking: Asking[] = [];
  let count = 0;

  /**
   * Keeps the filters of a tag, or of a tag and a source, that ask for more. Returns the least rank
   * of those that do not, or `bound`.
   */
  function collect(members: Members | undefined, event: Subject, bound: number): number {
    if (members === undefined) return bound;
    if (typeof members === "number") return Math.min(bound, members);
    asking[count++] = members;
    const best = Math.min(bound, members.plain);
    return members.bySource === null ? best : collect(members.bySource.find(event.source), event, best);
  }

  return (event) => {
    count = 0;
    let best = collect(untagged, event, NO_VALUE);
    if (asksForTags) for (const tag of event.tags) best = collect(tagged.find(tag), event, best);
    let isTaken = false;
    for (let i = 0; i < count; i++) {
      const members = asking[i]!;
      if (members.least >= best) continue;
      if (!isTaken) takeTexts(event);
      isTaken = true;
      best = members.group === null ? searchOne(members, best) : searchGroup(automaton, members.group, best);
    }
    if (isTaken) takeTexts(NOTHING);
    return keys[best] ?? null;
  };
}

/** The same at once. */
export function compileMatcher(filters: readonly ClassFilter[]): Matcher {
  return finish(matcherInSteps(filters));
}

/** The texts of the event in hand, whichever matcher is asked. */
const TEXT = createScan();
const LINK = createScan();
/** Taken once an event is done, so that no text is kept. */
const NOTHING = { text: "", link: "" };

function takeTexts({ text, link }: Pick<Subject, "text" | "link">): void {
  take(TEXT, text);
  take(LINK, link);
}

/**
 * Filters with the same tag and source: the least rank where none asks for more, and nobody for a
 * source besides. Where there are no such filters, a rank is {@link NO_VALUE}.
 */
type Members = number | Asking;

/** Its ranks alone tell of most events that the texts need not be looked at. */
type Asking = {
  /** The least rank of those without `text` and `link`. */
  readonly plain: number;
  /** The least rank of all others. */
  readonly least: number;
  /** What the only one of the others asks for; that of least rank, where there are several. */
  readonly text: string;
  readonly link: string;
  /** The others, where there are several. */
  readonly group: Group | null;
  /**
   * Of those that ask for a tag and no source, or for neither: the filters with the same tag and a
   * source, by source.
   */
  readonly bySource: Names<Members> | null;
};

/** Filters with the same tag and source that ask for a text or a link. */
type Group = {
  /** The least rank of those with both. */
  readonly leastPair: number;
  /** Of the filters without `link`. */
  readonly texts: Side;
  /** Of those with both. */
  readonly halves: Side;
  /** Of all. */
  readonly links: Side;
};

/** What filters of a group ask of the text, or of the link. */
type Side = {
  /** The least rank of the filters that ask for nothing else. */
  readonly least: number;
  /** For most of the patterns, where they are many. */
  readonly pass: WindowHash | null;
  /** The other patterns where they are few, which is faster; else they are a set of the automaton. */
  readonly few: readonly Pattern[] | null;
  readonly set: number;
  /** By id, the patterns that are halves of pairs. */
  readonly halves: readonly string[];
  readonly pairs: Pairs;
  /** By the id of a pattern: 1 while pairs are looked through, if it was found. */
  readonly found: Uint8Array;
};

type Pair = { readonly rank: number; readonly text: number; readonly link: number };

/**
 * The pairs of pattern `id` are those from `from[id]` on and before `from[id + 1]`, by rising rank;
 * `other` is the id of their other half.
 */
type Pairs = { readonly from: Int32Array; readonly rank: Int32Array; readonly other: Int32Array };

const NOTHING_ASKED: Side = {
  least: NO_VALUE,
  pass: null,
  few: [],
  set: -1,
  halves: [],
  pairs: { from: new Int32Array(1), rank: new Int32Array(0), other: new Int32Array(0) },
  found: new Uint8Array(0),
};

/** The rank of the only filter that asks for more, if it is below `bound` and matches, else `bound`. */
function searchOne({ least, text, link }: Asking, bound: number): number {
  const matches = (text === "" || foldedOf(TEXT).includes(text)) && (link === "" || foldedOf(LINK).includes(link));
  return matches ? least : bound;
}

/** The least rank below `bound` of the filters of a group that match, else `bound`. */
function searchGroup(automaton: Automaton, { texts, halves, links, leastPair }: Group, bound: number): number {
  let best = bound;
  const linkIds: number[] | null = leastPair < best ? [] : null;
  if (links.least < best || linkIds !== null) best = searchSide(automaton, links, LINK, best, linkIds);
  if (texts.least < best) best = searchSide(automaton, texts, TEXT, best, null);
  if (linkIds === null || linkIds.length === 0 || leastPair >= best) return best;
  const pairs = countPairs(links, linkIds);
  if (pairs <= FEW) return searchPairs(links, linkIds, best, (half) => foldedOf(TEXT).includes(halves.halves[half]!));
  const textIds: number[] = [];
  searchSide(automaton, halves, TEXT, best, textIds);
  return pairs <= countPairs(halves, textIds)
    ? walkPairs(links, linkIds, halves, textIds, best)
    : walkPairs(halves, textIds, links, linkIds, best);
}

/** As {@link Automaton.search}. */
function searchSide(automaton: Automaton, side: Side, text: Scan, bound: number, ids: number[] | null): number {
  let best = side.pass === null ? bound : side.pass.search(text, bound, ids);
  if (side.few === null) return automaton.search(side.set, foldedOf(text), best, ids);
  for (const pattern of side.few) {
    const isAsked = pattern.value < best || (ids !== null && pattern.id >= 0);
    if (!isAsked || !foldedOf(text).includes(pattern.text)) continue;
    best = Math.min(best, pattern.value);
    if (pattern.id >= 0) ids?.push(pattern.id);
  }
  return best;
}

/** How many pairs hold one of the patterns. */
function countPairs({ pairs }: Side, ids: readonly number[]): number {
  let count = 0;
  for (const id of ids) count += pairs.from[id + 1]! - pairs.from[id]!;
  return count;
}

/**
 * The least rank below `bound` of the pairs that hold one of the patterns of a side, and whose
 * other half `isFound`, given its id.
 */
function searchPairs(
  { pairs }: Side,
  ids: readonly number[],
  bound: number,
  isFound: (half: number) => boolean,
): number {
  let best = bound;
  for (const id of ids) {
    for (let at = pairs.from[id]!; at < pairs.from[id + 1]! && pairs.rank[at]! < best; at++) {
      if (isFound(pairs.other[at]!)) best = pairs.rank[at]!;
    }
  }
  return best;
}

/** The same where the ids of the other halves that were found are known. */
function walkPairs(
  side: Side,
  ids: readonly number[],
  { found }: Side,
  otherIds: readonly number[],
  bound: number,
): number {
  for (const id of otherIds) found[id] = 1;
  const best = searchPairs(side, ids, bound, (half) => found[half] === 1);
  for (const id of otherIds) found[id] = 0;
  return best;
}

/** By folded tag, "" for none; pattern sets are added to `sets`. */
function* indexGroups(ranked: readonly ClassFilter[], sets: Pattern[][]): Steps<ReadonlyMap<string, Members>> {
  const index = new Map<string, Members>();
  const folded: Folded[] = [];
  yield* forEachOf(ranked.length, (rank) => folded.push(foldFilter(ranked[rank]!, rank)), STEP_FILTERS);
  let handled = 0;
  for (const [tag, members] of yield* groupInSteps(folded, (filter) => filter.tag)) {
    const bySource = yield* groupInSteps(members, ({ source }) => source);
    const any = bySource.get("") ?? [];
    bySource.delete("");
    const membersOf = new Map<string, Members>();
    for (const [source, own] of bySource) membersOf.set(source, yield* toMembers(own, null, sets));
    index.set(tag, yield* toMembers(any, yield* sourcesOf(membersOf), sets));
    handled += members.length;
    if (handled < STEP_FILTERS) continue;
    handled = 0;
    yield;
  }
  return index;
}

/** Filters that are handled in one step. */
const STEP_FILTERS = 128;

function* sourcesOf(bySource: ReadonlyMap<string, Members>): Steps<Asking["bySource"]> {
  if (bySource.size === 0) return null;
  // So few are worth no tables either.
  return bySource.size <= FEW ? mapNames(bySource) : yield* compileNames(bySource);
}

type Folded = {
  readonly rank: number;
  readonly tag: string;
  readonly source: string;
  readonly text: string;
  readonly link: string;
};

function foldFilter({ tag, source, text, link }: ClassFilter, rank: number): Folded {
  return { rank, tag: form(tag), source: form(source), text: form(text), link: form(link) };
}

function form(text: string): string {
  return fold(wellFormed(text));
}

/** @param filters by rising rank */
function* toMembers(filters: readonly Folded[], bySource: Asking["bySource"], sets: Pattern[][]): Steps<Members> {
  const plain = filters.find(({ text, link }) => text === "" && link === "")?.rank ?? NO_VALUE;
  const asks = filters.filter(({ text, link }) => text !== "" || link !== "");
  if (asks.length === 0 && bySource === null) return plain;
  return {
    plain,
    least: asks[0]?.rank ?? NO_VALUE,
    text: asks[0]?.text ?? "",
    link: asks[0]?.link ?? "",
    group: asks.length > 1 ? yield* toGroup(asks, sets) : null,
    bySource,
  };
}

/** @param asks by rising rank */
function* toGroup(asks: readonly Folded[], sets: Pattern[][]): Steps<Group> {
  yield* endStepAfter(asks.length);
  const both = asks.filter(({ text, link }) => text !== "" && link !== "");
  const textIds = new Map<string, number>();
  const linkIds = new Map<string, number>();
  const pairs: Pair[] = [];
  yield* forEachOf(both.length, (i) => {
    const { rank, text, link } = both[i]!;
    pairs.push({ rank, text: numberOf(textIds, text), link: numberOf(linkIds, link) });
  });
  yield* endStepAfter(asks.length);
  const onlyText = asks.filter(({ link }) => link === "").map(({ text, rank }) => ({ text, rank }));
  yield* endStepAfter(asks.length);
  const onlyLink = asks.filter(({ text }) => text === "").map(({ link, rank }) => ({ text: link, rank }));
  yield* endStepAfter(asks.length);
  return {
    leastPair: both[0]?.rank ?? NO_VALUE,
    texts: yield* toSide(onlyText, new Map(), [], "text", sets),
    halves: yield* toSide([], textIds, pairs, "text", sets),
    links: yield* toSide(onlyLink, linkIds, pairs, "link", sets),
  };
}

/**
 * @param alone what filters ask of this side that ask for nothing else, by rising rank
 * @param ids the patterns of the pairs
 */
function* toSide(
  alone: readonly { readonly text: string; readonly rank: number }[],
  ids: ReadonlyMap<string, number>,
  pairs: readonly Pair[],
  half: "text" | "link",
  sets: Pattern[][],
): Steps<Side> {
  if (alone.length === 0 && ids.size === 0) return NOTHING_ASKED;
  const patterns = new Map<string, Pattern>();
  const halves = [...ids.keys()];
  yield* endStepAfter(halves.length);
  yield* forEachOf(halves.length, (id) => patterns.set(halves[id]!, { text: halves[id]!, value: NO_VALUE, id }));
  yield* forEachOf(alone.length, (i) => {
    const { text, rank } = alone[i]!;
    const known = patterns.get(text);
    if (known === undefined || rank < known.value) patterns.set(text, { text, value: rank, id: known?.id ?? -1 });
  });
  yield* endStepAfter(patterns.size);
  const distinct = [...patterns.values()];
  yield* endStepAfter(patterns.size);
  const { pass, rest } = yield* compileWindowHash(distinct);
  const isFew = rest.length <= FEW;
  return {
    least: alone[0]?.rank ?? NO_VALUE,
    pass,
    few: isFew ? rest : null,
    set: isFew ? -1 : sets.push([...rest]) - 1,
    halves,
    pairs: yield* bySide(pairs, ids.size, half),
    found: new Uint8Array(ids.size),
  };
}

/** @param pairs by rising rank, which they keep */
function* bySide(pairs: readonly Pair[], halves: number, half: "text" | "link"): Steps<Pairs> {
  const from = new Int32Array(halves + 1);
  yield* forEachOf(pairs.length, (i) => void (from[pairs[i]![half] + 1]! += 1));
  for (let id = 0; id < halves; id++) from[id + 1]! += from[id]!;
  const free = from.slice();
  const rank = new Int32Array(pairs.length);
  const other = new Int32Array(pairs.length);
  const otherHalf = half === "text" ? "link" : "text";
  yield* forEachOf(pairs.length, (i) => {
    const pair = pairs[i]!;
    const at = free[pair[half]]!++;
    rank[at] = pair.rank;
    other[at] = pair[otherHalf];
  });
  return { from, rank, other };
}

/** The number of a string; distinct ones are numbered from 0, in order of first appearance. */
function numberOf(numbers: Map<string, number>, string: string): number {
  const known = numbers.get(string);
  if (known !== undefined) return known;
  numbers.set(string, numbers.size);
  return numbers.size - 1;
}

function byRank(a: ClassFilter, b: ClassFilter): number {
  if (a.weight !== b.weight) return b.weight - a.weight;
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
