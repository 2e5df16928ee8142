import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { faultMessage } from "../api/client.ts";
import { Message } from "../controls/message.tsx";
import type { OpenEventProperties } from "./event-actions.ts";
import { foldData, isHtml } from "./data.ts";
import { readInto } from "./memory.ts";
import type { LoadState } from "./memory.ts";
import { TextPieces } from "../text/pieces.tsx";

/** Shows an event's data, initially as text and limited to its first lines. */
export function EventData(properties: OpenEventProperties): JSX.Element {
  const { row, state, actions, formats } = properties;
  const data = state.data.value;
  const read = (): void => void readInto(state.data, async () => await actions.readData(row));
  useEffect(read, [row.id]);
  if (data.kind === "failed") {
    return (
      <>
        <h2>data</h2>
        <Message kind="warn" title="The data could not be loaded" actions={[{ label: "Try again", act: read }]}>
          {data.fault instanceof Error ? data.fault.message : String(data.fault)}
        </Message>
      </>
    );
  }
  if (data.kind !== "read") {
    return (
      <>
        <h2>data</h2>
        <pre class="data" aria-busy="true">
          {" "}
        </pre>
      </>
    );
  }
  const { shown, moreLines } = foldData(data.value);
  const isWhole = moreLines === 0 || state.isUnfolded.value;
  const text = (
    <>
      <pre class="data">
        <TextPieces text={isWhole ? data.value : shown} needles={formats.needles.get("data")} keepLines />
      </pre>
      {moreLines > 0 && (
        <button
          class="fold link"
          type="button"
          aria-expanded={isWhole}
          onClick={() => (state.isUnfolded.value = !isWhole)}
        >
          {isWhole ? "Show fewer lines" : `Show ${moreLines} more ${moreLines === 1 ? "line" : "lines"}`}
        </button>
      )}
    </>
  );
  return (
    <>
      <h2>data</h2>
      {isHtml(data.value) ? <HtmlData {...properties}>{text}</HtmlData> : text}
    </>
  );
}

/** Shows data as text or, on request, as a page in a frame without scripts, requests or windows. */
function HtmlData({
  row,
  state,
  actions,
  children,
}: OpenEventProperties & { readonly children: JSX.Element }): JSX.Element {
  // A ticket is valid for one request, so a redrawn frame needs another one.
  const frame = useSignal<LoadState<string>>({ kind: "none" });
  const isPage = state.isPage.value;
  useEffect(() => {
    if (isPage) void readInto(frame, async () => await actions.openPage(row));
    else frame.value = { kind: "none" };
  }, [isPage]);
  const { kind } = frame.value;
  if (isPage && frame.value.kind === "read") {
    return (
      <>
        <iframe
          class="page-frame"
          title="Data as a page"
          sandbox=""
          referrerpolicy="no-referrer"
          src={frame.value.value}
        />
        <button class="fold link" type="button" onClick={() => (state.isPage.value = false)}>
          Show as text
        </button>
      </>
    );
  }
  const show = (): void => {
    if (isPage) void readInto(frame, async () => await actions.openPage(row));
    else state.isPage.value = true;
  };
  return (
    <>
      <p class="note">
        The producer sent this as a page. It is shown as text.{" "}
        <button class="link" type="button" disabled={kind === "reading"} onClick={show}>
          Show as a page
        </button>
        {frame.value.kind === "failed" && ` ${faultMessage(frame.value.fault)}`}
      </p>
      {children}
    </>
  );
}
