/**
 * Probes of the page's benchmark. The file is injected into every page before the page's own
 * scripts; it is a script, and no module imports it.
 */

const frame = (): Promise<number> => new Promise((resolve) => requestAnimationFrame(resolve));
const list = (): HTMLElement => document.querySelector<HTMLElement>("#list")!;
/** Returns the number of the last row drawn; at the end of the list, the number of rows loaded. */
const lastRow = (): number => {
  const rows = [...document.querySelectorAll("#list .slot > [aria-rowindex]")];
  // The header is the first row.
  return Math.max(0, ...rows.map((row) => Number(row.getAttribute("aria-rowindex")) - 1));
};

/** Positions, selections and focus of a row of the list, observed in each frame. */
type Watch = {
  readonly tops: Set<string>;
  readonly selections: Set<string>;
  readonly focus: Set<string>;
  isOn: boolean;
};

const watches = new Map<string, Watch>();

let firstRow_ms = 0;

const probes = {
  /** Returns the time from the page's request to the frame with the first row, in milliseconds. */
  async firstRow(): Promise<number> {
    for (let frames = 0; document.querySelector("#list .slot") === null; frames++) {
      if (frames > 1_800) throw new Error("no row was rendered");
      await frame();
    }
    return (firstRow_ms = performance.now());
  },

  /** Returns the addresses of scripts and styles requested by the time of the first row. */
  assets: (): string[] =>
    performance
      .getEntriesByType("resource")
      .filter(({ startTime }) => startTime <= firstRow_ms)
      .map(({ name }) => name)
      .filter((name) => /\/assets\/[^?]+\.(?:js|css)$/.test(name)),

  /** Returns the page's cumulative layout shift since it was opened. */
  shift: (): Promise<number> =>
    new Promise((resolve) => {
      const sum = (list: PerformanceObserverEntryList): number =>
        list.getEntries().reduce((all, entry) => all + (entry as PerformanceEntry & { value: number }).value, 0);
      new PerformanceObserver((list) => resolve(sum(list))).observe({ type: "layout-shift", buffered: true });
      // Without a shift, the observer is never called.
      setTimeout(() => resolve(0), 1_000);
    }),

  /** Scrolls to the end of the list until `count` rows are loaded. */
  async load(count: number): Promise<number> {
    for (let idle = 0; lastRow() < count && idle < 600; idle++) {
      const before = lastRow();
      list().scrollTop = list().scrollHeight;
      await frame();
      if (lastRow() !== before) idle = 0;
    }
    return lastRow();
  },

  /** Scrolls up by `step` pixels per frame. @returns the lengths of the frames in milliseconds */
  async scroll(frames: number, step: number, selector = "#list"): Promise<number[]> {
    const scroller = document.querySelector<HTMLElement>(selector)!;
    scroller.scrollTop = scroller.scrollHeight;
    await frame();
    const lengths: number[] = [];
    for (let before = await frame(); lengths.length < frames;) {
      scroller.scrollTop = scroller.scrollTop <= 0 ? scroller.scrollHeight : scroller.scrollTop - step;
      const now = await frame();
      lengths.push(now - before);
      before = now;
    }
    return lengths;
  },

  /** Returns the texts of all rows, read by scrolling from the first to the last. */
  async texts(): Promise<string[]> {
    const found = new Map<number, string>();
    list().scrollTop = 0;
    for (let idle = 0; idle < 600;) {
      await frame();
      await frame();
      for (const row of document.querySelectorAll("#list .slot > [aria-rowindex]")) {
        const text = row.querySelector(".x")?.textContent;
        if (text) found.set(Number(row.getAttribute("aria-rowindex")), text);
      }
      const before = list().scrollTop;
      list().scrollTop += list().clientHeight / 2;
      if (list().scrollTop !== before) idle = 0;
      // Rows that a tail no longer holds in memory are read again by pages.
      else if (list().getAttribute("aria-rowcount") === "-1") idle += 1;
      else break;
    }
    return [...found.values()];
  },

  /** Returns the number of row elements. */
  rowElements: (): number => document.querySelectorAll("#list .slot").length,

  /**
   * Returns the time from the end of the response with the last rows to the frame that shows them,
   * in milliseconds.
   */
  async untilDrawn(count: number): Promise<number> {
    for (let frames = 0; lastRow() < count; frames++) {
      if (frames > 1_800) throw new Error(`${lastRow()} of ${count} rows were rendered`);
      list().scrollTop = list().scrollHeight;
      await frame();
    }
    list().scrollTop = list().scrollHeight;
    await frame();
    const shown_ms = performance.now();
    const answers = performance.getEntriesByType("resource").filter(({ name }) => name.includes("/query?"));
    const last = answers.reduce((latest, { startTime, duration }) => Math.max(latest, startTime + duration), 0);
    return shown_ms - last;
  },

  /**
   * Replaces the query by a text.
   * @returns the time until its error is underlined, in milliseconds
   */
  async untilUnderlined(text: string): Promise<number> {
    const field = document.querySelector<HTMLTextAreaElement>("textarea.lql")!;
    field.focus();
    field.setSelectionRange(0, field.value.length);
    document.execCommand("insertText", false, text);
    const start_ms = performance.now();
    while (document.querySelector(".shade u") === null) await frame();
    return performance.now() - start_ms;
  },

  watch(id: string): void {
    const seen: Watch = { tops: new Set(), selections: new Set(), focus: new Set(), isOn: true };
    watches.set(id, seen);
    const look = (): void => {
      const row = document.querySelector(`#list [data-id="${id}"]`);
      seen.tops.add(row === null ? "gone" : String(Math.round(row.getBoundingClientRect().top)));
      seen.selections.add(String(getSelection()));
      seen.focus.add(document.activeElement?.closest<HTMLElement>("[data-id]")?.dataset["id"] ?? "elsewhere");
      if (seen.isOn) requestAnimationFrame(look);
    };
    look();
  },

  watched(id: string): Record<"tops" | "selections" | "focus", string[]> {
    const { tops, selections, focus } = watches.get(id)!;
    watches.get(id)!.isOn = false;
    return { tops: [...tops], selections: [...selections], focus: [...focus] };
  },
};

Object.assign(globalThis, { probes });
