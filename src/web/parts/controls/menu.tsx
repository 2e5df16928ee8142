import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Anchored } from "./anchored.tsx";
import type { Floating } from "./anchored.tsx";
import { useDismissal } from "./dismissal.ts";

export type MenuItem = {
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
  readonly act: () => void;
  /** For a choice among several: whether it is chosen. */
  readonly checked?: boolean;
};

/** Groups of items, separated by lines. */
export type MenuItems = readonly (readonly MenuItem[])[];

/**
 * A button that opens a menu, following the ARIA menu button pattern: arrows, Home, End and first
 * letters move, Enter and Space act, Escape closes and returns the focus.
 */
export function MenuButton(properties: {
  readonly class: string;
  readonly label?: string;
  readonly children: ComponentChildren;
  readonly items: MenuItems;
  readonly menuClass?: string;
  /** Called each time the menu opens. Items that arrive later are appended. */
  readonly onOpen?: () => void;
}): JSX.Element {
  const { class: name, label, children, items, menuClass = "", onOpen } = properties;
  const renderMenu = ({ id, close, button }: Floating) => (
    <Menu id={id} class={menuClass} items={items} onOpen={onOpen} onClose={close} button={button} />
  );
  return (
    <Anchored class={name} label={label} opens="menu" renderFloating={renderMenu}>
      {children}
    </Anchored>
  );
}

/** An open menu. It takes the focus; a press on `button` does not count as outside. */
export function Menu(properties: {
  readonly id?: string;
  readonly class?: string;
  readonly label?: string;
  readonly items: MenuItems;
  readonly onOpen?: (() => void) | undefined;
  readonly onClose: (returnsFocus?: boolean) => void;
  readonly button?: { readonly current: HTMLElement | null };
}): JSX.Element {
  const root = useRef<HTMLDivElement>(null);
  useDismissal(root, properties.onClose, properties.button);
  const elements = () => [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  const length = properties.items.flat().length;
  useEffect(() => {
    const menu = root.current;
    if (menu !== null && menu.getBoundingClientRect().bottom > innerHeight) menu.classList.add("above");
  }, [length]);
  useEffect(() => {
    properties.onOpen?.();
    const all = elements();
    (all.find((each) => each.ariaChecked === "true") ?? all[0])?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextItem(event.key, elements());
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  };
  return (
    <div
      ref={root}
      id={properties.id}
      class={`pop ${properties.class ?? ""}`}
      role="menu"
      aria-label={properties.label}
      onKeyDown={onKeyDown}
    >
      {properties.items.map((group, index) => (
        <>
          {index > 0 && <hr />}
          {group.map((item) => (
            <button
              type="button"
              role={item.checked === undefined ? "menuitem" : "menuitemradio"}
              aria-checked={item.checked}
              tabIndex={-1}
              onClick={() => {
                properties.onClose();
                item.act();
              }}
            >
              {item.label}
              {item.hint !== undefined && <span class="hint">{item.hint}</span>}
            </button>
          ))}
        </>
      ))}
    </div>
  );
}

/** Returns the item that a key leads to; undefined for other keys. */
function nextItem(key: string, items: readonly HTMLElement[]): HTMLElement | undefined {
  const at = items.indexOf(document.activeElement as HTMLElement);
  if (key === "ArrowDown") return items[(at + 1) % items.length];
  if (key === "ArrowUp") return items[(at - 1 + items.length) % items.length];
  if (key === "Home") return items[0];
  if (key === "End") return items.at(-1);
  if (key.length !== 1 || key === " ") return undefined;
  const beginning = key.toLowerCase();
  const turned = [...items.slice(at + 1), ...items.slice(0, at + 1)];
  return turned.find((item) => item.textContent.trim().toLowerCase().startsWith(beginning));
}
