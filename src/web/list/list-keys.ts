import type { EventActs } from "../event/event-acts.ts";
import type { Shortcuts } from "../keys/registry.ts";
import { shortcut } from "../keys/table.ts";
import type { ListControl } from "./control.ts";
import type { EventRow } from "./row.ts";

type KeysOptions = {
  readonly acts: Pick<EventActs, "bookmark" | "context" | "copy">;
  readonly rowOf: (id: string) => EventRow | undefined;
};

/** Binds the keys of a list; returns a function that unbinds them. */
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
  return shortcuts.bind([
    shortcut("list", "next", () => control()?.move(1)),
    shortcut("list", "previous", () => control()?.move(-1)),
    shortcut("list", "bookmark", onRow(acts.bookmark)),
    ...(acts.context === null ? [] : [shortcut("list", "context", onRow(acts.context))]),
    shortcut(
      "list",
      "copyText",
      onRow((row) => acts.copy("text", row)),
    ),
    shortcut(
      "list",
      "copyJson",
      onRow((row) => acts.copy("json", row)),
    ),
    shortcut(
      "list",
      "copyLql",
      onRow((row) => acts.copy("lql", row)),
    ),
    shortcut(
      "list",
      "copyCurl",
      onRow((row) => acts.copy("curl", row)),
    ),
  ]);
}
