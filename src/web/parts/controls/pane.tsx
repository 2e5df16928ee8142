import type { ComponentChildren, JSX } from "preact";

import { parseMoment } from "../api/types.ts";
import { Icon } from "./icons.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Message } from "./message.tsx";
import type { Resource } from "../api/resource.ts";
import "../../css/live.css";

/** The heading of a settings pane, with the fault of its last change. */
export function PaneHead(properties: {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly fault?: string | null;
}): JSX.Element {
  const { title, children, fault = null } = properties;
  return (
    <>
      <h1>{title}</h1>
      <p>{children}</p>
      {fault !== null && (
        <Message kind="bad" title="This did not work">
          {fault}
        </Message>
      )}
    </>
  );
}

/** A table of records. Shows its own loading, empty and error states. */
export function Records<Row>(properties: {
  readonly caption: string;
  readonly resource: Resource<readonly Row[]>;
  readonly columns: readonly string[];
  readonly renderRow: (row: Row) => ComponentChildren;
  readonly empty: string;
}): JSX.Element {
  const { caption, resource, columns, renderRow, empty } = properties;
  const rows = resource.value.value;
  if (resource.fault.value !== null)
    return (
      <Message
        kind="warn"
        title="These could not be read"
        actions={[{ label: "Try again", act: () => void resource.reload() }]}
      >
        {resource.fault.value}
      </Message>
    );
  if (rows === null) return <div class="progress" role="progressbar" aria-label="Loading" />;
  if (rows.length === 0) return <p class="note">{empty}</p>;
  return (
    <table class="table">
      <caption class="sr">{caption}</caption>
      <thead>
        <tr>
          {columns.map((name) => (
            <th scope="col">{name}</th>
          ))}
          <th scope="col">
            <span class="sr">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>{rows.map(renderRow)}</tbody>
    </table>
  );
}

const NOT_AGAIN = "Only its fingerprint is stored, so it cannot be shown again.";

/** A secret that is shown once. */
export function Secret(properties: {
  readonly title: string;
  readonly name: string;
  readonly value: string;
  /** Default: why it cannot be shown again. */
  readonly note?: string;
  readonly onDone: () => void;
}): JSX.Element {
  const { title, name, value, onDone, note = NOT_AGAIN } = properties;
  return (
    <div class="msg good" role="status">
      <Icon name="tick" />
      <div>
        <h2>{title}</h2>
        <p class="note">{note}</p>
        <div class="secret acts">
          <output aria-label={name}>{value}</output>
          <CopyButton class="btn" text={value} />
          <button class="btn" type="button" onClick={onDone}>
            Done
          </button>
        </div>
      </div>
    </div>
  );
}

/** The date of a timestamp in the format of the API. */
export function DateText({ moment }: { moment: string }): JSX.Element {
  const date = new Date(parseMoment(moment));
  const words = date.toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
  return <time dateTime={date.toISOString()}>{words}</time>;
}

/** Date and time, to the second, of a timestamp in the format of the API. */
export function MomentText({ moment }: { moment: string | null }): JSX.Element {
  if (moment === null) return <span class="note">not yet</span>;
  const date = new Date(parseMoment(moment));
  return (
    <time dateTime={date.toISOString()}>
      {date.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" })}
    </time>
  );
}

export function StateDot({ isOn, children }: { isOn: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <span class={isOn ? "state" : "state note"}>
      <span class={isOn ? "dot" : "dot wait"} aria-hidden="true" />
      {children}
    </span>
  );
}
