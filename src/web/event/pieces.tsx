import type { JSX } from "preact";

import { matchesIn } from "../list/highlight.ts";
import { piecesOf } from "../list/visible-text.ts";

type PiecesProperties = {
  readonly text: string;
  readonly needles?: readonly string[] | undefined;
  readonly keepLines?: boolean;
};

/** A name or value that others chose, beside our words: neither changes the direction of the other. */
export function Name({ text }: { readonly text: string }): JSX.Element {
  return (
    <bdi>
      <Pieces text={text} />
    </bdi>
  );
}

/** A text with what the query looks for marked, and characters that are not seen by name. */
export function Pieces({ text, needles, keepLines = false }: PiecesProperties): JSX.Element {
  return (
    <>
      {piecesOf(text, matchesIn(text, needles), { keepLines }).map((piece) => {
        if (piece.kind === "plain") return piece.text;
        return piece.kind === "match" ? <mark>{piece.text}</mark> : <span class="control">{piece.text}</span>;
      })}
    </>
  );
}
