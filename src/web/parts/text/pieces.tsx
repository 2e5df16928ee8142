import type { JSX } from "preact";

import { matchesIn } from "./highlight.ts";
import { visiblePieces } from "./visible-text.ts";

type PiecesProperties = {
  readonly text: string;
  readonly needles?: readonly string[] | undefined;
  readonly keepLines?: boolean;
};

/** A name or value from outside, isolated so that its direction and that of our text do not mix. */
export function NameText({ text }: { readonly text: string }): JSX.Element {
  return (
    <bdi>
      <TextPieces text={text} />
    </bdi>
  );
}

/** A text with matches marked and invisible characters named. */
export function TextPieces({ text, needles, keepLines = false }: PiecesProperties): JSX.Element {
  return (
    <>
      {visiblePieces(text, matchesIn(text, needles), { keepLines }).map((piece) => {
        if (piece.kind === "plain") return piece.text;
        return piece.kind === "match" ? <mark>{piece.text}</mark> : <span class="control">{piece.text}</span>;
      })}
    </>
  );
}
