import { useLayoutEffect, useRef } from "preact/hooks";

type Handlers = { readonly onKeyDown: (event: KeyboardEvent) => void; readonly onFocusIn: (event: FocusEvent) => void };

/**
 * Makes the buttons of a facet one tab stop. Up and Down move between its lines, Left and Right
 * within a line, Home and End to the first and last line.
 */
export function useRoving(root: { readonly current: HTMLElement | null }): Handlers {
  const current = useRef<HTMLElement | null>(null);
  const setStop = (): void => {
    const all = buttonsIn(root.current);
    const stop = all.find((button) => button === current.current) ?? all[0];
    for (const button of all) button.tabIndex = button === stop ? 0 : -1;
  };
  useLayoutEffect(setStop);
  return {
    onFocusIn: ({ target }) => {
      // The other buttons of a line are hidden while the focus is elsewhere.
      const [first] = buttonsIn((target as HTMLElement).closest<HTMLElement>(".valrow"));
      current.current = first ?? (target as HTMLElement);
      setStop();
    },
    onKeyDown: (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const next = buttonBeside(root.current, event.target as HTMLElement, event.key);
      if (next === undefined) return;
      event.preventDefault();
      next.focus();
    },
  };
}

function buttonsIn(element: HTMLElement | null): readonly HTMLElement[] {
  return [...(element?.querySelectorAll<HTMLElement>("button") ?? [])];
}

const LINE = "h3, .valrow, .more-vals";

/** Returns the button that a key leads to; undefined for other keys. */
function buttonBeside(root: HTMLElement | null, from: HTMLElement, key: string): HTMLElement | undefined {
  const lines = [...(root?.querySelectorAll<HTMLElement>(LINE) ?? [])];
  const line = from.closest<HTMLElement>(LINE);
  if (line === null) return undefined;
  const at = lines.indexOf(line);
  const inLine = buttonsIn(line);
  const firstOf = (next: HTMLElement | undefined) =>
    next?.matches("button") === true ? next : buttonsIn(next ?? null)[0];
  switch (key) {
    case "ArrowDown":
      return firstOf(lines[at + 1]);
    case "ArrowUp":
      return firstOf(lines[at - 1]);
    case "Home":
      return firstOf(lines[0]);
    case "End":
      return firstOf(lines.at(-1));
    case "ArrowRight":
      return inLine[inLine.indexOf(from) + 1];
    case "ArrowLeft":
      return inLine[inLine.indexOf(from) - 1];
    default:
      return undefined;
  }
}
