import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";

import type { App } from "../../state/app.ts";
import { BEGINNING, isSameRange, rangeName, resolveRange } from "../../parts/query/range.ts";
import type { Moments, WrittenRange } from "../../parts/query/range.ts";
import { stepOfRange } from "../../parts/query/steps.ts";
import { utcMidnight } from "../../../query/calendar.ts";
import { momentFromLocal, offsetAt } from "../../../query/zone.ts";
import "../../css/forms.css";
import "../../css/range.css";
import type { Search } from "../../state/search.ts";
import { dayOfMoment, plusDays } from "./calendar.ts";
import type { CalendarDay } from "./calendar.ts";
import { MonthCalendar } from "./month-calendar.tsx";
import { readEnd, writeEnd } from "./ends.ts";
import { lengthText } from "../../parts/time/lengths.ts";
import { formatsOfZone } from "../../parts/time/moments.ts";
import { PresetList } from "./preset-list.tsx";
import { ZoneField } from "./zone-field.tsx";
import { findZone, zoneAround } from "../../parts/time/zones.ts";

/** Number of recent custom ranges offered. */
const MOST_RECENT = 3;
const FORMS = "Write 14:00, 24 Nov 14:00, 2026-11-24 14:00, now - 3h or today.";

/** Chooses a range by name, by its ends or by calendar days, and its time zone. */
export function RangePicker({ app, search, onClose }: { app: App; search: Search; onClose: () => void }): JSX.Element {
  const zone = useSignal(search.zone.peek());
  const zoneName = useComputed(() => findZone(zone.value));
  const formats = useComputed(() => formatsOfZone(zoneName.value ?? search.zone.value));
  const from = useSignal(writeEnd(search.range.peek().from, formats.peek()));
  const to = useSignal(writeEnd(search.range.peek().to, formats.peek()));
  const isTried = useSignal(false);
  const form = useRef<HTMLDivElement>(null);
  const [now] = useState(Date.now);
  const clock = zoneName.value ?? search.zone.value;
  const ends = { from: readEnd(from.value, clock, now), to: readEnd(to.value, clock, now) };
  const moments =
    ends.from === null || ends.to === null ? null : momentsInOrder({ from: ends.from, to: ends.to }, clock, now);

  const apply = (range: WrittenRange) => {
    if (zoneName.value !== null && zoneName.value !== search.zone.peek()) search.chosenZone.value = zoneName.value;
    search.range.value = range;
    onClose();
    search.start();
  };
  const applyEnds = (event: Event) => {
    event.preventDefault();
    isTried.value = true;
    if (ends.from === null || ends.to === null || moments === null || zoneName.value === null) {
      form.current
        ?.querySelector<HTMLElement>(
          ends.from === null
            ? "#range-from"
            : ends.to === null
              ? "#range-to"
              : zoneName.value === null
                ? "#range-zone"
                : "#range-to",
        )
        ?.focus();
      return;
    }
    const range = { from: ends.from, to: ends.to };
    const others = recentOf(app).filter((each) => !isSameRange(each, range));
    app.preferences.change({ ranges: [range, ...others].slice(0, MOST_RECENT) });
    apply(range);
  };
  const chooseDays = (first: CalendarDay, last: CalendarDay) => {
    from.value = writeEnd(String(midnight(first, clock)), formats.peek());
    to.value = writeEnd(String(midnight(plusDays(last, 1), clock)), formats.peek());
  };
  return (
    <>
      <PresetList
        present={search.range.value}
        recent={recentOf(app)}
        nameOf={(range) => rangeName(range, resolveRange(range, clock, now), formats.value)}
        onChoose={apply}
      />
      {/* Not a form of its own: submitting it must not run the surrounding query. */}
      <div
        ref={form}
        class="form"
        role="group"
        aria-label="Own range"
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.target instanceof HTMLInputElement && !event.defaultPrevented)
            applyEnds(event);
        }}
      >
        <EndField
          id="range-from"
          label="From"
          text={from.value}
          onInput={(text) => (from.value = text)}
          end={momentOrNull(ends.from, clock, now)}
          spoken={formats.value.spoken}
          isTried={isTried.value}
        />
        <EndField
          id="range-to"
          label="To"
          text={to.value}
          onInput={(text) => (to.value = text)}
          end={momentOrNull(ends.to, clock, now)}
          spoken={formats.value.spoken}
          isTried={isTried.value}
        />
        <ZoneField value={zone.value} isKnown={zoneName.value !== null} onInput={(text) => (zone.value = text)} />
        <button class="btn solid" type="button" onClick={applyEnds}>
          Apply
        </button>
      </div>
      <div class="when">
        <MonthCalendar chosen={daysOf(moments, clock)} today={dayAt(now, clock)} onChoose={chooseDays} />
        <p class="note" role="status">
          {moments === null ? reasonOf(ends) : rangeText(moments)}
        </p>
      </div>
    </>
  );
}

