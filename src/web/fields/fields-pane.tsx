import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { App } from "../app.ts";
import type { Search } from "../state/search.ts";

type Field = {
  readonly name: string;
  readonly count: string;
  readonly values: readonly { readonly value: string; readonly count: string }[];
};

/** The fields of the log with their most frequent values. */
export function FieldsPane({ app, search }: { app: App; search: Search }): JSX.Element {
  const fields = useSignal<readonly Field[]>([]);
  const run = search.run.value;
  useEffect(() => {
    app.client
      .ask<readonly Field[]>(`/1/logs/${run.log}/fields`, {
        query: { created: `${run.moments.from}:${run.moments.to}`, values: 5 },
        signal: run.signal,
      })
      .then(
        ({ body }) => (fields.value = body),
        () => undefined,
      );
  }, [run]);
  return (
    <aside class="side" aria-label="Fields">
      <header>
        <h2>Fields</h2>
      </header>
      {fields.value.map(({ name, values }) => (
        <section class="facet">
          <h3>{name}</h3>
          {values.map(({ value, count }) => (
            <div class="val">
              <span class="n">{value}</span>
              <span class="c">{Number(count).toLocaleString("en")}</span>
            </div>
          ))}
        </section>
      ))}
    </aside>
  );
}
