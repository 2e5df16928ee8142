import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { PRESETS, isSameRange } from "../../parts/query/range.ts";
import type { WrittenRange } from "../../parts/query/range.ts";

/** Named and recent ranges. Arrow keys move, Enter chooses. */
export function PresetList(properties: {
  readonly present: WrittenRange;
  readonly recent: readonly WrittenRange[];
  readonly nameOf: (range: WrittenRange) => string;
  readonly onChoose: (range: WrittenRange) => void;
}): JSX.Element {
  const { present, recent, nameOf, onChoose } = properties;
  const list = useRef<HTMLUListElement>(null);
  const presets = PRESETS.map(({ range }) => range);
  const ranges = [...presets, ...recent.filter((each) => !presets.some((preset) => isSameRange(preset, each)))];
  const at = useSignal(
    Math.max(
      0,
      ranges.findIndex((range) => isSameRange(range, present)),
    ),
  );
  useEffect(() => list.current?.focus(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: at.value + 1, ArrowUp: at.value - 1, Home: 0, End: ranges.length - 1 }[event.key];
    const chosen = ranges[at.value];
    if ((event.key === "Enter" || event.key === " ") && chosen !== undefined) onChoose(chosen);
    else if (to === undefined) return;
    else at.value = Math.min(Math.max(to, 0), ranges.length - 1);
    event.preventDefault();
  };
  return (
    <ul
      ref={list}
      role="listbox"
      aria-label="Presets"
      aria-activedescendant={`range-preset-${at.value}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      {ranges.map((range, i) => (
        <li
          id={`range-preset-${i}`}
          key={`${range.from} ${range.to}`}
          role="option"
          class={[i === at.value ? "at" : "", i === presets.length ? "recent" : ""].join(" ").trim()}
          aria-selected={isSameRange(range, present)}
          onClick={() => onChoose(range)}
        >
          {nameOf(range)}
        </li>
      ))}
    </ul>
  );
}
