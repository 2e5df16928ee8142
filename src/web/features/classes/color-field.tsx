import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";

import { colorDeclarations } from "./colors.ts";
import { SWATCHES } from "./draft.ts";
import { createColorParser } from "./parse-color.ts";

/** Stands for the edited class: elements with this key get its colour. No key begins with `~`. */
export const EDITED_CLASS = "~edited";

/** Edits a class's colour, any in CSS. The proof shows how the page adapts it to light and dark. */
export function ColorField(properties: {
  readonly name: string;
  readonly color: string;
  readonly onInput: (color: string) => void;
}): JSX.Element {
  const { name, color, onInput } = properties;
  const isColor = CSS.supports("color", color);
  useProof(color);
  const choose = (index: number) => onInput(SWATCHES[(index + SWATCHES.length) % SWATCHES.length] ?? SWATCHES[0]);
  const at = SWATCHES.findIndex((swatch) => swatch === color.toLowerCase());
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(at + step);
    const buttons = (event.currentTarget as HTMLElement).querySelectorAll("button");
    buttons[(at + step + SWATCHES.length) % SWATCHES.length]?.focus();
  };
  return (
    <div data-class={EDITED_CLASS}>
      <label for="class-color">Colour</label>
      <div class="color">
        <span class="sw" />
        <input
          class="in mono"
          id="class-color"
          value={color}
          required
          maxLength={40}
          aria-invalid={!isColor}
          aria-describedby="class-color-help"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </div>
      <div class="swatches" role="radiogroup" aria-label="Suggested colours" onKeyDown={onKeyDown}>
        {SWATCHES.map((swatch, index) => (
          <button
            type="button"
            role="radio"
            aria-checked={index === at}
            aria-label={swatch}
            data-class={`~${swatch}`}
            tabIndex={index === Math.max(0, at) ? 0 : -1}
            onClick={() => choose(index)}
          >
            <span />
          </button>
        ))}
      </div>
      <div class="proof" aria-hidden="true">
        <div class="as-light">
          <b>{name === "" ? "This class" : name}</b> in light
        </div>
        <div class="as-dark">
          <b>{name === "" ? "This class" : name}</b> in dark
        </div>
      </div>
      <p class="help" id="class-color-help">
        {isColor
          ? "Any CSS colour. The page darkens or lightens it until it can be read."
          : "This is no CSS colour; orange, #ffa500 and rgb(255 165 0) are."}
      </p>
    </div>
  );
}

/** Paints the edited class and the swatches, by a style sheet of its own. */
function useProof(color: string): void {
  const sheet = useMemo(() => new CSSStyleSheet(), []);
  const parse = useMemo(createColorParser, []);
  useEffect(() => {
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    return () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    };
  }, []);
  useEffect(() => {
    while (sheet.cssRules.length > 0) sheet.deleteRule(0);
    for (const [name, value] of [[EDITED_CLASS, color], ...SWATCHES.map((swatch) => [`~${swatch}`, swatch])] as const) {
      const parsed = parse(value ?? "");
      if (parsed !== null)
        sheet.insertRule(`@media (forced-colors: none) { [data-class="${name}"] { ${colorDeclarations(parsed)} } }`);
    }
  }, [color]);
}
