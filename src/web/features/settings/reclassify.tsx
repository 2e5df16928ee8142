import type { JSX } from "preact";

import { Form, formValues } from "../../parts/controls/form.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import { MomentText, PaneHead } from "../../parts/controls/pane.tsx";
import { useAction, usePolling, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

/** The response of `GET …/reclassify`. */
type Job = {
  readonly state: "none" | "waiting" | "running" | "done" | "failed";
  readonly started: string | null;
  readonly finished: string | null;
  readonly total: number | null;
  readonly done: number;
  readonly changed: number;
  readonly reason: string | null;
};

const STATES = { none: "", waiting: "It begins in a moment", running: "Running", done: "Done", failed: "It failed" };

const POLL_MS = 1_000;

/** Applies the current class filters to stored events. */
export function ReclassifyPane({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/reclassify`;
  const resource = useResource<Job>(app, path);
  const { fault, isBusy, act } = useAction();
  const job = resource.value.value;
  const isUnderWay = job?.state === "waiting" || job?.state === "running";
  usePolling(isUnderWay, POLL_MS, () => void resource.reload());
  const start = (form: HTMLFormElement) =>
    act(async () => {
      const { from = "" } = formValues(form);
      await app.client.request(path, { method: "POST", json: from === "" ? {} : { from: new Date(from).getTime() } });
      await resource.reload();
    });
  return (
    <>
      <PaneHead title="Reclassify" fault={fault.value ?? resource.fault.value}>
        Events keep the class that they had when they arrived. This gives those of {log} that are stored the class of
        today's filters. It raises no alerts.
      </PaneHead>
      <Form class="new-key" label="Reclassify" onSubmit={start}>
        <label for="from">Events from</label>
        <input class="in" id="from" name="from" type="datetime-local" aria-describedby="from-help" />
        <button class="btn solid" type="submit" disabled={isBusy.value || isUnderWay}>
          Reclassify
        </button>
        <span class="note" id="from-help">
          Empty: all of them
        </span>
      </Form>
      {job !== null && job.state !== "none" && <Progress job={job} />}
    </>
  );
}

function Progress({ job }: { job: Job }): JSX.Element {
  const { state, total, done, changed, started, finished, reason } = job;
  return (
    <div class="msg" role="status">
      <div>
        <h2>{STATES[state]}</h2>
        <p>
          {formatNumber(done)} {total !== null && `of ${formatNumber(total)}`} events read, {formatNumber(changed)}{" "}
          changed.
        </p>
        {total !== null && total > 0 && <progress max={total} value={done} aria-label="Events read" />}
        <p class="note">
          Begun <MomentText moment={started} />
          {finished !== null && (
            <>
              , ended <MomentText moment={finished} />
            </>
          )}
        </p>
        {reason !== null && <p>{reason}</p>}
      </div>
    </div>
  );
}
