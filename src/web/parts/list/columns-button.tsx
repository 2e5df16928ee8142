import type { JSX } from "preact";

import { Icon } from "../controls/icons.tsx";
import { PopoverButton } from "../controls/popover.tsx";
import { lazy } from "../controls/lazy.tsx";
import type { ColumnsProperties } from "./column-chooser.tsx";

const Chooser = lazy<ColumnsProperties>(async () => (await import("./column-chooser.tsx")).ColumnChooser);

/** The `+` in the head: chooses the columns, their order and widths. */
export function ColumnsButton(properties: ColumnsProperties): JSX.Element {
  const content = () => <Chooser {...properties} />;
  return (
    <PopoverButton
      class="quiet icon"
      label="Columns"
      popoverClass="columns"
      popoverLabel="Columns"
      renderContent={content}
    >
      <Icon name="plus" />
    </PopoverButton>
  );
}
