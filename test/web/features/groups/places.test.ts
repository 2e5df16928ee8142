import test from "ava";
import * as fc from "fast-check";

import type { GroupRow } from "../../../../src/web/parts/groups/model.ts";
import {
  MOST_CIRCLES,
  circleAt,
  placeCircles,
  placeDots,
  placesOfRows,
  mapProjection,
} from "../../../../src/web/features/groups/places.ts";
import { sortRows } from "../../../../src/web/features/groups/sort-rows.ts";

const SIZE = { width: 1000, height: 340 };

function rowsOf(counts: Readonly<Record<string, number>>): GroupRow[] {
  return Object.entries(counts).map(([key, count]) => ({
    keys: [key],
    values: { count: String(count) },
    series: [],
    previous: null,
  }));
}

function draw(counts: Readonly<Record<string, number>>, size = SIZE) {
  const places = placesOfRows(rowsOf(counts), "count");
  const projection = mapProjection(places, size);
  return { places, projection, circles: placeCircles(places, projection, size) };
}

test("places are the groups with coordinates, the largest first, each with its row", (t) => {
  const places = placesOfRows(rowsOf({ "": 9, "52.52,13.405": 2, "-17.7,179.9": 5 }), "count");
  t.deepEqual(places, [
    { lat: -17.7, lon: 179.9, value: 5, row: 2 },
    { lat: 52.52, lon: 13.405, value: 2, row: 1 },
  ]);
});

const counts = fc.dictionary(
  fc
    .tuple(fc.double({ min: -90, max: 90, noNaN: true }), fc.double({ min: -180, max: 180, noNaN: true }))
    .map(([lat, lon]) => `${lat},${lon}`),
  fc.integer({ min: 0, max: 1e6 }),
  { minKeys: 1, maxKeys: 30 },
);
const sizes = fc.record({ width: fc.integer({ min: 300, max: 1600 }), height: fc.integer({ min: 180, max: 340 }) });

test("all circles are on the map, wherever their places are, on maps of any size", (t) => {
  fc.assert(
    fc.property(counts, sizes, (some, size) => {
      const { circles } = draw(some, size);
      t.is(circles.length, Object.keys(some).length);
      for (const { x, y } of circles) {
        t.true(x >= 0 && x <= size.width, `x ${x}`);
        t.true(y >= 0 && y <= size.height, `y ${y}`);
      }
    }),
  );
});

test("a few nearby places fill the map, also across 180 degrees", (t) => {
  for (const some of [
    { "52.52,13.405": 1, "48.8,2.3": 1, "40.4,-3.7": 1 },
    { "-18.1,178.4": 1, "-13.8,-171.8": 1, "-36.8,174.8": 1 },
    { "-70,-20": 1, "-75,40": 1, "-85,10": 1 },
  ]) {
    const ys = draw(some).circles.map(({ y }) => y);
    t.true(Math.max(...ys) - Math.min(...ys) > SIZE.height / 3, JSON.stringify(some));
  }
  // West is on the left, also if the places span 180 degrees.
  const [fiji, samoa] = draw({ "-18.1,178.4": 2, "-13.8,-171.8": 1 }).circles;
  t.true(fiji!.x < samoa!.x);
});

test("distant places are on a map of the world, and a single one has its surroundings", (t) => {
  const { projection } = draw({ "40.7,-74": 1, "35.7,139.7": 1 });
  for (const corner of [
    [-170, 60],
    [170, -50],
  ] as const) {
    const [x, y] = projection([...corner])!;
    t.true(x > 0 && x < SIZE.width && y > 0 && y < SIZE.height);
  }
  const { circles, projection: near } = draw({ "52.52,13.405": 7 });
  t.true(Math.abs(circles[0]!.x - 500) < 1 && Math.abs(circles[0]!.y - 170) < 1);
  const [, south] = near([13.405, 49])!;
  t.true(south < SIZE.height);
});

test("areas are proportional to values; many circles are smaller and do not cover the map", (t) => {
  const [large, small] = draw({ "52.52,13.405": 400, "48.8,2.3": 100 }).circles;
  t.true(Math.abs(large!.radius - 2 * small!.radius) < 1e-9);
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`${(i % 120) - 60},${(i % 359) - 180}`, 3]));
  const { circles, places, projection } = draw(many);
  t.is(circles.length, MOST_CIRCLES);
  const covered = circles.reduce((sum, { radius }) => sum + Math.PI * radius ** 2, 0);
  t.true(covered < 0.2 * SIZE.width * SIZE.height, `${covered}`);
  // Places without a circle have a dot.
  const dots = placeDots(places, projection).match(/M/g)?.length ?? 0;
  t.true(dots > 0 && dots <= places.length - MOST_CIRCLES);
});

test("of overlapping circles the smallest is selected, and small ones are easy to hit", (t) => {
  const place = { lat: 0, lon: 0, value: 1, row: 0 };
  const circles = [
    { place, x: 100, y: 100, radius: 30 },
    { place, x: 110, y: 100, radius: 5 },
    { place, x: 200, y: 100, radius: 2.5 },
  ];
  t.is(circleAt(circles, 110, 102), 1);
  t.is(circleAt(circles, 90, 100), 0);
  t.is(circleAt(circles, 206, 104), 2);
  t.is(circleAt(circles, 300, 100), -1);
});

test("a table of places is sorted by their coordinates", (t) => {
  const rows = rowsOf({ "9,20": 1, "": 1, "-17.7,179.9": 1, "52.5,-1": 1, "-17.7,-179.9": 1 });
  const groups = { keys: [{ kind: "place" as const, name: "geo" }], columns: ["count"], rows, times: [] };
  const sorted = (isDescending: boolean) =>
    sortRows(groups, { column: null, key: 0, isDescending }).map(({ keys }) => keys[0]);
  const expected = ["", "-17.7,-179.9", "-17.7,179.9", "9,20", "52.5,-1"];
  t.deepEqual(sorted(false), expected);
  t.deepEqual(sorted(true), expected.toReversed());
  t.deepEqual(sortRows(groups, null), rows);
});
