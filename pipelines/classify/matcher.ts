import type { StoredEvent } from "../../src/events/event.ts";
import { fold, wellFormed } from "../../src/events/text.ts";
import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { NO_VALUE, compileAutomaton } from "./automaton.ts";
import type { Automaton, AutomatonPattern } from "./automaton.ts";
import { createScan, foldedText, setText } from "./scan.ts";
import type { TextScan } from "./scan.ts";
import { endStepAfter, finish, forEachOf, groupInSteps, sortInSteps } from "./steps.ts";
import type { ClassifySteps } from "./steps.ts";
import { compileWindowHash, FEW } from "./window-hash.ts";
import type { WindowHash } from "./window-hash.ts";

/** Event fields that class filters test. Strings are well-formed. */
export type Subject = Pick<StoredEvent, "text" | "link" | "tags" | "source">;

/** Returns the key of the filter that gives an event its class, or null if none matches. */
export type Matcher = (event: Subject) => string | null;

/**
 * Compiles class filters into a matcher whose cost depends on the event, not on their number.
 *
 * A filter's rank is its place in the order (weight descending, key ascending); the matching filter
 * of least rank wins. Filters with the same tag and source, or without either, form a group, found
 * by name. An event with t tags belongs to at most 2t + 2 groups. Within a group:
 *
 * - Filters without `text` and `link` always match. Only the one of least rank counts.
 * - Text patterns are searched in at most two passes, however many match: by a hash of windows,
 *   then by an automaton for the patterns that the hash excludes. Both track the least rank of the
 *   filters without `link`. Link patterns are searched in the same way.
 * - Filters with both are pairs of patterns. The pass over the link yields the link patterns found.
 *   If these have few pairs, each pair's text is tested by itself. Otherwise the text is searched
 *   for the text patterns of all pairs, and the side with fewer pairs is scanned. Only this scan
 *   can grow with the number of filters, by one array read per filter that shares a found pattern.
 *
 * A group is searched only if its least rank is better than the best found so far.
 */
export function* matcherInSteps(filters: readonly ClassFilter[]): ClassifySteps<Matcher> {
  const ranked = yield* sortInSteps(filters, byRank);
  const keys = ranked.map(({ key }) => key);
  const sets: AutomatonPattern[][] = [];
  const index = yield* indexGroups(ranked, sets);
  const automaton = yield* compileAutomaton(sets);
  const untagged = index.get("");
  const hasTags = index.size > (untagged === undefined ? 0 : 1);
  /** Candidate filters of the current event. All events share the array to save allocations. */
  const candidates: TextFilters[] = [];
  let count = 0;

  /**
   * Collects the filters of a tag, or of a tag and source, that test text or link. Returns the
   * least rank of the filters that do not, or `bound`.
   */
  function collect(members: Members | undefined, event: Subject, bound: number): number {
    if (members === undefined) return bound;
    if (typeof members === "number") return Math.min(bound, members);
    candidates[count++] = members;
    const best = Math.min(bound, members.plain);
    return members.bySource === null ? best : collect(findByName(members.bySource, event.source), event, best);
  }

  return (event) => {
    count = 0;
    let best = collect(untagged, event, NO_VALUE);
    if (hasTags) for (const tag of event.tags) best = collect(findByName(index, tag), event, best);
    let hasTexts = false;
    for (let i = 0; i < count; i++) {
      const members = candidates[i]!;
      if (members.least >= best) continue;
      if (!hasTexts) setTexts(event);
      hasTexts = true;
      best = members.group === null ? searchOne(members, best) : searchGroup(automaton, members.group, best);
    }
    if (hasTexts) setTexts(NO_TEXTS);
    return keys[best] ?? null;
  };
}

/** Compiles a matcher in one go, without steps. */
export function compileMatcher(filters: readonly ClassFilter[]): Matcher {
  return finish(matcherInSteps(filters));
}

/** Texts of the current event, shared by all matchers. */
const TEXT = createScan();
const LINK = createScan();
/** Replaces the texts once an event is done, so that none is retained. */
const NO_TEXTS = { text: "", link: "" };

function setTexts({ text, link }: Pick<Subject, "text" | "link">): void {
  setText(TEXT, text);
  setText(LINK, link);
}

/**
 * Filters with the same tag and source. A plain rank if none of them tests text or link and there
 * are no filters by source; ranks that do not exist are {@link NO_VALUE}.
 */
type Members = number | TextFilters;

