import type { StoredEvent } from "../../src/events/event.ts";
import { fold, wellFormed } from "../../src/events/text.ts";
import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { NO_VALUE, compileAutomaton } from "./automaton.ts";
import type { Automaton, Pattern } from "./automaton.ts";
import { compileRollingHash } from "./rolling-hash.ts";
import type { RollingHash } from "./rolling-hash.ts";

/** What a filter looks at. Strings are well-formed. */
export type Subject = Pick<StoredEvent, "text" | "link" | "tags" | "source">;

/** The key of the filter that gives an event its class, or null where none matches. */
export type Matcher = (event: Subject) => string | null;

/**
 * Compiles class filters into a matcher whose cost depends on the event and not on how many filters there are.
 *
 * A filter's rank is its place in the order (weight falling, key rising): the matching filter of least rank wins. Filters that ask for the same tag
 * and source (or for none) form a group, found by hash; an event with t tags belongs to at most 2t + 2 groups. Within a group
 *
 * - filters without `text` and `link` always match: only the one of least rank counts;
 * - what filters ask of the text is searched for in one pass or two however many match: by a rolling hash, and what that leaves by a set of an automaton, both
 *   of which carry the least rank of those without `link` along; the same goes for the link;
 * - filters with both are pairs of patterns: the passes say which patterns were found. Where few pairs have a text that was found, the link is looked at for each of
 *   them, else the pairs of the side with fewer of them are looked through. This alone may grow with the number of filters, where thousands of them share a pattern
 *   that the event contains: by one read of an array for each.
 *
 * A group is asked only where its least rank is better than what was found before.
 */
export function compileMatcher(filters: readonly ClassFilter[]): Matcher {
  const ranked = filters.toSorted(byRank);
  const keys = ranked.map(({ key }) => key);
  const sets: Pattern[][] = [];
  const index = indexGroups(ranked, sets);
  const automaton = compileAutomaton(sets);
  const asksForTags = index.size > (index.has("") ? 1 : 0);
  /** Those of the event in hand: one list for all events, so that none is made for each. */
  const asked: Members[] = [];
  const asksForSources = [...index.values()].some(({ bySource }) => bySource !== null);

  return (event) => {
    const source = asksForSources ? fold(event.source) : "";
    let count = collect(asked, 0, index.get(""), source);
    if (asksForTags) {
      for (let i = 0; i < event.tags.length; i++) {
        count = collect(asked, count, index.get(fold(event.tags[i]!)), source);
      }
    }

    let best = NO_VALUE;
    for (let i = 0; i < count; i++) best = Math.min(best, asked[i]!.plain);
    let folded: FoldedTexts | null = null;
    for (let i = 0; i < count; i++) {
      const { least, group } = asked[i]!;
      if (group !== null && least < best) best = searchGroup(automaton, group, (folded ??= foldLazily(event)), best);
    }
    return keys[best] ?? null;
  };
}

/** The texts of an event, folded once somebody asks. */
type FoldedTexts = { text(): string; link(): string };

function foldLazily(event: Subject): FoldedTexts {
  let text: string | null = null;
  let link: string | null = null;
  return { text: () => (text ??= fold(event.text)), link: () => (link ??= fold(event.link)) };
}

/** Filters with the same tag and source. Where there are no such filters, a rank is {@link NO_VALUE}. Its ranks alone tell of most events that the group need not be asked. */
type Members = {
  /** The least rank of those without `text` and `link`. */
  readonly plain: number;
  /** The least rank of all others. */
  readonly least: number;
  /** The others. */
  readonly group: Group | null;
  /** Of those that ask for a tag and no source, or for neither: the filters with the same tag and a source, by folded source. */
  readonly bySource: ReadonlyMap<string, Members> | null;
};

/** Filters with the same tag and source that ask for a text or a link. */
type Group = {
  /** The least rank of those with both. */
  readonly leastPair: number;
  readonly texts: Side;
  readonly links: Side;
};

