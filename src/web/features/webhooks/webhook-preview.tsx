import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { faultMessage } from "../../parts/api/client.ts";
import type { HookKind, HookRecord, PreviewedEvent } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { NameText, TextPieces } from "../../parts/text/pieces.tsx";
import { countWithNoun } from "../../parts/text/numbers.ts";
import { MomentText } from "../../parts/controls/pane.tsx";
import { placeFault } from "./draft.ts";
import type { FieldFault } from "./draft.ts";
import { readHeaders } from "./example.ts";
import type { TypedExample } from "./example.ts";
import { Field } from "./field.tsx";
import type { SenderExample } from "./senders.ts";

type Preview = { readonly events: readonly PreviewedEvent[]; readonly more: boolean; readonly fault: string | null };

/** Delay after the last key press. */
const WAIT_MS = 250;

/** Shows the events that a hook would make of an example body, before the hook is saved. */
export function WebhookPreview(properties: {
  readonly app: App;
  readonly log: string;
  readonly kind: HookKind;
  readonly template: HookRecord["template"];
  readonly example: SenderExample;
  /** Called with the fault that the API finds in the template, or null. */
  readonly onTemplateFault: (fault: FieldFault | null) => void;
}): JSX.Element {
  const { app, log, kind, template, example, onTemplateFault } = properties;
  const typed = useSignal<TypedExample>({ body: "", headers: "" });
  const preview = useSignal<Preview | null>(null);
  const fault = useSignal<FieldFault | null>(null);
  const { body, headers: typedHeaders } = typed.value;
  const headers = readHeaders(typedHeaders);
  const isEmpty = body.trim() === "";
  // Without a body, an empty object lets the API check the template.
  const request = JSON.stringify({ kind, template, body: isEmpty ? "{}" : body, headers });
  useEffect(() => {
    if (isEmpty) preview.value = null;
    if (headers === null) return undefined;
    const abort = new AbortController();
    const read = async () => {
      try {
        const options = { method: "POST", json: JSON.parse(request) as unknown, signal: abort.signal } as const;
        const { body: found } = await app.client.request<Preview>(`/manage/1/logs/${log}/hooks/preview`, options);
        preview.value = isEmpty ? null : found;
        fault.value = null;
        onTemplateFault(null);
      } catch (error) {
        if (abort.signal.aborted) return;
        const placed = placeFault(error) ?? { field: "", words: faultMessage(error) };
        preview.value = null;
        fault.value = placed.field.startsWith("template") ? null : placed;
        onTemplateFault(placed.field.startsWith("template") ? placed : null);
      }
    };
    const timer = setTimeout(() => void read(), WAIT_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [request, log]);
  return (
    <fieldset class="try">
      <legend>Try it</legend>
      <Field
        id="example-body"
        label="Example body"
        value={body}
        rows={6}
        isCode
        fault={!isEmpty && fault.value?.field === "body" ? fault.value.words : null}
        onInput={(text) => (typed.value = { ...typed.peek(), body: text })}
      />
      <Field
        id="example-headers"
        label="Headers of the request"
        value={typedHeaders}
        rows={2}
        isCode
        help="One per line, such as X-GitHub-Event: push."
        fault={headers === null ? "Each line must be a name, a colon and a value" : null}
        onInput={(text) => (typed.value = { ...typed.peek(), headers: text })}
      />
      <div>
        <button
          class="btn small"
          type="button"
          onClick={() => {
            typed.value = { body: JSON.stringify(example.body, null, 2), headers: example.headers ?? "" };
          }}
        >
          Fill in an example
        </button>
      </div>
      <p class="note" role="status">
        {isEmpty ? "The resulting event is shown here. Nothing is stored." : outcome(preview.value)}
      </p>
      {!isEmpty && fault.value?.field === "" && (
        <p class="err" role="alert">
          {fault.value.words}
        </p>
      )}
      {!isEmpty &&
        preview.value?.events.map((event, index, { length }) => (
          <EventTable event={event} caption={length === 1 ? "The event" : `Event ${index + 1}`} />
        ))}
    </fieldset>
  );
}

function outcome(preview: Preview | null): string {
  if (preview === null) return "";
  const { events, more, fault } = preview;
  const count = more ? `The first ${events.length} events` : countWithNoun(events.length, "event");
  return `${count} would be stored.${fault === null ? "" : ` Parts are left out: ${fault}.`}`;
}

/** The non-empty fields and the attributes of an event. */
function EventTable({ event, caption }: { event: PreviewedEvent; caption: string }): JSX.Element {
  return (
    <table class="table tight preview-event">
      <caption>{caption}</caption>
      <tbody>
        {factsOf(event).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              <NameText text={name} />
            </th>
            <td>
              <TextPieces text={value} keepLines />
            </td>
          </tr>
        ))}
        <tr>
          <th scope="row">created</th>
          <td>{event.created === null ? "When it arrives" : <MomentText moment={event.created} />}</td>
        </tr>
        {Object.entries(event.attributes).map(([name, value]) => (
          <tr key={`@${name}`}>
            <th scope="row">
              <NameText text={`@${name}`} />
            </th>
            <td>
              <TextPieces text={typeof value === "object" ? value.join(", ") : String(value)} keepLines />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function factsOf({ text, tags, source, user, link, value, geo, data }: PreviewedEvent): (readonly [string, string])[] {
  const place = geo === null ? "" : "ip" in geo ? geo.ip : `${geo.lat}, ${geo.lon}`;
  const facts = [
    ["text", text],
    ["tags", tags.join(" ")],
    ["source", source],
    ["user", user],
    ["link", link],
    ["value", value === null ? "" : String(value)],
    ["geo", place],
    ["data", data ?? ""],
  ] as const;
  return facts.filter(([, shown]) => shown !== "");
}
