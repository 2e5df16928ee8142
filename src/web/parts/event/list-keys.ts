import type { EventActions } from "./event-actions.ts";
import type { Shortcuts } from "../keys/registry.ts";
import { shortcut } from "../keys/table.ts";
import type { ListControl } from "../list/control.ts";
import type { ListedEvent } from "../rows/row.ts";

type KeysOptions = {
  readonly actions: Pick<EventActions, "bookmark" | "context" | "copy">;
  readonly rowOf: (id: string) => ListedEvent | undefined;
};

/** Binds the keys of a list; returns a function that unbinds them. */
export function bindListKeys(
  shortcuts: Shortcuts,
  control: () => Pick<ListControl, "current" | "move"> | null,
  { actions, rowOf }: KeysOptions,
): () => void {
  const onRow = (act: (row: ListedEvent) => void) => () => {
    const id = control()?.current ?? null;
    const row = id === null ? undefined : rowOf(id);
    if (row !== undefined) act(row);
  };
  return shortcuts.bind([
    shortcut("list", "next", () => control()?.move(1)),
    shortcut("list", "previous", () => control()?.move(-1)),
    shortcut("list", "bookmark", onRow(actions.bookmark)),
    ...(actions.context === null ? [] : [shortcut("list", "context", onRow(actions.context))]),
    shortcut(
      "list",
      "copyText",
      onRow((row) => actions.copy("text", row)),
    ),
    shortcut(
      "list",
      "copyJson",
      onRow((row) => actions.copy("json", row)),
    ),
    shortcut(
      "list",
      "copyLql",
      onRow((row) => actions.copy("lql", row)),
    ),
    shortcut(
      "list",
      "copyCurl",
      onRow((row) => actions.copy("curl", row)),
    ),
  ]);
}
