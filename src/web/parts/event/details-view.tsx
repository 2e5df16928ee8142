import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";

import type { ListedEvent } from "../rows/row.ts";
import { visibleText } from "../text/visible-text.ts";
import { Menu } from "../controls/menu.tsx";
import type { MenuItem, MenuItems } from "../controls/menu.tsx";
import { actionsOfValue, attributesOfEvent, detailsOfEvent, safeLink, actionLabel } from "./details.ts";
import type { EventDetail, DetailValue, ValueAction } from "./details.ts";
import type { EventActions, EventFormats } from "./event-actions.ts";
import { NameText, TextPieces } from "../text/pieces.tsx";

type DetailsProperties = { readonly row: ListedEvent; readonly actions: EventActions; readonly formats: EventFormats };

/** Shows the fields and attributes of an event; each value is a button for its menu. */
export function EventDetails({ row, actions, formats }: DetailsProperties): JSX.Element {
  const open = useSignal<string | null>(null);
  const attributes = attributesOfEvent(row);
  const pairs = (details: readonly EventDetail[]): JSX.Element => (
    <dl class="pairs">
      {details.map((detail) => (
        <Pair key={detail.field} detail={detail} row={row} actions={actions} formats={formats} open={open} />
      ))}
    </dl>
  );
  return (
    <div class="facts">
      <h2>Event</h2>
      {pairs(detailsOfEvent(row, formats))}
      {attributes.length > 0 && (
        <>
          <h2>Attributes</h2>
          {pairs(attributes)}
        </>
      )}
    </div>
  );
}

type PairProperties = DetailsProperties & { readonly detail: EventDetail; readonly open: Signal<string | null> };

function Pair({ detail, ...rest }: PairProperties): JSX.Element {
  return (
    <>
      <dt>
        <NameText text={detail.field} />
      </dt>
      <dd>
        {placed(detail).map(({ value, place }) => (
          <Value key={place} detail={detail} value={value} place={place} {...rest} />
        ))}
      </dd>
    </>
  );
}

/** Gives each value of a field its own id, since two may be equal. */
function placed({ field, values }: EventDetail) {
  return values.map((value, index) => ({ value, place: `${field} ${index}` }));
}

type ValueProperties = PairProperties & { readonly value: DetailValue; readonly place: string };

function Value({ detail, value, place, row, actions, formats, open }: ValueProperties): JSX.Element {
  const button = useRef<HTMLButtonElement>(null);
  const isOpen = open.value === place;
  const close = (returnsFocus = true): void => {
    if (open.peek() === place) open.value = null;
    if (returnsFocus) button.current?.focus();
  };
  const isClass = detail.field === "class";
  return (
    <>
      <button
        ref={button}
        class={isClass ? "v name" : "v"}
        type="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        data-class={isClass ? (row.class ?? undefined) : undefined}
        onClick={() => (open.value = isOpen ? null : place)}
      >
        <TextPieces text={value.shown} needles={formats.needles.get(detail.field)} />
      </button>
      {isOpen && (
        <Menu
          class="value-menu"
          label={`Value ${visibleText(value.shown)} of ${visibleText(detail.field)}`}
          items={itemsFor(detail.field, value, actions)}
          onClose={close}
          button={button}
        />
      )}
    </>
  );
}

const HINTS: Readonly<Partial<Record<ValueAction, string>>> = { only: "=", not: "!=", above: ">=", below: "<=" };

/** Returns the label of an action, with the value or field isolated from our words. */
function labelOf(action: ValueAction, field: string, shown: string, isColumn: boolean): JSX.Element {
  const { before = "", name = "", after = "" } = actionLabel(action, field, shown, isColumn);
  return (
    <>
      {before}
      {name !== "" && <NameText text={name} />}
      {after}
    </>
  );
}

/** Returns the menu of a value: conditions, then the other actions. */
export function itemsFor(field: string, value: DetailValue, actions: EventActions): MenuItems {
  const link = field === "link" ? safeLink(value.shown) : null;
  const offered = actionsOfValue(field, value, link).filter(
    (action) => actions.onValue !== null || action === "copy" || action === "follow",
  );
  const itemOf = (action: ValueAction): MenuItem => ({
    label: labelOf(action, field, value.shown, actions.isColumn(field)),
    ...(HINTS[action] !== undefined && { hint: HINTS[action] }),
    act: () => {
      if (action === "copy") actions.copyValue(value.value === null ? value.shown : String(value.value));
      else if (action === "follow") window.open(link!, "_blank", "noopener,noreferrer");
      else actions.onValue?.(action, field, value);
    },
  });
  const conditions = offered.filter((action) => HINTS[action] !== undefined);
  const others = offered.filter((action) => HINTS[action] === undefined);
  return [conditions, others].filter((group) => group.length > 0).map((group) => group.map(itemOf));
}
