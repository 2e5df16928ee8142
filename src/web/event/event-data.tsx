import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { Message } from "../parts/message.tsx";
import type { OpenEventProperties } from "./event-acts.ts";
import { foldData, isHtml } from "./data.ts";
import { readInto } from "./memory.ts";

import { Pieces } from "./pieces.tsx";

/** The data of an event: its first lines until more are asked for, and always as text at first. */
export function EventData({ row, state, acts, words }: OpenEventProperties): JSX.Element {
  const data = state.data.value;
  const read = (): void => void readInto(state.data, async () => await acts.readData(row));
  useEffect(read, [row.id]);
  if (data.kind === "failed") {
    return (
      <>
        <h2>data</h2>
        <Message kind="warn" title="The data could not be loaded" acts={[{ label: "Try again", act: read }]}>
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
  return (
    <>
      <h2>data</h2>
      {isHtml(data.value) && <AsPage row={row} state={state} acts={acts} words={words} />}
      <pre class="data">
        <Pieces text={isWhole ? data.value : shown} needles={words.needles.get("data")} keepLines />
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
}

/** Shows data as a page where that is asked for: in a frame that may run, send and open nothing. */
function AsPage({ row, state, acts }: OpenEventProperties): JSX.Element {
  const frame = state.frame.value;
  const show = (): void => void readInto(state.frame, async () => await acts.openPage(row));
  if (frame.kind === "read") {
    return (
      <>
        <iframe class="page-frame" title="Data as a page" sandbox="" referrerpolicy="no-referrer" src={frame.value} />
        <button class="fold link" type="button" onClick={() => (state.frame.value = { kind: "none" })}>
          Show as text
        </button>
      </>
    );
  }
  return (
    <p class="note">
      The producer sent this as a page. It is shown as text.{" "}
      <button class="link" type="button" disabled={frame.kind === "reading"} onClick={show}>
        Show as a page
      </button>
      {frame.kind === "failed" && ` ${frame.fault instanceof Error ? frame.fault.message : String(frame.fault)}`}
    </p>
  );
}
