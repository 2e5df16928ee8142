import type { StoredEvent } from "../../src/events/event.ts";
import { fold, wellFormed } from "../../src/events/text.ts";
import type { ClassFilter } from "../../src/catalog/catalog.ts";
import { NO_VALUE, compileAutomaton } from "./automaton.ts";
import type { Automaton, Pattern } from "./automaton.ts";

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
 * - filters with `text` or `link` are a pattern set of an automaton that carries the least rank along: one pass, however many match
 *   (up to {@link FEW} are looked for one by one, which is faster);
 * - filters with both need the patterns themselves: all found in the text, all found in the link, then the pairs of the side with fewer of them are
 *   looked through. This alone may grow with the number of filters, where thousands of them share a pattern that the event contains: by one read
 *   of an array for each.
 *
 * A group is asked only where its least rank is better than what was found before.
 */
export function compileMatcher(filters: readonly ClassFilter[]): Matcher {
  const ranked = filters.toSorted(byRank);
  const sets: Pattern[][] = [];
  const index = indexGroups(ranked, sets);
  const automaton = compileAutomaton(sets);
  const asksForTags = index.size > (index.has("") ? 1 : 0);

  return (event) => {
    const source = fold(event.source);
    const groups: Group[] = [];
    collect(groups, index.get(""), source);
    if (asksForTags) for (const tag of event.tags) collect(groups, index.get(fold(tag)), source);
    if (groups.length === 0) return null;

    let best = NO_VALUE;
    for (const group of groups) best = Math.min(best, group.plain);
    let text: string | null = null;
    let link: string | null = null;
    for (const group of groups) {
      if (group.texts !== null && group.texts.least < best) {
        best = leastContained(automaton, group.texts, (text ??= fold(event.text)), best);
      }
      if (group.links !== null && group.links.least < best) {
        best = leastContained(automaton, group.links, (link ??= fold(event.link)), best);
      }
      if (group.pairs !== null && group.pairs.least < best) {
        best = leastPair(automaton, group.pairs, (text ??= fold(event.text)), (link ??= fold(event.link)), best);
      }
    }
    return ranked[best]?.key ?? null;
  };
}

/** So few patterns are found faster one by one. */
const FEW = 4;

/** Filters with the same tag and source. */
type Group = {
  /** The least rank of those without `text` and `link`, {@link NO_VALUE} where there is none. */
  readonly plain: number;
  readonly texts: Patterns | null;
  readonly links: Patterns | null;
  readonly pairs: Pairs | null;
};

/** Patterns whose values are ranks: a set of the automaton, or a few by rising rank. */
type Patterns = { readonly least: number } & (
  { readonly set: number } | { readonly set: null; readonly few: readonly Pattern[] }
);

/** Filters of one group with both `text` and `link`. */
type Pairs = { readonly least: number; readonly texts: Side; readonly links: Side };

/** One half of the pairs: for each distinct pattern, which is its index here, the pairs that hold it, by rising rank. */
type Side = { readonly set: number; readonly pairsOf: readonly (readonly Pair[])[]; readonly mark: Uint32Array };

type Pair = { readonly rank: number; readonly text: number; readonly link: number };

type Index = ReadonlyMap<string, ReadonlyMap<string, Group>>;

function collect(groups: Group[], bySource: ReadonlyMap<string, Group> | undefined, source: string): void {
  if (bySource === undefined) return;
  const anySource = bySource.get("");
  if (anySource !== undefined) groups.push(anySource);
  if (source === "") return;
  const thisSource = bySource.get(source);
  if (thisSource !== undefined) groups.push(thisSource);
}

function leastContained(automaton: Automaton, patterns: Patterns, text: string, bound: number): number {
  if (patterns.set !== null) return automaton.least(patterns.set, text, bound);
  for (const pattern of patterns.few) {
    if (pattern.value >= bound) return bound;
    if (text.includes(pattern.text)) return pattern.value;
  }
  return bound;
}