/** What the filters of a group ask of the text, or of the link. */
type Side = {
  /** The least rank of the filters that ask for nothing else. */
  readonly least: number;
  /** For most of the patterns, where they are many. */
  readonly pass: RollingHash | null;
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

/** The pairs of pattern `id` are those from `from[id]` on and before `from[id + 1]`, by rising rank; `other` is the id of their other half. */
type Pairs = { readonly from: Int32Array; readonly rank: Int32Array; readonly other: Int32Array };

/** So few patterns are found faster one by one. */
const FEW = 4;

/** Puts the filters of a tag behind the first `count`. Returns how many there are then. */
function collect(asked: Members[], count: number, tagged: Members | undefined, source: string): number {
  if (tagged === undefined) return count;
  let end = count;
  asked[end++] = tagged;
  const members = tagged.bySource?.get(source);
  if (members !== undefined) asked[end++] = members;
  return end;
}

/** The least rank below `bound` of the filters of a group that match, else `bound`. */
function searchGroup(automaton: Automaton, group: Group, event: FoldedTexts, bound: number): number {
  const { texts, links, leastPair } = group;
  let best = bound;
  const textIds: number[] | null = leastPair < best ? [] : null;
  if (texts.least < best || textIds !== null) best = searchSide(automaton, texts, event.text(), best, textIds);
  const pairs = textIds === null || leastPair >= best ? 0 : countPairs(texts, textIds);
  const linkIds: number[] | null = pairs > FEW ? [] : null;
  if (textIds !== null && pairs > 0 && linkIds === null) {
    best = searchPairs(texts, textIds, best, (half) => event.link().includes(links.halves[half]!));
  }
  if (links.least < best || linkIds !== null) best = searchSide(automaton, links, event.link(), best, linkIds);
  if (textIds === null || linkIds === null || linkIds.length === 0) return best;
  return pairs <= countPairs(links, linkIds)
    ? walkPairs(texts, textIds, links, linkIds, best)
    : walkPairs(links, linkIds, texts, textIds, best);
}

/** As {@link Automaton.search}. */
function searchSide(automaton: Automaton, side: Side, text: string, bound: number, ids: number[] | null): number {
  let best = side.pass === null ? bound : side.pass.search(text, bound, ids);
  if (side.few === null) return automaton.search(side.set, text, best, ids);
  for (const pattern of side.few) {
    const isAsked = pattern.value < best || (ids !== null && pattern.id >= 0);
    if (!isAsked || !text.includes(pattern.text)) continue;
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

/** The least rank below `bound` of the pairs that hold one of the patterns of a side, and whose other half `isFound`, given its id. */
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
function indexGroups(ranked: readonly ClassFilter[], sets: Pattern[][]): ReadonlyMap<string, Members> {
  const index = new Map<string, Members>();
  for (const [tag, members] of Map.groupBy(ranked.map(foldFilter), (filter) => filter.tag)) {
    const any = members.filter(({ source }) => source === "");
    const one = members.filter(({ source }) => source !== "");
    const bySource = Array.from(
      Map.groupBy(one, ({ source }) => source),
      ([source, own]) => [source, toMembers(own, null, sets)] as const,
    );
    index.set(tag, toMembers(any, bySource.length === 0 ? null : new Map(bySource), sets));
  }
  return index;
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
function toMembers(filters: readonly Folded[], bySource: Members["bySource"], sets: Pattern[][]): Members {
  const asks = filters.filter(({ text, link }) => text !== "" || link !== "");
  return {
    plain: filters.find(({ text, link }) => text === "" && link === "")?.rank ?? NO_VALUE,
    least: asks[0]?.rank ?? NO_VALUE,
    group: asks.length === 0 ? null : toGroup(asks, sets),
    bySource,
  };
}

/** @param asks by rising rank */
function toGroup(asks: readonly Folded[], sets: Pattern[][]): Group {
  const both = asks.filter(({ text, link }) => text !== "" && link !== "");
  const textIds = number(both.map(({ text }) => text));
  const linkIds = number(both.map(({ link }) => link));
  const pairs = both.map(({ rank, text, link }) => ({ rank, text: textIds.get(text)!, link: linkIds.get(link)! }));
  const onlyText = asks.filter(({ link }) => link === "").map(({ text, rank }) => ({ text, rank }));
  const onlyLink = asks.filter(({ text }) => text === "").map(({ link, rank }) => ({ text: link, rank }));
  return {
    leastPair: both[0]?.rank ?? NO_VALUE,
    texts: toSide(onlyText, textIds, pairs, "text", sets),
    links: toSide(onlyLink, linkIds, pairs, "link", sets),
  };
}

/**
 * @param alone what filters ask of this side that ask for nothing else, by rising rank
 * @param ids the patterns of the pairs
 */
function toSide(
  alone: readonly { readonly text: string; readonly rank: number }[],
  ids: ReadonlyMap<string, number>,
  pairs: readonly Pair[],
  half: "text" | "link",
  sets: Pattern[][],
): Side {
  const patterns = new Map<string, Pattern>();
  for (const [text, id] of ids) patterns.set(text, { text, value: NO_VALUE, id });
  for (const { text, rank } of alone) {
    const known = patterns.get(text);
    if (known === undefined || rank < known.value) patterns.set(text, { text, value: rank, id: known?.id ?? -1 });
  }
  const { pass, rest } = compileRollingHash([...patterns.values()]);
  const isFew = rest.length <= FEW;
  return {
    least: alone[0]?.rank ?? NO_VALUE,
    pass,
    few: isFew ? rest : null,
    set: isFew ? -1 : sets.push([...rest]) - 1,
    halves: [...ids.keys()],
    pairs: bySide(pairs, ids.size, half),
    found: new Uint8Array(ids.size),
  };
}

/** @param pairs by rising rank */
function bySide(pairs: readonly Pair[], halves: number, half: "text" | "link"): Pairs {
  const sorted = pairs.toSorted((a, b) => a[half] - b[half]);
  const from = new Int32Array(halves + 1);
  for (const pair of pairs) from[pair[half] + 1]! += 1;
  for (let id = 0; id < halves; id++) from[id + 1]! += from[id]!;
  const other = half === "text" ? "link" : "text";
  return {
    from,
    rank: Int32Array.from(sorted, ({ rank }) => rank),
    other: Int32Array.from(sorted, (pair) => pair[other]),
  };
}

/** Numbers distinct strings from 0, in order of first appearance. */
function number(strings: readonly string[]): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const string of strings) if (!numbers.has(string)) numbers.set(string, numbers.size);
  return numbers;
}

function byRank(a: ClassFilter, b: ClassFilter): number {
  if (a.weight !== b.weight) return b.weight - a.weight;
  if (a.key === b.key) return 0;
  return a.key < b.key ? -1 : 1;
}
