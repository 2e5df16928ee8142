import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import type { ClassRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { Form } from "../../parts/controls/form.tsx";
import { ConfirmButton } from "../../parts/controls/confirm-button.tsx";
import { useAction, useResource } from "../../parts/api/resource.ts";
import { NameText } from "../../parts/text/pieces.tsx";
import { visibleText } from "../../parts/text/visible-text.ts";
import { NO_OPTIONS, OptionFields } from "./class-options.tsx";
import { ClassPreview } from "./class-preview.tsx";
import { ColorField } from "./color-field.tsx";
import { heavierThan, keyFor } from "./draft.ts";
import type { ClassDraft } from "./draft.ts";
import { readHiding } from "../../state/hiding.ts";
import type { ClassOptions } from "../../state/hiding.ts";

/** Edits or creates a class, beside the events that match it. */
export function ClassEditor(properties: {
  readonly app: App;
  readonly log: string;
  readonly start: ClassDraft;
  readonly classes: readonly ClassRecord[];
  /** Whether a new class was requested, so that its name takes the focus. */
  readonly takesFocus: boolean;
}): JSX.Element {
  const { app, log, start, classes, takesFocus } = properties;
  const draft = useSignal(start);
  const { fault, isBusy, act } = useAction();
  const path = `/manage/1/logs/${log}/classFilters`;
  const isNew = start.key === "";
  const options = useSignal<ClassOptions | null>(null);
  const stored = useResource<ClassOptions>(app, isNew ? "" : `${path}/${start.key}/options`);
  useEffect(() => {
    if (takesFocus) document.getElementById("class-name")?.focus();
  }, []);
  const change = (changes: Partial<ClassDraft>) => (draft.value = { ...draft.value, ...changes });
  const shown = options.value ?? stored.value.value ?? NO_OPTIONS;
  const save = () =>
    act(async () => {
      const { key: _, weight, ...fields } = draft.value;
      const json = { ...fields, weight: Number(weight) };
      const key = isNew ? keyFor(fields.display, new Set(classes.map((each) => each.key))) : start.key;
      if (isNew) await app.client.request(path, { method: "POST", json: { key, ...json } });
      else await app.client.request(`${path}/${key}`, { method: "PUT", json });
      if (options.value !== null)
        await app.client.request(`${path}/${key}/options`, { method: "PUT", json: options.value });
      await Promise.all([app.classes.read(), readHiding(app, log)]);
      app.location.go({ screen: "classes", log, part: key, parameters: new Map() });
      app.toaster.show(`Class ${visibleText(fields.display)} saved`);
    });
  const remove = () =>
    act(async () => {
      await app.client.request(`${path}/${start.key}`, { method: "DELETE" });
      await app.classes.read();
      app.location.go({ screen: "classes", log, part: "", parameters: new Map() });
    });
  const heavier = heavierThan(draft.value, classes);
  return (
    <main id="main" tabIndex={-1} class="edit">
      <header>
        <h1>
          <NameText text={draft.value.display === "" ? "New class" : draft.value.display} />
        </h1>
        <span class="note">{start.key}</span>
        <span class="space" />
        {!isNew && (
          <ConfirmButton label="Remove class" question="Its events keep it until they are reclassified." act={remove} />
        )}
      </header>
      <Form class="form" label={isNew ? "New class" : `Class ${visibleText(start.display)}`} onSubmit={save}>
        <div class="two">
          <Field name="Name" value={draft.value.display} isRequired onInput={(display) => change({ display })} />
          <Field name="Weight" value={draft.value.weight} isNumber onInput={(weight) => change({ weight })} />
        </div>
        <p class="help">
          An event that fits several classes takes the heaviest.{" "}
          {heavierText(heavier.map(({ display, key }) => visibleText(display === "" ? key : display)))}
        </p>
        <ColorField name={draft.value.display} color={draft.value.color} onInput={(color) => change({ color })} />
        <fieldset class="form">
          <legend>An event is in this class when all of these hold</legend>
          <Field name="Has the tag" value={draft.value.tag} onInput={(tag) => change({ tag })} />
          <div class="two">
            <Field name="Source is" value={draft.value.source} hint="any" onInput={(source) => change({ source })} />
            <Field name="Link contains" value={draft.value.link} hint="anything" onInput={(link) => change({ link })} />
          </div>
          <Field name="Text contains" value={draft.value.text} hint="anything" onInput={(text) => change({ text })} />
        </fieldset>
        <OptionFields app={app} options={shown} onChange={(next) => (options.value = next)} />
        {fault.value !== null && (
          <p class="err" role="alert">
            {fault.value}
          </p>
        )}
        <div class="save">
          <button class="btn solid" type="submit" disabled={isBusy.value}>
            Save class
          </button>
          <button
            class="btn"
            type="button"
            onClick={() => {
              draft.value = start;
              options.value = null;
            }}
          >
            Discard changes
          </button>
        </div>
      </Form>
      <ClassPreview app={app} log={log} draft={draft.value} classes={classes} />
    </main>
  );
}

const MOST_NAMES = 3;

/** Names the classes that outweigh the edited one, or counts them if there are many. */
function heavierText(names: readonly string[]): string {
  if (names.length === 0) return "";
  if (names.length > MOST_NAMES) return `${names.length} classes outweigh this one.`;
  const [last, ...others] = names.toReversed();
  const all = others.length === 0 ? last : `${others.toReversed().join(", ")} and ${last}`;
  return `${all} outweigh${names.length === 1 ? "s" : ""} this one.`;
}

function Field(properties: {
  readonly name: string;
  readonly value: string;
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly isNumber?: boolean;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  const { name, value, hint, isRequired = false, isNumber = false, onInput } = properties;
  const id = `class-${name.toLowerCase().replaceAll(" ", "-")}`;
  return (
    <div>
      <label for={id}>{name}</label>
      <input
        class="in"
        id={id}
        value={value}
        placeholder={hint}
        required={isRequired || isNumber}
        inputMode={isNumber ? "numeric" : undefined}
        pattern={isNumber ? "-?[0-9]{1,7}" : undefined}
        title={isNumber ? "A whole number" : undefined}
        maxLength={200}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}
