import type { EventActs } from "../event/event-acts.ts";
import type { Shortcuts } from "../keys/registry.ts";
import type { ListControl } from "./control.ts";
import type { EventRow } from "./row.ts";

type KeysOptions = {
  readonly acts: Pick<EventActs, "bookmark" | "context" | "copy">;
  readonly rowOf: (id: string) => EventRow | undefined;
};

/** Binds the keys of a list. @returns what takes them away */
export function bindListKeys(
  shortcuts: Shortcuts,
  control: () => Pick<ListControl, "current" | "move"> | null,
  { acts, rowOf }: KeysOptions,
): () => void {
  const onRow = (act: (row: EventRow) => void) => () => {
    const id = control()?.current ?? null;
    const row = id === null ? undefined : rowOf(id);
    if (row !== undefined) act(row);
  };
  const scope = "In the list";
  return shortcuts.bind([
    { scope, keys: ["j"], label: "Next event", act: () => control()?.move(1) },
    { scope, keys: ["k"], label: "Previous event", act: () => control()?.move(-1) },
    { scope, keys: ["Enter"], label: "Open or close the event", act: null },
    { scope, keys: ["PageDown"], label: "A page further", act: null },
    { scope, keys: ["b"], label: "Bookmark", act: onRow(acts.bookmark) },
    ...(acts.context === null
      ? []
      : [{ scope, keys: ["c"], label: "Neighbouring events", act: onRow(acts.context) } as const]),
    { scope, keys: ["y", "t"], label: "Copy as text", act: onRow((row) => acts.copy("text", row)) },
    { scope, keys: ["y", "j"], label: "Copy as JSON", act: onRow((row) => acts.copy("json", row)) },
    { scope, keys: ["y", "l"], label: "Copy as LQL", act: onRow((row) => acts.copy("lql", row)) },
    { scope, keys: ["y", "u"], label: "Copy as a curl command", act: onRow((row) => acts.copy("curl", row)) },
  ]);
}
