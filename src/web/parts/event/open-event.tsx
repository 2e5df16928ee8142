import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { ROW_CHARACTERS } from "../text/visible-text.ts";
import { Icon } from "../controls/icons.tsx";
import type { IconName } from "../controls/icons.tsx";
import { MenuButton } from "../controls/menu.tsx";
import type { MenuItem } from "../controls/menu.tsx";
import { formatNumber } from "../text/numbers.ts";
import type { CopyForm } from "./copy.ts";
import { EventData } from "./event-data.tsx";
import type { OpenEventProperties } from "./event-actions.ts";
import { EventDetails } from "./details-view.tsx";
import { readInto } from "./memory.ts";
import { TextPieces } from "../text/pieces.tsx";
import "../../css/event.css";

/** Shows all of an event, and the actions on it. */
export function OpenEvent(properties: OpenEventProperties): JSX.Element {
  const { row, state, actions, formats } = properties;
  const body = useRef<HTMLDivElement>(null);
  void formats.changes.value;
  useEffect(() => {
    if (actions.showAlike !== null) void readInto(state.alike, async () => await actions.countAlike(row));
  }, [row.id]);
  return (
    <>
      <Toolbar {...properties} />
      <div class="body" ref={body}>
        <WholeText body={body} row={row} state={state} formats={formats} />
        {row.data ? <EventData {...properties} /> : <p class="note">This event has no data.</p>}
      </div>
      <EventDetails row={row} actions={actions} formats={formats} />
    </>
  );
}

const COPIES: readonly { readonly form: CopyForm; readonly label: string; readonly key: string }[] = [
  { form: "text", label: "Text", key: "y t" },
  { form: "json", label: "JSON", key: "y j" },
  { form: "lql", label: "LQL that finds it", key: "y l" },
  { form: "curl", label: "curl command", key: "y u" },
];

function Toolbar({ row, state, actions }: OpenEventProperties): JSX.Element {
  const isBookmarked = actions.isBookmarked(row);
  const alike = state.alike.value;
  const copies: MenuItem[] = COPIES.map(({ form, label, key }) => ({
    label,
    hint: key,
    act: () => actions.copy(form, row),
  }));
  const seldom: (MenuItem & { readonly icon: IconName })[] = [
    { icon: "link", label: "Copy link", act: () => actions.copyLink(row) },
    ...(actions.makeClass === null
      ? []
      : [{ icon: "addClass" as const, label: "Make a class", act: () => actions.makeClass?.(row) }]),
    ...(alike.kind === "read"
      ? [
          {
            icon: "filter" as const,
            label: `${formatNumber(alike.value)} like this`,
            act: () => actions.showAlike?.(row),
          },
        ]
      : []),
  ];
  return (
    <div class="acts" role="toolbar" aria-label="Event">
      <button class="quiet" type="button" aria-pressed={isBookmarked} onClick={() => actions.bookmark(row)}>
        <Icon name="bookmark" />
        {isBookmarked ? "Bookmarked" : "Bookmark"} <kbd>b</kbd>
      </button>
      {actions.context !== null && (
        <button class="quiet" type="button" onClick={() => actions.context?.(row)}>
          <Icon name="context" />
          Context <kbd>c</kbd>
        </button>
      )}
      <MenuButton class="quiet" items={[copies]} menuClass="under">
        <Icon name="copy" />
        Copy <kbd>y</kbd>
      </MenuButton>
      {seldom.map(({ icon, label, act }) => (
        <button key={icon} class="quiet hide-small" type="button" onClick={act}>
          <Icon name={icon} />
          {label}
        </button>
      ))}
      <span class="only-small">
        <MenuButton class="quiet icon" label="More" items={[seldom]} menuClass="under end">
          <Icon name="more" />
        </MenuButton>
      </span>
    </div>
  );
}

type TextProperties = Pick<OpenEventProperties, "row" | "state" | "formats"> & {
  readonly body: { readonly current: HTMLElement | null };
};

/**
 * Shows the whole text if the row has no room for it. If it was cut when posted, it offers the whole
 * message, which the data then holds.
 */
function WholeText({ row, state, formats, body }: TextProperties): JSX.Element | null {
  const isCut = useSignal(false);
  const data = state.data.value;
  // The data may be the producer's own.
  const whole = row.tags.includes("cut") && data.kind === "read" && data.value.startsWith(row.text) ? data.value : null;
  const isWhole = whole !== null && state.isWhole.value;
  useLayoutEffect(() => {
    const cell = body.current?.closest(".slot")?.querySelector(".row .x");
    const isShown = cell && cell.scrollWidth <= cell.clientWidth && cell.scrollHeight <= cell.clientHeight + 1;
    isCut.value = isShown !== true || row.text.length > ROW_CHARACTERS || /[\r\n]/.test(row.text);
  }, [row]);
  if (!isCut.value && whole === null) return null;
  return (
    <>
      <h2>text</h2>
      {whole !== null && (
        <p class="note">
          {isWhole ? "Stored in the data." : `Cut after ${formatNumber([...row.text].length)} characters.`}{" "}
          <button class="link" type="button" onClick={() => (state.isWhole.value = !isWhole)}>
            {isWhole ? "Show the text" : "Show the whole message"}
          </button>
        </p>
      )}
      <p class="text">
        <TextPieces text={isWhole ? whole : row.text} needles={formats.needles.get("text")} keepLines />
        {whole !== null && !isWhole && "…"}
      </p>
    </>
  );
}