function leastPair(automaton: Automaton, pairs: Pairs, text: string, link: string, bound: number): number {
  const texts = automaton.contained(pairs.texts.set, text);
  if (texts.length === 0) return bound;
  const links = automaton.contained(pairs.links.set, link);
  if (links.length === 0) return bound;
  return weigh(pairs.texts, texts) <= weigh(pairs.links, links)
    ? walk(pairs.texts, texts, pairs.links, links, "link", bound)
    : walk(pairs.links, links, pairs.texts, texts, "text", bound);
}

function weigh(side: Side, patterns: readonly number[]): number {
  let pairs = 0;
  for (const pattern of patterns) pairs += side.pairsOf[pattern]!.length;
  return pairs;
}

/** The least rank below `bound` of the pairs of `patterns` whose `otherHalf` is among `others`. */
function walk(
  side: Side,
  patterns: readonly number[],
  other: Side,
  others: readonly number[],
  otherHalf: "text" | "link",
  bound: number,
): number {
  let best = bound;
  for (const pattern of others) other.mark[pattern] = 1;
  for (const pattern of patterns) {
    for (const pair of side.pairsOf[pattern]!) {
      if (pair.rank >= best) break;
      if (other.mark[pair[otherHalf]] === 1) best = pair.rank;
    }
  }
  for (const pattern of others) other.mark[pattern] = 0;
  return best;
}

/** Groups by folded tag, then by folded source, where "" stands for "any"; pattern sets are added to `sets`. */
function indexGroups(ranked: readonly ClassFilter[], sets: Pattern[][]): Index {
  const drafts = new Map<string, Map<string, Folded[]>>();
  ranked.forEach((filter, rank) => {
    const folded = foldFilter(filter, rank);
    const bySource = drafts.get(folded.tag) ?? new Map<string, Folded[]>();
    drafts.set(folded.tag, bySource);
    const members = bySource.get(folded.source);
    if (members === undefined) bySource.set(folded.source, [folded]);
    else members.push(folded);
  });
  return new Map(
    [...drafts].map(([tag, bySource]) => [
      tag,
      new Map([...bySource].map(([source, members]) => [source, toGroup(members, sets)])),
    ]),
  );
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

/** @param members by rising rank */
function toGroup(members: readonly Folded[], sets: Pattern[][]): Group {
  const both = members.filter((member) => member.text !== "" && member.link !== "");
  return {
    plain: members.find((member) => member.text === "" && member.link === "")?.rank ?? NO_VALUE,
    texts: toPatterns(
      members
        .filter((member) => member.text !== "" && member.link === "")
        .map(({ text, rank }) => ({ text, value: rank })),
      sets,
    ),
    links: toPatterns(
      members
        .filter((member) => member.text === "" && member.link !== "")
        .map(({ link, rank }) => ({ text: link, value: rank })),
      sets,
    ),
    pairs: both.length === 0 ? null : toPairs(both, sets),
  };
}

/** @param patterns by rising rank */
function toPatterns(patterns: Pattern[], sets: Pattern[][]): Patterns | null {
  const least = patterns[0]?.value;
  if (least === undefined) return null;
  return patterns.length <= FEW ? { least, set: null, few: patterns } : { least, set: sets.push(patterns) - 1 };
}

function toPairs(members: readonly Folded[], sets: Pattern[][]): Pairs {
  const texts = number(members.map((member) => member.text));
  const links = number(members.map((member) => member.link));
  const pairs = members.map(({ rank, text, link }) => ({ rank, text: texts.get(text)!, link: links.get(link)! }));
  return {
    least: members[0]!.rank,
    texts: toSide(texts, pairs, "text", sets),
    links: toSide(links, pairs, "link", sets),
  };
}

function toSide(
  patterns: ReadonlyMap<string, number>,
  pairs: readonly Pair[],
  half: "text" | "link",
  sets: Pattern[][],
): Side {
  const set = sets.push([...patterns].map(([text, value]) => ({ text, value }))) - 1;
  const pairsOf: Pair[][] = Array.from(patterns, () => []);
  for (const pair of pairs) pairsOf[pair[half]]!.push(pair);
  return { set, pairsOf, mark: new Uint32Array(patterns.size) };
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