/** Filters of which some test text or link. For most events the ranks alone rule out a search. */
type TextFilters = {
  /** Least rank of the filters without `text` and `link`. */
  readonly plain: number;
  /** Least rank of all other filters. */
  readonly least: number;
  /** Patterns of the other filter of least rank, which may be the only one. */
  readonly text: string;
  readonly link: string;
  /** The other filters, if there are several. */
  readonly group: Group | null;
  /**
   * For filters with a tag and no source, or with neither: filters with the same tag and a source,
   * by source.
   */
  readonly bySource: ReadonlyMap<string, Members> | null;
};

/** Filters with the same tag and source that test text or link. */
type Group = {
  /** Least rank of the filters with both. */
  readonly leastPair: number;
  /** Text patterns of filters without `link`. */
  readonly texts: Side;
  /** Text patterns of filters with both. */
  readonly halves: Side;
  /** Link patterns of all filters. */
  readonly links: Side;
};

/** Patterns of a group's filters for one field, the text or the link. */
type Side = {
  /** Least rank of the filters that test this field only. */
  readonly least: number;
  /** Search for most of the patterns, if there are many. */
  readonly pass: WindowHash | null;
  /** Remaining patterns if few, which is faster; otherwise null, and they are set `set`. */
  readonly few: readonly AutomatonPattern[] | null;
  readonly set: number;
  /** Patterns that are halves of pairs, by id. */
  readonly halves: readonly string[];
  readonly pairs: Pairs;
  /** By pattern id: 1 if the pattern was found, while pairs are scanned. */
  readonly found: Uint8Array;
};

type Pair = { readonly rank: number; readonly text: number; readonly link: number };

/**
 * Pairs by pattern. Those of pattern `id` are at `from[id]` up to before `from[id + 1]`, by
 * ascending rank; `other` is the id of the pair's other pattern.
 */
type Pairs = { readonly from: Int32Array; readonly rank: Int32Array; readonly other: Int32Array };

const EMPTY_SIDE: Side = {
  least: NO_VALUE,
  pass: null,
  few: [],
  set: -1,
  halves: [],
  pairs: { from: new Int32Array(1), rank: new Int32Array(0), other: new Int32Array(0) },
  found: new Uint8Array(0),
};

/** Returns the rank of the only filter to search if it is below `bound` and matches, or `bound`. */
function searchOne({ least, text, link }: TextFilters, bound: number): number {
  const matches = (text === "" || foldedText(TEXT).includes(text)) && (link === "" || foldedText(LINK).includes(link));
  return matches ? least : bound;
}

/** Returns the least rank below `bound` of the group's filters that match, else `bound`. */
function searchGroup(automaton: Automaton, { texts, halves, links, leastPair }: Group, bound: number): number {
  let best = bound;
  const linkIds: number[] | null = leastPair < best ? [] : null;
  if (links.least < best || linkIds !== null) best = searchSide(automaton, links, LINK, best, linkIds);
  if (texts.least < best) best = searchSide(automaton, texts, TEXT, best, null);
  if (linkIds === null || linkIds.length === 0 || leastPair >= best) return best;
  const pairs = countPairs(links, linkIds);
  if (pairs <= FEW) return searchPairs(links, linkIds, best, (half) => foldedText(TEXT).includes(halves.halves[half]!));
  const textIds: number[] = [];
  searchSide(automaton, halves, TEXT, best, textIds);
  return pairs <= countPairs(halves, textIds)
    ? walkPairs(links, linkIds, halves, textIds, best)
    : walkPairs(halves, textIds, links, linkIds, best);
}

/** Tries the name as it is first: most names are folded already. */
function findByName(byName: ReadonlyMap<string, Members>, name: string): Members | undefined {
  const members = byName.get(name);
  if (members !== undefined) return members;
  const folded = fold(name);
  return folded === name ? undefined : byName.get(folded);
}

/** Searches one field, with the parameters and result of {@link Automaton.search}. */
function searchSide(automaton: Automaton, side: Side, text: TextScan, bound: number, ids: number[] | null): number {
  let best = side.pass === null ? bound : side.pass.search(text, bound, ids);
  if (side.few === null) return automaton.search(side.set, foldedText(text), best, ids);
  for (const pattern of side.few) {
    const isNeeded = pattern.value < best || (ids !== null && pattern.id >= 0);
    if (!isNeeded || !foldedText(text).includes(pattern.text)) continue;
    best = Math.min(best, pattern.value);
    if (pattern.id >= 0) ids?.push(pattern.id);
  }
  return best;
}

/** Counts the pairs that contain one of the patterns. */
function countPairs({ pairs }: Side, ids: readonly number[]): number {
  let count = 0;
  for (const id of ids) count += pairs.from[id + 1]! - pairs.from[id]!;
  return count;
}

