import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Icon } from "../../parts/controls/icons.tsx";
import { isSameDay, isoDay, plusDays, plusMonths, weeksOfMonth } from "./calendar.ts";
import type { CalendarDay } from "./calendar.ts";

const MONTHS = "January February March April May June July August September October November December".split(" ");
const WEEKDAYS = [
  ["Mo", "Monday"],
  ["Tu", "Tuesday"],
  ["We", "Wednesday"],
  ["Th", "Thursday"],
  ["Fr", "Friday"],
  ["Sa", "Saturday"],
  ["Su", "Sunday"],
] as const;

type Days = { readonly first: CalendarDay; readonly last: CalendarDay };

/** A month of days. One press chooses a day, a second later one all days from one to the other. */
export function MonthCalendar({
  chosen,
  today,
  onChoose,
}: {
  chosen: Days | null;
  today: CalendarDay;
  onChoose: (first: CalendarDay, last: CalendarDay) => void;
}): JSX.Element {
  const at = useSignal(chosen?.last ?? today);
  /** The day of the first of two presses. */
  const begun = useSignal<CalendarDay | null>(null);
  const table = useRef<HTMLTableElement>(null);
  const movesFocus = useRef(false);
  useEffect(() => {
    if (movesFocus.current) table.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    movesFocus.current = false;
  }, [at.value]);
  const press = (day: CalendarDay) => {
    const first = begun.value;
    const isSecond = first !== null && isoDay(first) < isoDay(day);
    onChoose(isSecond ? first : day, day);
    begun.value = isSecond ? null : day;
    at.value = day;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const day = moved(event.key, at.value);
    if (day === null) return;
    event.preventDefault();
    movesFocus.current = true;
    at.value = day;
  };
  const { year, month } = at.value;
  return (
    <>
      <div class="months">
        <button
          class="quiet icon"
          type="button"
          aria-label="Month before"
          onClick={() => (at.value = plusMonths(at.value, -1))}
        >
          <Icon name="right" class="back" />
        </button>
        <button
          class="quiet icon"
          type="button"
          aria-label="Next month"
          onClick={() => (at.value = plusMonths(at.value, 1))}
        >
          <Icon name="right" />
        </button>
      </div>
      <table class="cal" ref={table} onKeyDown={onKeyDown}>
        <caption aria-live="polite">
          {MONTHS[month - 1]} {year}
        </caption>
        <thead>
          <tr>
            {WEEKDAYS.map(([short, long]) => (
              <th scope="col" key={short} abbr={long}>
                {short}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksOfMonth(at.value).map((week) => (
            <tr key={isoDay(week[0]!)}>
              {week.map((day) => (
                <td key={isoDay(day)}>
                  <button
                    type="button"
                    class={day.month === month ? undefined : "beside"}
                    tabIndex={isSameDay(day, at.value) ? 0 : -1}
                    aria-label={`${day.day} ${MONTHS[day.month - 1]} ${day.year}`}
                    aria-pressed={isWithin(day, chosen)}
                    aria-current={isSameDay(day, today) ? "date" : undefined}
                    onClick={() => press(day)}
                  >
                    {day.day}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function isWithin(day: CalendarDay, days: Days | null): boolean {
  return days !== null && isoDay(days.first) <= isoDay(day) && isoDay(day) <= isoDay(days.last);
}

/** Returns the day that a key moves to; null for other keys. */
function moved(key: string, day: CalendarDay): CalendarDay | null {
  switch (key) {
    case "ArrowLeft":
      return plusDays(day, -1);
    case "ArrowRight":
      return plusDays(day, 1);
    case "ArrowUp":
      return plusDays(day, -7);
    case "ArrowDown":
      return plusDays(day, 7);
    case "PageUp":
      return plusMonths(day, -1);
    case "PageDown":
      return plusMonths(day, 1);
    default:
      return null;
  }
}
