import type { JSX } from "preact";

import { FactList } from "./health.tsx";
import { Form, formValues } from "../../parts/controls/form.tsx";
import { PaneHead } from "../../parts/controls/pane.tsx";
import { useAction, usePolling, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";

type Job = Readonly<Record<string, unknown>> & { readonly state: string };
type Last = { readonly last: Job | null };

const POLL_MS = 1_000;

/** Backups of the embedded files, and replays that rebuild the store from the bus. */
export function BackupPane({ app }: PartProperties): JSX.Element {
  return (
    <>
      <PaneHead title="Backup and replay">Both run beside everything else.</PaneHead>
      <OrderForm
        app={app}
        kind="backup"
        title="Copy to a folder on the disk of the service"
        field="to"
        placeholder="/backup/today"
      />
      <OrderForm
        app={app}
        kind="replay"
        title="Build the store anew from the bus, from"
        field="from"
        placeholder="start, or 2026-11-21"
      />
    </>
  );
}

function OrderForm(properties: {
  readonly app: PartProperties["app"];
  readonly kind: "backup" | "replay";
  readonly title: string;
  readonly field: string;
  readonly placeholder: string;
}): JSX.Element {
  const { app, kind, title, field, placeholder } = properties;
  const path = `/manage/1/${kind}`;
  const resource = useResource<Last>(app, path);
  const { fault, isBusy, act } = useAction();
  const last = resource.value.value?.last ?? null;
  const isRunning = last?.state === "running";
  usePolling(isRunning, POLL_MS, () => void resource.reload());
  return (
    <>
      <Form
        class="new-key"
        label={title}
        onSubmit={(form) => {
          const json = { [field]: formValues(form)[field] };
          act(async () => {
            await app.client.request(path, { method: "POST", json });
            await resource.reload();
          });
        }}
      >
        <label for={kind}>{title}</label>
        <input class="in" id={kind} name={field} required placeholder={placeholder} />
        <button class="btn" type="submit" disabled={isBusy.value || isRunning}>
          Start
        </button>
      </Form>
      {(fault.value ?? resource.fault.value) !== null && (
        <p class="err" role="alert">
          {fault.value ?? resource.fault.value}
        </p>
      )}
      {last !== null && <FactList facts={last} />}
    </>
  );
}
