export type Shortcut = {
  /** Keys as in `KeyboardEvent.key`, in order: `["g", "s"]` is g, then s. `Shift+n` needs Shift. */
  readonly keys: readonly string[];
  readonly act: () => void;
};

/** The part of a `KeyboardEvent` that identifies a shortcut. */
export type KeyPress = {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly target: EventTarget | null;
};

export type Shortcuts = {
  /**
   * Adds shortcuts; returns a function that removes them. Components call it in a layout effect, so
   * that no key pressed as soon as they are painted is lost.
   */
  readonly bind: (shortcuts: readonly Shortcut[]) => () => void;
  /** Runs the shortcut of a key, if any; returns whether there was one. */
  readonly press: (key: KeyPress) => boolean;
};

/** Longest time between the two keys of a shortcut, in milliseconds. */
const SECOND_KEY_MS = 1500;

/**
 * Creates the page's single-key shortcuts. They are active only while enabled and outside text
 * fields, as WCAG 2.1.4 requires. Of two with the same keys, the later one runs.
 */
export function createShortcuts(isOn: () => boolean, now: () => number = () => performance.now()): Shortcuts {
  let all: readonly Shortcut[] = [];
  let first: { readonly key: string; readonly at_ms: number } | null = null;
  return {
    bind(shortcuts) {
      all = [...all, ...shortcuts];
      return () => {
        const gone = new Set(shortcuts);
        all = all.filter((each) => !gone.has(each));
      };
    },
    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || !isOn() || isTyping(event.target)) return false;
      const key = nameOf(event);
      const keys = first !== null && now() - first.at_ms < SECOND_KEY_MS ? [first.key, key] : [key];
      first = null;
      const found = find(all, keys) ?? find(all, [key]);
      if (found !== undefined) {
        found.act();
        return true;
      }
      if (all.some((each) => each.keys.length > 1 && each.keys[0] === key)) first = { key, at_ms: now() };
      return false;
    },
  };
}

function find(all: readonly Shortcut[], keys: readonly string[]): Shortcut | undefined {
  return all.findLast(({ keys: bound }) => bound.join(" ") === keys.join(" "));
}

/** Returns `Shift+n` for a letter with Shift; characters such as `?` stand for themselves. */
function nameOf({ key, shiftKey }: Pick<KeyPress, "key" | "shiftKey">): string {
  const isLetter = key.length === 1 && key.toLowerCase() !== key.toUpperCase();
  if (!isLetter) return key;
  return shiftKey ? `Shift+${key.toLowerCase()}` : key.toLowerCase();
}

const TYPING = "input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";

function isTyping(target: EventTarget | null): boolean {
  // The target may be the document, which has no `closest`.
  const { closest } = (target ?? {}) as { readonly closest?: (selector: string) => unknown };
  return closest !== undefined && closest.call(target, `${TYPING}, [role=menu], dialog`) !== null;
}