/**
 * Returns the least rank below `bound` of a side's pairs that contain one of the patterns `ids` and
 * whose other pattern satisfies `isFound`, else `bound`.
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

/** Searches pairs when the ids of the other patterns found are known. */
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

/** Groups filters by folded tag, "" for none, and adds their pattern sets to `sets`. */
function* indexGroups(
  ranked: readonly ClassFilter[],
  sets: AutomatonPattern[][],
): ClassifySteps<ReadonlyMap<string, Members>> {
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
    index.set(tag, yield* toMembers(any, membersOf.size === 0 ? null : membersOf, sets));
    handled += members.length;
    if (handled < STEP_FILTERS) continue;
    handled = 0;
    yield;
  }
  return index;
}

/** Number of filters handled in one step. */
const STEP_FILTERS = 128;

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

/** @param filters by ascending rank */
function* toMembers(
  filters: readonly Folded[],
  bySource: TextFilters["bySource"],
  sets: AutomatonPattern[][],
): ClassifySteps<Members> {
  const plain = filters.find(({ text, link }) => text === "" && link === "")?.rank ?? NO_VALUE;
  const textual = filters.filter(({ text, link }) => text !== "" || link !== "");
  if (textual.length === 0 && bySource === null) return plain;
  return {
    plain,
    least: textual[0]?.rank ?? NO_VALUE,
    text: textual[0]?.text ?? "",
    link: textual[0]?.link ?? "",
    group: textual.length > 1 ? yield* toGroup(textual, sets) : null,
    bySource,
  };
}

/** @param filters by ascending rank */
function* toGroup(filters: readonly Folded[], sets: AutomatonPattern[][]): ClassifySteps<Group> {
  yield* endStepAfter(filters.length);
  const both = filters.filter(({ text, link }) => text !== "" && link !== "");
  const textIds = new Map<string, number>();
  const linkIds = new Map<string, number>();
  const pairs: Pair[] = [];
  yield* forEachOf(both.length, (i) => {
    const { rank, text, link } = both[i]!;
    pairs.push({ rank, text: numberOf(textIds, text), link: numberOf(linkIds, link) });
  });
  yield* endStepAfter(filters.length);
  const onlyText = filters.filter(({ link }) => link === "").map(({ text, rank }) => ({ text, rank }));
  yield* endStepAfter(filters.length);
  const onlyLink = filters.filter(({ text }) => text === "").map(({ link, rank }) => ({ text: link, rank }));
  yield* endStepAfter(filters.length);
  return {
    leastPair: both[0]?.rank ?? NO_VALUE,
    texts: yield* toSide(onlyText, new Map(), [], "text", sets),
    halves: yield* toSide([], textIds, pairs, "text", sets),
    links: yield* toSide(onlyLink, linkIds, pairs, "link", sets),
  };
}

/**
 * @param single patterns of the filters that test this field only, by ascending rank
 * @param ids the patterns of the pairs
 */
function* toSide(
  single: readonly { readonly text: string; readonly rank: number }[],
  ids: ReadonlyMap<string, number>,
  pairs: readonly Pair[],
  half: "text" | "link",
  sets: AutomatonPattern[][],
): ClassifySteps<Side> {
  if (single.length === 0 && ids.size === 0) return EMPTY_SIDE;
  const patterns = new Map<string, AutomatonPattern>();
  const halves = [...ids.keys()];
  yield* endStepAfter(halves.length);
  yield* forEachOf(halves.length, (id) => patterns.set(halves[id]!, { text: halves[id]!, value: NO_VALUE, id }));
  yield* forEachOf(single.length, (i) => {
    const { text, rank } = single[i]!;
    const known = patterns.get(text);
    if (known === undefined || rank < known.value) patterns.set(text, { text, value: rank, id: known?.id ?? -1 });
  });
  yield* endStepAfter(patterns.size);
  const distinct = [...patterns.values()];
  yield* endStepAfter(patterns.size);
  const { pass, rest } = yield* compileWindowHash(distinct);
  const isFew = rest.length <= FEW;
  return {
    least: single[0]?.rank ?? NO_VALUE,
    pass,
    few: isFew ? rest : null,
    set: isFew ? -1 : sets.push([...rest]) - 1,
    halves,
    pairs: yield* bySide(pairs, ids.size, half),
    found: new Uint8Array(ids.size),
  };
}

/** @param pairs by ascending rank, an order the result keeps */
function* bySide(pairs: readonly Pair[], halves: number, half: "text" | "link"): ClassifySteps<Pairs> {
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

/** Returns the number of a string; distinct strings are numbered from 0 by first appearance. */
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
