import type { StoredEvent } from "../../events/event.ts";
import { distinctTags } from "../../events/tags.ts";
import { fold } from "../../events/text.ts";
import type { Alert } from "../store.ts";
import {
  bigints,
  booleans,
  distinctTexts,
  doubles,
  hexUbigints,
  structs,
  textLists,
  texts,
  uintegers,
} from "./columns.ts";
import type { Column } from "./columns.ts";
import { FOLDED_FIELDS } from "./folds.ts";
import type { Folds } from "./folds.ts";
import { foldedUnlessAscii } from "./schema.ts";

/** A row of `events`, with what is worked out of the event. */
type EventRow = {
  readonly event: StoredEvent;
  /** Each tag once, as acceptance has it: groups by tag count on that. */
  readonly tags: readonly string[];
  readonly folded: Folded | null;
};

/** Forms that `lower` would get wrong; null where it would not. */
type Folded = {
  readonly text: string | null;
  readonly link: string | null;
  readonly tags: readonly string[] | null;
  readonly source: string | null;
  readonly user: string | null;
  readonly class: string | null;
};

/** The columns of `events`, in the order of the table. */
export const EVENT_COLUMNS: readonly Column<EventRow>[] = [
  bigints(({ event }) => event.created),
  hexUbigints(({ event }) => event.id.slice(0, 16)),
  uintegers(({ event }) => parseInt(event.id.slice(16), 16)),
  texts(({ event }) => event.log),
  distinctTexts(({ event }) => event.text),
  texts(({ event }) => event.link),
  distinctTexts(({ event }) => event.hash),
  textLists(({ tags }) => tags),
  texts(({ event }) => event.source),
  texts(({ event }) => event.user),
  texts(({ event }) => event.class),
  doubles(({ event }) => event.value),
  doubles(({ event: { geo } }) => (geo !== null && "lat" in geo ? geo.lat : null)),
  doubles(({ event: { geo } }) => (geo !== null && "lon" in geo ? geo.lon : null)),
  texts(({ event: { geo } }) => (geo !== null && "ip" in geo ? geo.ip : null)),
  texts(({ event }) => event.data),
  structs<EventRow, Folded>(({ folded }) => folded, {
    text: texts((folded) => folded?.text ?? null),
    link: texts((folded) => folded?.link ?? null),
    tags: textLists((folded) => folded?.tags ?? null),
    source: texts((folded) => folded?.source ?? null),
    user: texts((folded) => folded?.user ?? null),
    class: texts((folded) => folded?.class ?? null),
  }),
];

/** The columns of `alerts`, in the order of the table. */
export const ALERT_COLUMNS: readonly Column<Alert>[] = [
  hexUbigints(({ event }) => event.id.slice(0, 16)),
  uintegers(({ event }) => parseInt(event.id.slice(16), 16)),
  texts(({ user }) => user),
  texts(({ event }) => event.log),
  booleans(() => false),
];

/** `folds` learns of forms that the row holds beside the texts. */
export function toRow(event: StoredEvent, folds: Folds): EventRow {
  const tags = distinctTags(event.tags);
  return { event, tags, folded: foldedOf(event, tags, folds) };
}

function foldedOf(event: StoredEvent, tags: readonly string[], folds: Folds): Folded | null {
  const folded = {
    text: foldedUnlessAscii(event.text),
    link: foldedUnlessAscii(event.link),
    tags: foldedTags(tags),
    source: foldedUnlessAscii(event.source),
    user: foldedUnlessAscii(event.user),
    class: event.class === null ? null : foldedUnlessAscii(event.class),
  };
  let isHeld = false;
  for (const field of FOLDED_FIELDS) {
    if (folded[field] === null) continue;
    folds.add(field);
    isHeld = true;
  }
  return isHeld ? folded : null;
}

function foldedTags(tags: readonly string[]): readonly string[] | null {
  for (const tag of tags) if (fold(tag) !== tag) return tags.map(fold);
  return null;
}
