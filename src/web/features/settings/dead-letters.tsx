import { useComputed } from "@preact/signals";
import type { JSX } from "preact";

import { MomentText, PaneHead, Records } from "../../parts/controls/pane.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import type { PartProperties } from "./part.ts";
import "../../css/event.css";

type Letter = {
  readonly id: string;
  readonly time: string;
  readonly stage: string;
  readonly reason: string;
  readonly key: string;
  readonly content: string;
};
type LetterPage = { readonly letters: readonly Letter[]; readonly open: number; readonly total: number };

/** Dead letters: records that the pipeline could not process. They can be sent through it again. */
export function DeadLettersPane({ app }: PartProperties): JSX.Element {
  const page = useResource<LetterPage>(app, "/manage/1/deadletters?limit=100");
  const { fault, isBusy, act } = useAction();
  const redrive = (json: { all: true } | { ids: readonly string[] }) =>
    act(async () => {
      const { body } = await app.client.request<{ redriven: number }>("/manage/1/deadletters/redrive", {
        method: "POST",
        json,
      });
      app.toaster.show(`${body.redriven} sent through again`);
      await page.reload();
    });
  const found = page.value.value;
  const letters = useComputed(() => page.value.value?.letters ?? null);
  return (
    <>
      <PaneHead title="Dead letters" fault={fault.value}>
        Records that could not be stored, each with its reason. Nothing of them is lost.
        {found !== null && ` ${found.open} are open, of ${found.total} in all.`}
      </PaneHead>
      <Records
        caption="Dead letters"
        resource={{ ...page, value: letters }}
        columns={["When", "Log", "Reason"]}
        empty="None open."
        renderRow={(letter) => (
          <tr key={letter.id}>
            <td>
              <MomentText moment={letter.time} />
            </td>
            <td>{letter.key}</td>
            <td>
              <details>
                <summary>
                  {letter.reason} ({letter.stage})
                </summary>
                <pre class="data">{letter.content}</pre>
              </details>
            </td>
            <td class="act">
              <button class="quiet" type="button" onClick={() => redrive({ ids: [letter.id] })}>
                Send again
              </button>
            </td>
          </tr>
        )}
      />
      {found !== null && found.open > 0 && (
        <button class="btn" type="button" disabled={isBusy.value} onClick={() => redrive({ all: true })}>
          Send all that are open again
        </button>
      )}
    </>
  );
}
