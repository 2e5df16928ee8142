import test from "ava";

import { listedFor } from "../../../../src/web/features/keys/listed.ts";
import { KEYS } from "../../../../src/web/parts/keys/table.ts";

const titlesOf = (screen: Parameters<typeof listedFor>[0], isHere: boolean) =>
  listedFor(screen).flatMap((place) => (place.isHere === isHere ? place.title : []));

test("the shortcuts of the present screen are listed first, then those of the others", (t) => {
  t.deepEqual(titlesOf("inbox", true), ["Inbox", "In a list of events", "Everywhere"]);
  t.deepEqual(titlesOf("inbox", false), ["Search", "Around an event", "Bookmarks", "In the query"]);
  t.deepEqual(titlesOf("settings", true), ["Everywhere"]);
  t.is(listedFor("search")[0]?.title, "Search");
});

test("every screen lists every shortcut that is bound anywhere", (t) => {
  const bound = Object.values(KEYS).flatMap((keys) =>
    Object.values<readonly string[]>(keys).map((each) => each.join(" ")),
  );
  for (const screen of ["search", "context", "inbox", "bookmarks", "classes", "settings"] as const) {
    const listed = new Set(listedFor(screen).flatMap(({ lines }) => lines.map(({ keys }) => keys.join(" "))));
    t.deepEqual(
      bound.filter((keys) => !listed.has(keys)),
      [],
    );
  }
});

test("no key is bound twice on one screen", (t) => {
  for (const screen of ["search", "context", "inbox"] as const) {
    const places = listedFor(screen).filter(({ isHere, title }) => isHere && title !== "In the query");
    const keys = places.flatMap(({ lines }) => lines.map((line) => line.keys.join(" ")));
    t.deepEqual(keys.toSorted(), [...new Set(keys)].toSorted());
  }
});
