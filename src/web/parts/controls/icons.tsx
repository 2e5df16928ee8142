import type { ComponentChildren, JSX } from "preact";

/** The icons of the page, 16 by 16. They are decorative: the surrounding element has the name. */
const SHAPES = {
  down: () => <path d="M4 6l4 4 4-4" />,
  right: () => <path d="M6 4l4 4-4 4" />,
  sortDown: () => <path d="M8 3v9.5M4.5 9L8 12.5 11.5 9" />,
  sortUp: () => <path d="M8 13V3.5M4.5 7L8 3.5 11.5 7" />,
  menu: () => <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  more: () => <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.2" />,
  plus: () => <path d="M8 3v10M3 8h10" />,
  close: () => <path d="M4 4l8 8M12 4l-8 8" />,
  enter: () => <path d="M12.5 4v3.5a1.5 1.5 0 0 1-1.5 1.5H4M6.5 6.5L4 9l2.5 2.5" />,
  clock: () => [<circle cx="8" cy="8" r="5.5" />, <path d="M8 5v3l2 1.5" />],
  info: () => [<circle cx="8" cy="8" r="5.5" />, <path d="M8 7.5v3M8 5.3v.2" />],
  warning: () => [<path d="M8 2.5l6 10.5H2z" />, <path d="M8 6.5v3M8 11.3v.2" />],
  play: () => <path d="M5 3.5l7 4.5-7 4.5z" />,
  pause: () => <path d="M5.5 3.5v9M10.5 3.5v9" />,
  filter: () => <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  link: () => (
    <path d="M7 9.5a3 3 0 0 0 4.2 0l2-2A3 3 0 0 0 9 3.3l-.8.8M9 6.5a3 3 0 0 0-4.2 0l-2 2A3 3 0 0 0 7 12.7l.8-.8" />
  ),
  bookmark: () => <path d="M4.5 2.5h7v11L8 10.5l-3.5 3z" />,
  find: () => [<circle cx="7" cy="7" r="4" />, <path d="M10 10l3.5 3.5" />],
  tick: () => <path d="M3.5 8.5l3 3 6-7" />,
  star: () => <path d="M8 2.8l1.6 3.3 3.6.5-2.6 2.5.6 3.6L8 11l-3.2 1.7.6-3.6L2.8 6.6l3.6-.5z" />,
  download: () => <path d="M8 2.5v7M5 7l3 3 3-3M3 13h10" />,
  context: () => <path d="M3 4h10M3 12h10M5.5 8h5" />,
  copy: () => [<rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />, <path d="M10.5 3H4a1.5 1.5 0 0 0-1.5 1.5v6" />],
  addClass: () => [<rect x="3" y="3" width="10" height="10" rx="2" />, <path d="M8 6v4M6 8h4" />],
} as const satisfies Readonly<Record<string, () => ComponentChildren>>;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, class: more = "" }: { name: IconName; class?: string }): JSX.Element {
  return (
    <svg class={more === "" ? "i" : `i ${more}`} viewBox="0 0 16 16" aria-hidden="true">
      {SHAPES[name]()}
    </svg>
  );
}

/** The mark of Loggia: two arches. */
export function Arches({ class: name }: { class?: string }): JSX.Element {
  return (
    <svg class={name} viewBox="0 0 20 20" aria-hidden="true">
      <path d="M2 3.5h16M2 17h16M4 17v-6.5a3 3 0 0 1 6 0V17M10 10.5a3 3 0 0 1 6 0V17" />
    </svg>
  );
}
