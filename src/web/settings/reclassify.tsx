import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { valuesOf } from "../parts/form.ts";
import { Clock, PaneHead } from "./pane.tsx";
import { useAct, useResource } from "../state/resource.ts";
import type { PartProperties } from "./part.ts";

type Job = {
  readonly state: string;
  readonly total?: number | null;
  readonly done?: number;
  readonly changed?: number;
  readonly started?: string | null;
  readonly ended?: string | null;
  readonly reason?: string | null;
};

const POLL_MS = 1_000;

/** Gives stored events the classes of today's filters. */
export function Reclassify({ app, log }: PartProperties): JSX.Element {
  const path = `/manage/1/logs/${log}/reclassify`;
  const resource = useResource<Job | { readonly last: Job | null }>(app, path);
  const { fault, isBusy, act } = useAct();
  const answer = resource.value.value;
  const job = answer === null ? null : "last" in answer ? answer.last : answer;
  const isRunning = job?.state === "running";
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => void resource.reload(), POLL_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const start = (form: HTMLFormElement) =>
    act(async () => {
      const { from = "" } = valuesOf(form);
      await app.client.ask(path, { method: "POST", json: from === "" ? {} : { from: new Date(from).getTime() } });
      await resource.reload();
    });
  return (
    <>
      <PaneHead title="Reclassify" fault={fault.value ?? resource.fault.value}>
        Events keep the class that they had when they arrived. This gives those of {log} that are stored the class of
        today's filters. It raises no alerts.
      </PaneHead>
      <form
        class="new-key"
        aria-label="Reclassify"
        onSubmit={(event) => {
          event.preventDefault();
          start(event.currentTarget);
        }}
      >
        <label for="from">Events from</label>
        <input class="in" id="from" name="from" type="datetime-local" aria-describedby="from-help" />
        <button class="btn solid" type="submit" disabled={isBusy.value || isRunning}>
          Reclassify
        </button>
        <span class="note" id="from-help">
          Empty: all of them
        </span>
      </form>
      {job !== null && job.state !== "none" && <Progress job={job} />}
    </>
  );
}

function Progress({ job }: { job: Job }): JSX.Element {
  const { state, total = null, done = 0, changed = 0, started = null, ended = null, reason = null } = job;
  return (
    <div class="msg" role="status">
      <div>
        <h2>{state === "running" ? "Running" : state === "done" ? "Done" : `It ${state}`}</h2>
        <p>
          {done.toLocaleString("en")} {total !== null && `of ${total.toLocaleString("en")}`} events read,{" "}
          {changed.toLocaleString("en")} changed.
        </p>
        {total !== null && total > 0 && <progress max={total} value={done} aria-label="Events read" />}
        <p class="note">
          Begun <Clock moment={started} />
          {ended !== null && (
            <>
              , ended <Clock moment={ended} />
            </>
          )}
        </p>
        {reason !== null && <p>{reason}</p>}
      </div>
    </div>
  );
}
