import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { DAY_MS } from "../../../query/calendar.ts";
import type { App } from "../../state/app.ts";
import { Icon } from "../../parts/controls/icons.tsx";
import { Message } from "../../parts/controls/message.tsx";
import { Form, formValues } from "../../parts/controls/form.tsx";
import { countWithNoun } from "../../parts/text/numbers.ts";
import { mayChange, readsOnly } from "../../state/roles.ts";
import { PaneHead } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type ManagedLog = {
  readonly key: string;
  readonly display: string;
  readonly plan: string;
  readonly retentionDays: number | null;
  readonly origins: readonly string[];
};

type LogChange = Pick<ManagedLog, "display" | "retentionDays" | "origins">;
/** A change that removes events, and how many. */
type Removal = { readonly events: number; readonly json: LogChange };

/** Name, retention and posting origins of a log. Admins of the log can change them. */
export function GeneralPane({ app, log }: PartProperties): JSX.Element {
  return mayChange(app, log) ? <ChangeLog app={app} log={log} /> : <ReadLog app={app} log={log} />;
}

function ReadLog({ app, log }: PartProperties): JSX.Element {
  const record = app.logs.value?.find(({ key }) => key === log);
  const days = record?.retentionDays ?? null;
  return (
    <>
      <PaneHead title="General">{readsOnly(log)}</PaneHead>
      {record !== undefined && (
        <table class="table">
          <caption class="sr">{`The log ${log}`}</caption>
          <tbody>
            <tr>
              <th scope="row">Name</th>
              <td>{record.display}</td>
            </tr>
            <tr>
              <th scope="row">Events are kept</th>
              <td>{days === null ? "For ever" : countWithNoun(days, "day")}</td>
            </tr>
            <tr>
              <th scope="row">Plan</th>
              <td>{record.plan}</td>
            </tr>
          </tbody>
        </table>
      )}
    </>
  );
}

function ChangeLog({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}`;
  const resource = useResource<ManagedLog>(app, path);
  const { fault, isBusy, act } = useAction();
  const managed = resource.value.value;
  const asked = useSignal<Removal | null>(null);
  const change = async (json: LogChange) => {
    await app.client.request(path, { method: "PATCH", json });
    asked.value = null;
    await resource.reload();
    app.toaster.show("The log was changed");
  };
  const save = (form: HTMLFormElement) =>
    act(async () => {
      asked.value = null;
      const { display = "", days = "", origins = "" } = formValues(form);
      const json = {
        display,
        retentionDays: days === "" ? null : Number(days),
        origins: origins.split(/[\s,]+/).filter((origin) => origin !== ""),
      };
      const events = await countRemoved(app, log, managed?.retentionDays ?? null, json.retentionDays);
      if (events === 0) await change(json);
      else asked.value = { events, json };
    });
  const answer = (isYes: boolean) => {
    const removal = asked.peek();
    if (isYes && removal !== null) act(() => change(removal.json));
    else asked.value = null;
  };
  return (
    <>
      <PaneHead title="General" fault={fault.value ?? resource.fault.value}>
        The key of a log is part of every address and never changes.
      </PaneHead>
      {managed !== null && (
        <Form class="form" onSubmit={save}>
          <div>
            <label for="display">Name</label>
            <input class="in" id="display" name="display" required maxLength={200} defaultValue={managed.display} />
          </div>
          <div>
            <label for="days">Days that events are kept</label>
            <input
              class="in"
              id="days"
              name="days"
              type="number"
              min={1}
              max={36500}
              step={1}
              placeholder="For ever"
              defaultValue={managed.retentionDays ?? ""}
            />
            <p class="help">
              Empty: for ever. Older events are removed within the hour, and no one can bring them back.
            </p>
          </div>
          <div>
            <label for="origins">Pages that may post from a browser</label>
            <textarea
              class="in"
              id="origins"
              name="origins"
              rows={3}
              spellcheck={false}
              placeholder="https://shop.example.org"
              defaultValue={managed.origins.join("\n")}
            />
            <p class="help">
              Their origins, one a line: scheme, host and port, as the browser shows them. A star lets every page post.
              They still need a key, which whoever opens such a page can read: give them one that is write-only.
            </p>
          </div>
          <div>
            <span class="note">Plan: {managed.plan}</span>
          </div>
          {asked.value !== null && <ConfirmRemoval removal={asked.value} answer={answer} />}
          <div class="save">
            <button class="btn solid" type="submit" disabled={isBusy.value}>
              Save
            </button>
          </div>
        </Form>
      )}
      {managed === null && resource.fault.value === null && <Message title="Reading the log…" icon="clock" />}
    </>
  );
}

/** Counts the stored events that a shorter retention removes; 0 if it is no shorter. @throws ApiFault */
async function countRemoved(
  { client }: App,
  log: string,
  before: number | null,
  after: number | null,
): Promise<number> {
  if (after === null || (before !== null && after >= before)) return 0;
  const query = { created: `:${Date.now() - after * DAY_MS}`, pagesize: 1, total: "exact" };
  const { headers } = await client.request(`/1/logs/${log}/events`, { query });
  return Number(headers.get("X-Total-Count") ?? 0);
}

/** Asks whether events may be removed for good, and takes the focus. */
function ConfirmRemoval(properties: {
  readonly removal: Removal;
  readonly answer: (isYes: boolean) => void;
}): JSX.Element {
  const { removal, answer } = properties;
  const { events, json } = removal;
  const days = countWithNoun(json.retentionDays ?? 0, "day");
  return (
    <div class="msg warn" role="alert">
      <Icon name="warning" />
      <div>
        <h2>{countWithNoun(events, "event is", "events are")} removed for good</h2>
        <p>{`Events older than ${days} are removed within the hour. No one can bring them back.`}</p>
        <div class="acts">
          <button class="btn small danger" type="button" onClick={() => answer(true)}>
            {`Keep ${days} only`}
          </button>
          <button class="btn small" type="button" ref={(button) => button?.focus()} onClick={() => answer(false)}>
            Keep the events
          </button>
        </div>
      </div>
    </div>
  );
}
