import type { JSX } from "preact";

import { resizeColumn } from "../rows/columns.ts";
import type { ListColumn } from "../rows/columns.ts";

type GripProperties = {
  readonly name: string;
  readonly columns: readonly ListColumn[];
  readonly onColumns: (columns: readonly ListColumn[]) => void;
};

/** The edge of a column's head: dragging sets the width, a double click resets it. */
export function ColumnGrip({ name, columns, onColumns }: GripProperties): JSX.Element {
  const drag = (event: PointerEvent): void => {
    const grip = event.currentTarget as HTMLElement;
    const width = grip.parentElement!.getBoundingClientRect().width;
    const start = event.clientX;
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    const move = ({ clientX }: PointerEvent): void => {
      onColumns(resizeColumn(columns, name, width + clientX - start));
    };
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", () => grip.removeEventListener("pointermove", move), { once: true });
  };
  return (
    <span
      class="grip"
      aria-hidden="true"
      onPointerDown={drag}
      onDblClick={() => onColumns(resizeColumn(columns, name, null))}
    />
  );
}
