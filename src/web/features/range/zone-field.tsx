import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { ownZone, zoneNames } from "../../parts/time/zones.ts";

const MOST_SHOWN = 40;

/** A combobox of the time zones that the browser knows. */
export function ZoneField(properties: {
  readonly value: string;
  readonly isKnown: boolean;
  readonly onInput: (text: string) => void;
}): JSX.Element {
  const { value, isKnown, onInput } = properties;
  const list = useRef<HTMLUListElement>(null);
  const isOpen = useSignal(false);
  const at = useSignal(-1);
  const found = isOpen.value ? zonesLike(value) : [];
  // While names are offered, the text may still become one.
  const isWrong = !isKnown && found.length === 0;
  const choose = (name: string | undefined) => {
    if (name !== undefined) onInput(name);
    isOpen.value = false;
    at.value = -1;
  };
  useEffect(() => list.current?.querySelector(".at")?.scrollIntoView({ block: "nearest" }), [at.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (!isOpen.value) isOpen.value = true;
      else at.value = (at.value + step + found.length + 1) % (found.length + 1);
      if (at.value === found.length) at.value = -1;
    } else if (event.key === "Enter" && isOpen.value && at.value !== -1) choose(found[at.value]);
    else if (event.key === "Escape" && isOpen.value) {
      event.stopPropagation();
      isOpen.value = false;
    } else return;
    event.preventDefault();
  };
  return (
    <div class="zone">
      <label for="range-zone">Zone</label>
      <input
        class="in"
        id="range-zone"
        role="combobox"
        aria-expanded={found.length > 0}
        aria-controls="range-zones"
        aria-autocomplete="list"
        aria-activedescendant={at.value === -1 ? undefined : `range-zone-${at.value}`}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? "range-zone-fault" : undefined}
        autocomplete="off"
        spellcheck={false}
        value={value}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          onInput(event.currentTarget.value);
          isOpen.value = true;
          at.value = -1;
        }}
        onClick={() => (isOpen.value = true)}
        onBlur={() => (isOpen.value = false)}
        onKeyDown={onKeyDown}
      />
      {isWrong && (
        <p class="err" id="range-zone-fault">
          There is no such zone. Write Europe/Berlin or UTC.
        </p>
      )}
      <ul
        ref={list}
        id="range-zones"
        class="pop zones"
        role="listbox"
        aria-label="Zones"
        hidden={found.length === 0}
        // Keeps the focus in the field.
        onPointerDown={(event) => event.preventDefault()}
      >
        {found.map((name, i) => (
          <li
            id={`range-zone-${i}`}
            key={name}
            role="option"
            class={i === at.value ? "at" : ""}
            aria-selected={name === value}
            onClick={() => choose(name)}
          >
            {name}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns zones that match the typed text, or all zones if it is a complete name. */
function zonesLike(typed: string): string[] {
  const all = [ownZone(), ...zoneNames().filter((name) => name !== ownZone())];
  const words = typed.trim().toLowerCase().replaceAll(" ", "_");
  if (all.some((name) => name.toLowerCase() === words)) return all.slice(0, MOST_SHOWN);
  const begins = (name: string): boolean => `/${name.toLowerCase()}`.includes(`/${words}`);
  const found = all.filter((name) => name.toLowerCase().includes(words));
  return [...found.filter(begins), ...found.filter((name) => !begins(name))].slice(0, MOST_SHOWN);
}
