import { USUAL } from "../../ingest/kit/choice.ts";
import { readContainerLine } from "./container-lines.ts";
import type { WriteEvents } from "./events.ts";
import { CRI_FORMAT, eventInFormat, LINE_FORMATS, LOGFMT_FORMAT } from "./formats.ts";

/** Lines that are compared with the formats. */
const SAMPLE_LINES = 5;
/** Of which a format must match all but one: the next lines of a record have none. */
const MOST_OTHERS = 1;
/** Longer lines show no more. */
const LONGEST_UNITS = 10_000;

/**
 * Suggests, once, the format of lines that are posted as they are: their own time and fields would
 * be lost.
 *
 * @param words files that were named; of two formats with the same lines, their names tell which
 */
export class FormatHint {
  readonly #names: readonly string[];
  readonly #note: (text: string) => void;
  readonly #counts = new Map<string, number>();
  #lines = 0;

  constructor(words: readonly string[], note: (text: string) => void) {
    const names = [CRI_FORMAT, ...LINE_FORMATS.keys(), LOGFMT_FORMAT];
    const isApache = words.some((word) => /apache|httpd/i.test(word));
    this.#names = isApache ? ["apache", ...names.filter((name) => name !== "apache")] : names;
    this.#note = note;
  }

  /** Returns a writer whose first lines are compared with the formats. */
  watch(write: WriteEvents): WriteEvents {
    return (line, metadata) => {
      if (this.#lines < SAMPLE_LINES) this.#add(line);
      return write(line, metadata);
    };
  }

  #add(line: string): void {
    this.#lines += 1;
    const text = line.slice(0, LONGEST_UNITS);
    for (const name of this.#names) {
      if (isLineOf(name, text)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    }
    if (this.#lines === SAMPLE_LINES) this.#decide();
  }

  /** Decides by the lines that there were. */
  end(): void {
    if (this.#lines < SAMPLE_LINES) this.#decide();
  }

  #decide(): void {
    const least = Math.max(1, this.#lines - MOST_OTHERS);
    const name = this.#names.find((one) => (this.#counts.get(one) ?? 0) >= least);
    if (name === undefined) return;
    this.#note(`loggia: lines are posted as they are; --format ${name} fits them and reads their time and fields`);
  }
}

function isLineOf(name: string, line: string): boolean {
  if (name === CRI_FORMAT) return !line.startsWith("{") && readContainerLine(line, CRI_FORMAT) !== null;
  if (name !== LOGFMT_FORMAT) return LINE_FORMATS.get(name)?.forms.some((form) => form.test(line)) === true;
  return line.split("=").length > LOGFMT_PAIRS && eventInFormat(name, line, USUAL) !== null;
}

/** Fewer pairs may be in any text. */
const LOGFMT_PAIRS = 3;
