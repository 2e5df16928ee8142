import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import type { ClassRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { NameText, TextPieces } from "../../parts/text/pieces.tsx";
import { visibleText } from "../../parts/text/visible-text.ts";
import { Form } from "../../parts/controls/form.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import { readsOnly } from "../../state/roles.ts";
import { NO_OPTIONS, OptionFields } from "./class-options.tsx";
import { readHiding } from "../../state/hiding.ts";
import type { ClassOptions } from "../../state/hiding.ts";
import "../../css/tables.css";

/** A class for readers who may not change it: its definition, and their own options. */
export function ClassReader(properties: {
  readonly app: App;
  readonly log: string;
  readonly record: ClassRecord;
}): JSX.Element {
  const { app, log, record } = properties;
  const path = `/manage/1/logs/${log}/classFilters/${record.key}/options`;
  const stored = useResource<ClassOptions>(app, path);
  const chosen = useSignal<ClassOptions | null>(null);
  const { fault, isBusy, act } = useAction();
  const name = record.display === "" ? record.key : record.display;
  const save = () =>
    act(async () => {
      if (chosen.value !== null) await app.client.request(path, { method: "PUT", json: chosen.value });
      await readHiding(app, log);
      app.toaster.show(`Your options of ${visibleText(name)} were saved`);
    });
  const said = fault.value ?? stored.fault.value;
  return (
    <main id="main" tabIndex={-1} class="edit">
      <header>
        <h1>
          <NameText text={name} />
        </h1>
        <span class="note">{record.key}</span>
      </header>
      <Form class="form" label={`Your options of ${visibleText(name)}`} onSubmit={save}>
        <p class="note">{readsOnly(log)}</p>
        <table class="table">
          <caption class="sr">{`What makes an event one of ${visibleText(name)}`}</caption>
          <tbody>
            {factsOf(record).map(([title, value]) => (
              <tr key={title}>
                <th scope="row">{title}</th>
                <td>
                  <TextPieces text={value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <OptionFields
          app={app}
          options={chosen.value ?? stored.value.value ?? NO_OPTIONS}
          onChange={(options) => (chosen.value = options)}
        />
        {said !== null && (
          <p class="err" role="alert">
            {said}
          </p>
        )}
        <div class="save">
          <button class="btn solid" type="submit" disabled={isBusy.value || stored.value.value === null}>
            Save your options
          </button>
        </div>
      </Form>
    </main>
  );
}

/** Returns the class's weight, colour and non-empty conditions. */
function factsOf({ weight, color, tag, source, link, text }: ClassRecord): readonly (readonly [string, string])[] {
  const facts = [
    ["Weight", String(weight)],
    ["Colour", color],
    ["Has the tag", tag],
    ["Source is", source],
    ["Link contains", link],
    ["Text contains", text],
  ] as const;
  return facts.filter(([, value]) => value !== "");
}
