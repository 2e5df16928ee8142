import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import type { EventRecord } from "../../parts/api/types.ts";
import type { App } from "../../state/app.ts";
import { DAY_MS } from "../../../query/calendar.ts";
import type { GroupRecord } from "../../parts/query/groups.ts";
import { NameText } from "../../parts/text/pieces.tsx";
import { Icon } from "../../parts/controls/icons.tsx";
import { formatNumber } from "../../parts/text/numbers.ts";
import { actWith } from "../../parts/controls/act-with.ts";
import { useResource } from "../../parts/api/resource.ts";
import { mayChange, readsOnly } from "../../state/roles.ts";
import { ClassEditor } from "../../features/classes/class-editor.tsx";
import { ClassReader } from "../../features/classes/class-reader.tsx";
import { draftFrom, draftOfClass, newClassDraft } from "../../features/classes/draft.ts";
import type { ClassDraft } from "../../features/classes/draft.ts";
import { useTitle } from "../../state/title.ts";
import "../../css/classes.css";
import "../../css/forms.css";

/** Lists the classes of a log, heaviest first, and edits one of them. */
export function ClassesScreen({ app, log }: { app: App; log: string }): JSX.Element {
  const { part, parameters } = app.location.place.value;
  useTitle(app, "Classes", log);
  const classes = app.classes.byLog.value.get(log) ?? [];
  const counts = useCounts(app, log);
  const isAdmin = mayChange(app, log);
  const event = useEvent(app, log, isAdmin ? (parameters.get("event") ?? "") : "");
  const chosen = classes.find(({ key }) => key === part);
  const draft = useMemo<ClassDraft | null>(() => {
    if (chosen !== undefined) return draftOfClass(chosen);
    if (event.value !== null) return draftFrom(event.value.event, event.value.pattern, classes);
    return part === "~new" || classes.length === 0 ? newClassDraft(classes) : null;
  }, [chosen, part, event.value, classes.length === 0]);
  const isOpen = isAdmin ? draft !== null : chosen !== undefined;
  const link = (next: string) => app.location.link({ screen: "classes", log, part: next, parameters: new Map() });
  return (
    // On a narrow screen, the list is shown until a class is chosen.
    <div class={isOpen ? "classes" : "classes choosing"}>
      <aside class="side" aria-label={`Classes of the log ${log}`}>
        <header>
          {isOpen ? <h2>Classes</h2> : <h1>Classes</h1>}
          <span class="space" />
          {isAdmin && (
            <a class="btn small" href={link("~new")}>
              <Icon name="plus" />
              New class
            </a>
          )}
        </header>
        <div class="crow head">
          <span />
          <span class="n">Heaviest first</span>
          <span class="num">Weight</span>
          <span class="num">24 h</span>
        </div>
        <nav aria-label="Classes">
          {classes.map(({ key, display, weight }) => (
            <a
              key={key}
              class="crow"
              href={link(key)}
              data-class={key}
              aria-current={key === part ? "true" : undefined}
            >
              <span class="sw" />
              <span class="n">
                <NameText text={display === "" ? key : display} />
              </span>
              <span class="num">{weight}</span>
              <span class="num">{countText(counts.get(key))}</span>
            </a>
          ))}
          <div class="crow">
            <span class="sw" />
            <span class="n note">No class</span>
            <span class="num">–</span>
            <span class="num">{countText(counts.get(""))}</span>
          </div>
        </nav>
      </aside>
      {!isAdmin && chosen !== undefined ? (
        <ClassReader key={`${log} ${part}`} app={app} log={log} record={chosen} />
      ) : draft === null || !isAdmin ? (
        <main id="main" tabIndex={-1} class="edit">
          <p class="note">
            {isAdmin ? "Choose a class, or make a new one." : readsOnly(log)} A class colours and names the events that
            fit it.
          </p>
        </main>
      ) : (
        <ClassEditor
          key={`${log} ${draft.key} ${event.value?.event.id ?? ""}`}
          app={app}
          log={log}
          start={draft}
          classes={classes}
          takesFocus={part === "~new" || event.value !== null}
        />
      )}
    </div>
  );
}

function countText(count: number | undefined): string {
  return count === undefined ? "0" : formatNumber(count);
}

/** Counts the events of the last 24 hours by class; "" is none. */
function useCounts(app: App, log: string): ReadonlyMap<string, number> {
  const query = useMemo(() => {
    const now = Date.now();
    const [from, to] = [new Date(now - DAY_MS).toISOString(), new Date(now).toISOString()];
    return `GET events GROUPBY class OCCURS('${from}', '${to}') COLUMNS(KEY, COUNT)`;
  }, [log]);
  const { value } = useResource<readonly GroupRecord[]>(app, `/1/logs/${log}/query?query=${encodeURIComponent(query)}`);
  return new Map((value.value ?? []).map((record) => [record.key, Number(record["count"])]));
}

/** Reads the event that a new class is created from. */
function useEvent(app: App, log: string, id: string) {
  const { client } = app;
  const found = useSignal<{ readonly event: EventRecord; readonly pattern: string } | null>(null);
  useEffect(() => {
    found.value = null;
    if (!/^[0-9a-f]{24}$/.test(id)) return;
    const read = async () => {
      const query = `GET events WHERE id = '${id}' COLUMNS(id, pattern)`;
      const [event, pattern] = await Promise.all([
        client.request<EventRecord>(`/1/logs/${log}/events/${id}`),
        client.request<readonly { readonly pattern: string }[]>(`/1/logs/${log}/query`, { query: { query } }),
      ]);
      found.value = { event: event.body, pattern: pattern.body[0]?.pattern ?? "" };
    };
    actWith(app, "The form begins empty, the event could not be read", read());
  }, [log, id]);
  return found;
}
