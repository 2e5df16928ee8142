import type { JSX } from "preact";

const LINES = [..."cdedce"].map((width, line) => ({ width, line }));

/** Placeholder rows while there is no list yet. */
export function ListOutline(): JSX.Element {
  return (
    <div class="list outline" aria-hidden="true">
      {LINES.map(({ width, line }) => (
        <div key={line} class="row">
          <span class="ghost a" />
          <span class="ghost b" />
          <span />
          <span class={`ghost ${width}`} />
        </div>
      ))}
    </div>
  );
}