function EndField(properties: {
  readonly id: string;
  readonly label: string;
  readonly text: string;
  readonly onInput: (text: string) => void;
  /** null if the text is invalid. */
  readonly end: number | null;
  readonly spoken: (moment: number) => string;
  readonly isTried: boolean;
}): JSX.Element {
  const { id, label, text, onInput, end, spoken, isTried } = properties;
  const isWrong = end === null && isTried;
  return (
    <div>
      <label for={id}>{label}</label>
      <input
        class="in mono"
        id={id}
        value={text}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isWrong}
        aria-describedby={`${id}-read`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <p class={isWrong ? "err" : "help"} id={`${id}-read`}>
        {end === null ? FORMS : spoken(end)}
      </p>
    </div>
  );
}

/** Returns the range; null unless the end is after the start. */
function momentsInOrder({ from, to }: WrittenRange, zone: string, now_ms: number): Moments | null {
  const [start, end] = [momentOrNull(from, zone, now_ms), momentOrNull(to, zone, now_ms)];
  return start === null || end === null || start >= end ? null : { from: start, to: end };
}

function momentOrNull(end: string | null, zone: string, now_ms: number): number | null {
  return end === null ? null : resolveRange({ from: "0", to: end }, zone, now_ms).to;
}

/** Explains why there is no range. */
function reasonOf({ from, to }: { readonly from: string | null; readonly to: string | null }): string {
  return from === null || to === null ? "" : "The end must be later than the start.";
}

function rangeText(moments: Moments): string {
  // The length of all events is unknown until they are requested.
  const { from, to } = moments;
  return from === BEGINNING ? "From the first event on" : `${lengthText(to - from)}, in ${stepOfRange(moments).name}`;
}

/** Returns the stored recent ranges; stored data may be invalid. */
function recentOf({ preferences }: App): readonly WrittenRange[] {
  const { ranges } = preferences.now.value;
  const isRange = (each: unknown): each is WrittenRange =>
    typeof each === "object" &&
    each !== null &&
    "from" in each &&
    "to" in each &&
    typeof each.from === "string" &&
    typeof each.to === "string";
  return Array.isArray(ranges) ? ranges.filter(isRange).slice(0, MOST_RECENT) : [];
}

function dayAt(moment: number, zone: string): CalendarDay {
  return dayOfMoment(moment + offsetAt(zoneAround(zone, moment), moment));
}

/** Returns the first and last day that a range touches. */
function daysOf(
  moments: Moments | null,
  zone: string,
): { readonly first: CalendarDay; readonly last: CalendarDay } | null {
  return moments === null ? null : { first: dayAt(moments.from, zone), last: dayAt(moments.to - 1, zone) };
}

function midnight({ year, month, day }: CalendarDay, zone: string): number {
  const local = utcMidnight(year, month, day);
  return momentFromLocal(zoneAround(zone, local), local);
}
