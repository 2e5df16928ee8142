import test from "ava";
import * as fc from "fast-check";

import { didYouMean, nearest } from "../../src/query/fault.ts";
import { planQuery } from "../../src/query/planner.ts";
import { UTC } from "../../src/query/zone.ts";
import { assertFaults, faultOf } from "./faults.ts";
import type { MarkedFault } from "./faults.ts";

const FAULTS: readonly MarkedFault[] = [
  ["[]", "expected GET, found the end of the query."],
  ["[SELECT] * FROM events", 'expected GET, found "SELECT".'],
  ["[GTE] events", 'expected GET, found "GTE". Did you mean GET?'],
  ["GET [evnets]", 'expected events or users, found "evnets". Did you mean events?'],
  ["GET [5]", 'expected events or users, found "5".'],
  [
    "GET events [TKAE] 5",
    'expected WHERE, TAKE, SKIP, SORT, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "TKAE". Did you mean TAKE?',
  ],
  [
    "GET events TAKE 5 [ORDER] BY id",
    'expected WHERE, SKIP, SORT, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "ORDER".',
  ],
  [
    "GET events WHERE user = 'a' [ADN] user = 'b'",
    'expected AND, OR, TAKE, SKIP, SORT, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "ADN". Did you mean AND?',
  ],
  ["GET events TAKE 5 [TAKE] 6", "TAKE occurs a second time. Each clause may occur only once."],
  ["GET events OCCURS(NOW) [created] OCCURS(NOW)", "OCCURS occurs a second time. Each clause may occur only once."],
  ["GET events TAKE [501]", 'expected a whole number from 1 to 500, found "501".'],
  ["GET events TAKE [0]", 'expected a whole number from 1 to 500, found "0".'],
  ["GET events TAKE [2.5]", 'expected a whole number from 1 to 500, found "2.5".'],
  ["GET events TAKE [-]5", 'expected a whole number from 1 to 500, found "-".'],
  ["GET events TAKE[]", "expected a whole number from 1 to 500, found the end of the query."],
  ["GET events SKIP [1000000001]", 'expected a whole number from 0 to 1,000,000,000, found "1000000001".'],
  [
    "GET events TAKE [5x]",
    'expected a number or a date, found "5x". Put strings in quotes, and separate words by a space.',
  ],
  ["GET events.[ ]TAKE 5", 'expected the key of a class right after the dot, found "TAKE".'],
  [
    "GET events[.a_b]",
    '"a_b" is not a valid class key. Keys consist of at most 63 letters a to z, digits and hyphens.',
  ],
  ["GET users[.error]", "users have no class: only events have classes. Write GET users, or GET events.error."],
  ["GET users GROUPBY [email]", "users cannot be grouped. Only events can."],
  [
    "GET users WHERE [text] = 'x'",
    'users have no field "text". The fields of users are user, email, page, created, seen and count.',
  ],
  ["GET users SORT [sen]", 'users have no field "sen". Did you mean seen?'],
  ["GET events WHERE [sorce] = 'x'", 'events have no field "sorce". Did you mean source?'],
  [
    "GET events WHERE [zzz] = 'x'",
    'events have no field "zzz". The fields of events are id, created, text, link, hash, tags, source, log, class, data, geo, value, user, filter, bookmarks, alerts, pattern and level. Attributes are written with an @: @zzz.',
  ],
  ["GET events WHERE [TAKE] 5", 'expected a field, NOT or "(", found "TAKE".'],
  ["GET events WHERE[]", 'expected a field, NOT or "(", found the end of the query.'],
  [
    "GET events WHERE source [CONTAIN] 'x'",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found "CONTAIN". Did you mean CONTAINS?',
  ],
  ["GET events WHERE source NOT [=] 'x'", 'expected CONTAINS, MATCHES or IN, found "=".'],
  [
    "GET events WHERE source = [web]",
    "expected a string, a number or a date, found \"web\". Put strings in quotes: 'web'.",
  ],
  ["GET events WHERE source =[=] 'web'", 'expected a string, a number or a date, found "=". Equality is a single =.'],
  ["GET events WHERE source = [5]", "source holds text, expected a string. Put strings in quotes: '5'."],
  [
    "GET events WHERE source = [9/19/2011]",
    "source holds text, expected a string. Put strings in quotes: '9/19/2011'.",
  ],
  ["GET events WHERE source CONTAINS [web]", "expected a string, found \"web\". Put strings in quotes: 'web'."],
  ["GET events WHERE source CONTAINS ['']", "CONTAINS needs at least one character."],
  ["GET events WHERE value = ['x']", "value holds a number, expected a number such as 4.5."],
  [
    "GET events WHERE value = ['4.5']",
    "value holds a number, expected a number such as 4.5. Write numbers without quotes: 4.5.",
  ],
  ["GET events WHERE value IN (1, [TODAY])", "value holds a number, expected a number such as 4.5."],
  ["GET events WHERE value = [1e999]", "the number is too large."],
  ["GET events WHERE [value] CONTAINS '4'", "CONTAINS needs a field that holds text, and value holds a number."],
  ["GET events WHERE [created] MATCHES '4'", "MATCHES needs a field that holds text, and created holds a date."],
  ["GET events WHERE [data] = 'x'", "data cannot be compared. Search it: data CONTAINS '…' or data MATCHES '…'."],
  ["GET events WHERE [data] IN ('x')", "data cannot be compared. Search it: data CONTAINS '…' or data MATCHES '…'."],
  ["GET events WHERE data CONTAINS ['']", "CONTAINS needs at least one character."],
  ["GET events WHERE [geo] CONTAINS '1'", "geo cannot be compared. Test whether it is present: geo IS NOT NULL."],
  ["GET events WHERE [geo] = '1,2'", "geo cannot be compared. Test whether it is present: geo IS NOT NULL."],
  [
    "GET events WHERE [bookmarks] IS NULL",
    "bookmarks cannot be used in a condition. The list of bookmarks has its own URL.",
  ],
  ["GET events WHERE source IS [NUL]", 'expected NULL or NOT NULL, found "NUL". Did you mean NULL?'],
  ["GET events WHERE source IN [']a'", "expected \"(\", found 'a'."],
  ["GET events WHERE source IN ('a' ['b'])", 'expected "," or ")", found \'b\'.'],
  ["GET events WHERE (source = 'a'[]", 'expected AND, OR or ")", found the end of the query.'],
  ["GET events WHERE source = ['a]", "expected a ' to close this string, found the end of the query."],
  ["GET events WHERE source = [“]a”", 'unexpected character "“". Put strings in straight quotes.'],
  ["GET events WHERE a = 1 [&]& b = 2", 'unexpected character "&". Conditions are joined by AND.'],
  ["GET events[;]", 'unexpected character ";". A query does not end with a semicolon.'],
  ["GET events [\u{1f600}]", 'unexpected character "\u{1f600}".'],
  ["GET events WHERE text MATCHES 'it''s a[(]b'", "invalid RE2 expression: missing closing )."],
  [
    "GET events WHERE created = ['yesterday']",
    "created holds a date, and this is not one: write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes.",
  ],
  ["GET events OCCURS([2/29/2011])", "this is not a date: the month 2/2011 has 28 days."],
  ["GET events OCCURS([19/9/2011])", "this is not a date: there is no month 19."],
  ["GET events OCCURS([9/19/11])", "this is not a date: write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes."],
  ["GET events OCCURS(['2011-09-19T24:00'])", "this is not a date: times go from 00:00:00 to 23:59:59."],
  ["GET events OCCURS([TODYA])", 'expected TODAY, NOW or a date, found "TODYA". Did you mean TODAY?'],
  [
    "GET events OCCURS(TODAY - [DAY](1))",
    'expected MINUTES, HOURS, DAYS, WEEKS or MONTHS, found "DAY". Did you mean DAYS?',
  ],
  ["GET events OCCURS(TODAY - DAYS([-]1))", 'expected a whole number from 0 to 1,000,000,000, found "-".'],
  ["GET events OCCURS(TODAY [DAYS](1))", 'expected ",", "+", "-" or ")", found "DAYS".'],
  ["GET events OCCURS(TODAY, NOW[,] NOW)", 'expected "+", "-" or ")", found ",".'],
  ["GET events OCCURS([NOW - MONTHS(1000000000)])", "this is outside the supported range of dates."],
  ["GET events [value] OCCURS(TODAY)", "OCCURS needs a field that holds a date, and value holds none. Use created."],
  [
    "GET users [page] OCCURS(TODAY)",
    "OCCURS needs a field that holds a date, and page holds none. Use created or seen.",
  ],
  [
    "GET events SORT [tags]",
    "cannot sort by tags. Use id, created, text, link, pattern, source, log, class, level, user, value or @name.",
  ],
  [
    "GET events SORT [count]",
    "COUNT is a column of groups, and this query has none. Add GROUPBY, or use a field of an event.",
  ],
  ["GET events SORT [crated]", 'events have no field "crated" to sort by. Did you mean created?'],
  ["GET events SORT[]", "expected the field to sort by, found the end of the query."],
  [
    "GET events SORT created [DECS]",
    'expected ASC, DESC, WHERE, TAKE, SKIP, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "DECS". Did you mean DESC?',
  ],
  [
    "GET events SORT created DESC [DECS]",
    'expected WHERE, TAKE, SKIP, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "DECS".',
  ],
  ["GET events WHERE created > [TODAI]", 'expected a string, a number or a date, found "TODAI". Did you mean TODAY?'],
  ["GET events WHERE created > [NWO]", 'expected a string, a number or a date, found "NWO". Did you mean NOW?'],
  ["GET users WHERE seen > [NWO]", 'expected a string, a number or a date, found "NWO". Did you mean NOW?'],
  [
    "GET events WHERE created IN ([TODYA])",
    'expected a string, a number or a date, found "TODYA". Did you mean TODAY?',
  ],
  [
    "GET events WHERE source = [NWO]",
    "expected a string, a number or a date, found \"NWO\". Put strings in quotes: 'NWO'.",
  ],
  ["GET events created [OCURS](TODAY)", 'expected OCCURS, found "OCURS". Did you mean OCCURS?'],
  [
    "GET events WHERE user = 'a' [source] = 'b'",
    'expected AND, OR, TAKE, SKIP, SORT, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "source".',
  ],
  ["GET events WHERE [NTO] source = 'a'", 'expected a field, NOT or "(", found "NTO". Did you mean NOT?'],
  ["GET events WHERE [NTO] (source = 'a')", 'expected a field, NOT or "(", found "NTO". Did you mean NOT?'],
  ["GET events WHERE source IS [NOTT] NULL", 'expected NULL or NOT NULL, found "NOTT". Did you mean NOT?'],
  [
    "GET events COLUMNS(text, [count])",
    "COUNT is a column of groups, and this query has none. Add GROUPBY, or use a field of an event.",
  ],
  ["GET events COLUMNS(text, [txet])", 'events have no field "txet". Did you mean text?'],
  ["GET events COLUMNS([)]", 'expected the name of a column, found ")".'],
  [
    "GET events GROUPBY source COLUMNS(KEY, [source])",
    "source is a field of single events, and a grouped query has KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95. The column KEY holds the keys of the groups.",
  ],
  [
    "GET events GROUPBY source SORT [cuont]",
    'expected KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95, found "cuont". Did you mean COUNT?',
  ],
  ["GET events GROUPBY [created]", "cannot group by created itself. Group it by DAY or by HOUR."],
  [
    "GET events GROUPBY [id]",
    "cannot group by id. Use DAY, HOUR, WEEK, MONTH, SECONDS(n), MINUTES(n), HOURS(n), DAYS(n), BANDS(number, bound, …), geo, level, text, link, hash, pattern, tags, source, log, class, user, value or @name.",
  ],
  ["GET events WHERE [@] = 1", "expected an attribute name after @. Write @http.status, or @'odd name' in quotes."],
  ["GET events WHERE [@'']= 1", "this attribute has no name."],
  ["GET events WHERE @['a] = 1", "expected a ' to close this string, found the end of the query."],
  [
    "GET events WHERE @at > [TODAY]",
    "@at holds texts or numbers, expected a string or a number. Attributes cannot hold dates: write a text, such as '2011-09-19', or a number.",
  ],
  [
    "GET users WHERE [@a] = 1",
    "users have no attributes. The fields of users are user, email, page, created, seen and count.",
  ],
  [
    "GET users COLUMNS([@a])",
    "users have no attributes. The fields of users are user, email, page, created, seen and count.",
  ],
  ["GET users SORT [AVG](count)", "users cannot be grouped. Only events can."],
  ["GET users [FILL]", "users cannot be grouped. Only events can."],
  ["GET events WHERE geo WITHIN (1, 2, [91], 4)", "expected degrees from -90 to 90, found 91."],
  [
    "GET events WHERE geo WITHIN ([2], 0, 1, 4)",
    "the southern edge lies north of the northern one. Write WITHIN (south, west, north, east).",
  ],
  ["GET events WHERE geo NEAR (1, 2[)]", 'expected ",", found ")".'],
  ["GET events WHERE [text] NEAR (1, 2, 3)", "NEAR needs a place, and text holds none. Use geo."],
  [
    "GET events WHERE geo [WITIN] (1, 2, 3, 4)",
    'expected NOT, WITHIN, NEAR or IS, found "WITIN". Did you mean WITHIN?',
  ],
  ["GET events GROUPBY MINUTES([7])", "7 does not divide an hour. Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60."],
  ["GET events GROUPBY SECONDS([45])", "45 does not divide a minute. Use 1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30 or 60."],
  ["GET events GROUPBY HOURS([25])", 'expected a whole number from 1 to 24, found "25".'],
  [
    "GET events GROUPBY [MINUTE](5)",
    'expected a field, SECONDS, MINUTES, HOURS, DAYS or BANDS, found "MINUTE". Did you mean MINUTES?',
  ],
  [
    "GET events GROUPBY [WEEKS](2)",
    'expected a field, SECONDS, MINUTES, HOURS, DAYS or BANDS, found "WEEKS". Write WEEK.',
  ],
  ["GET events COLUMNS(COUNT([*]))", "COUNT counts events without an argument. Write COUNT, or COUNT(condition)."],
  ["GET events COLUMNS(COUNT([)])", "COUNT counts events without an argument. Write COUNT, or COUNT(condition)."],
  [
    "GET events WHERE @a != [null]",
    'expected a string, a number or a date, found "null". Write IS NULL or IS NOT NULL.',
  ],
  ["GET events GROUPBY BANDS(value, 10, [10])", "the bounds of BANDS must ascend. Write BANDS(value, 0, 10, 100)."],
  [
    "GET events GROUPBY BANDS([source], 1)",
    "BANDS needs a number, and source holds none. Use value, or an attribute such as @duration.",
  ],
  ["GET events GROUPBY DAY, source, @a[,] user", "groups have at most 3 keys."],
  ["GET events GROUPBY source, [source]", "the query already groups by this key."],
  [
    "GET events COLUMNS(AVG([created]))",
    "AVG needs a number, and created holds none. Use value, or an attribute such as @duration.",
  ],
  ["GET events COLUMNS([AVRG](value))", 'there is no aggregate "AVRG". Did you mean AVG?'],
  ["GET events GROUPBY DAY COLUMNS([DISTINCT])", "DISTINCT needs an argument. Write DISTINCT(source)."],
  [
    "GET events GROUPBY DAY COLUMNS(COUNT, [@a])",
    "@a is a field of single events, and a grouped query has KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95. The column KEY holds the keys of the groups.",
  ],
  ["GET events COLUMNS(AVG(@a), [AVG(@A)])", "another column is named avg(@a). Give it another name with AS."],
  ["GET events COLUMNS(AVG(@a) AS [previous])", "previous is a reserved name. Give it another name with AS."],
  ["GET events COLUMNS(text AS [t])", "fields cannot be renamed. AS can only name the aggregates of groups."],
  [
    "GET events GROUPBY source HAVING COUNT > ['3']",
    "expected a number, found '3'. HAVING compares aggregates; texts are compared in WHERE.",
  ],
  [
    "GET events GROUPBY source HAVING [KEY] > 3",
    "HAVING compares aggregates, and KEY is not one. Exclude groups with WHERE.",
  ],
  [
    "GET events GROUPBY source HAVING COUNT > [NOW - HOURS(1)]",
    "HAVING compares this aggregate with a number. FIRST(created) and LAST(created) are compared with moments.",
  ],
  [
    "GET events GROUPBY source HAVING LAST(created) < ['yesterday']",
    "this is not a date: write 9/19/2011, 2011-09-19, or '2011-09-19T14:00' in quotes.",
  ],
  ["GET events GROUPBY source HAVING [LAST(user)] > 3", "HAVING compares numbers, and LAST gives a text."],
  [
    "GET events GROUPBY source [HAVIN] COUNT > 3",
    'expected WHERE, TAKE, SKIP, SORT, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found "HAVIN". Did you mean HAVING?',
  ],
  [
    "GET events GROUPBY source [FILL]",
    "FILL needs one key of time, and there is none. Group by DAY, HOUR, MINUTES(n) or the like.",
  ],
  [
    "GET events GROUPBY source COLUMNS(KEY, [RATE(MINUTES(1))])",
    "RATE needs a length of time. Add OCCURS, or group by DAY, HOUR or the like.",
  ],
  [
    "GET events GROUPBY DAY COLUMNS([RATE](MONTHS(1)))",
    "a month has no fixed length. Write RATE(MINUTES(1)), RATE(HOURS(1)), RATE(DAYS(1)) or RATE(WEEKS(1)).",
  ],
  [
    "GET events GROUPBY WEEK [COMPARE(MONTHS(1))]",
    "these periods cannot be aligned with months. Use WEEKS(n) or DAYS(n).",
  ],
  ["GET events COMPARE(DAYS([0]))", 'expected a whole number from 1 to 1,000,000,000, found "0".'],
  ["GET events COLUMNS(AVG AS [count], COUNT)", "another column is named count. Give it another name with AS."],
  ["GET events GROUPBY source COLUMNS(KEY, COUNT AS [key])", "key is a reserved name. Give it another name with AS."],
  [
    "GET events WHERE http[.]status = 500",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found ".". Attributes are written with an @: @http.status.',
  ],
  [
    "GET events GROUPBY k8s[.]pod-name",
    'expected WHERE, TAKE, SKIP, SORT, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found ".". Attributes are written with an @: @k8s.pod-name.',
  ],
  [
    "GET events SORT [took]",
    'events have no field "took" to sort by. Use id, created, text, link, pattern, source, log, class, level, user, value or @name. Attributes are written with an @: @took.',
  ],
  ["GET events GROUPBY [seconds]", "SECONDS needs a count. Write SECONDS(15)."],
  ["GET events GROUPBY geo, [geo]", "the query already groups by this key."],
  ["GET events GROUPBY [minutes]", "MINUTES needs a count. Write MINUTES(15)."],
  ["GET events GROUPBY [BANDS]", "BANDS needs a number and bounds. Write BANDS(value, 0, 10, 100)."],
  ["GET events GROUPBY [MINUTE]", 'events have no field "MINUTE" to group by. Did you mean MINUTES?'],
  ["GET events COLUMNS([RATE])", "RATE needs an argument. Write RATE(MINUTES(1))."],
  ["GET events COLUMNS(DISTINCT([usr]))", 'events have no field "usr" to count the values of. Did you mean user?'],
  [
    "GET events COLUMNS(FIRST([geo]))",
    "cannot show the first geo. Use id, created, text, link, hash, pattern, tags, source, log, class, user, value or @name.",
  ],
  [
    "GET events COLUMNS(COUNT, [CUONT])",
    'expected KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95, found "CUONT". Did you mean COUNT?',
  ],
  [
    "GET events COLUMNS([CUONT], COUNT)",
    'expected KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95, found "CUONT". Did you mean COUNT?',
  ],
  [
    "GET events COLUMNS(P50, [P0])",
    'expected KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95, found "P0". Percentiles lie between P0 and P100, such as P50, P95 or P99.9.',
  ],
  [
    "GET events COLUMNS(COUNT AS n, [n])",
    'expected KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95, found "n". It is the name of another column, which may be listed only once.',
  ],
  [
    "GET events COLUMNS(COUNT, [source])",
    "source is a field of single events, and a grouped query has KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95. Add GROUPBY source, and show KEY.",
  ],
  [
    "GET events COLUMNS(KEY, [created])",
    "created is a field of single events, and a grouped query has KEY, COUNT, AVG, SUM, MIN, MAX, MEDIAN, DISTINCT, FIRST, LAST, RATE or a percentile such as P95. Leave it out, or leave out the aggregates.",
  ],
  [
    "GET events GROUPBY [KEY]",
    "cannot group by KEY. Use DAY, HOUR, WEEK, MONTH, SECONDS(n), MINUTES(n), HOURS(n), DAYS(n), BANDS(number, bound, …), geo, level, text, link, hash, pattern, tags, source, log, class, user, value or @name.",
  ],
  ["GET events COLUMNS(P95([took]))", "P95 needs a number, and took holds none. Use value, or the attribute @took."],
  [
    "GET events GROUPBY source HAVING COUNT [IN] (1, 2)",
    'expected =, !=, <>, <, <=, >, >= or IS, found "IN". Compare with each: COUNT = 1 OR COUNT = 2.',
  ],
  ["GET events GROUPBY [DYA]", 'events have no field "DYA" to group by. Did you mean DAY?'],
];

test("a query with too many columns is refused", (t) => {
  const query = (count: number) => `GET events COLUMNS(${Array.from({ length: count }, (_, i) => `@a${i}`).join(",")})`;
  const context = { logs: [], now_ms: 0, zone: UTC };
  t.notThrows(() => planQuery(query(100), context));
  t.throws(() => planQuery(query(101), context), { message: /column 510: a query has at most 100 columns/ });
});

test("a fault has its position, what was expected and found, and a suggestion", (t) => {
  assertFaults(t, FAULTS);
});

test("lines count from one, columns count characters, and the caret stays aligned with tabs", (t) => {
  t.is(
    faultOf("GET events\r\n// 😀\n\tWHERE '😀' = 1"),
    `Line 3, column 8: expected a field, NOT or "(", found '😀'.\n WHERE '😀' = 1\n       ^`,
  );
  t.is(
    faultOf("GET events WHERE user = '😀' x"),
    "Line 1, column 29: expected AND, OR, TAKE, SKIP, SORT, GROUPBY, OCCURS, COLUMNS, HAVING, COMPARE or FILL, found \"x\".\nGET events WHERE user = '😀' x\n                            ^",
  );
});

test("a long line is shown around the caret", (t) => {
  const long = `GET events WHERE user = '${"a".repeat(300)}' x`;
  const [, line, caret] = faultOf(long).split("\n");
  t.is(line, `…${"a".repeat(47)}' x`);
  t.is(caret, `${" ".repeat(50)}^`);
  const [, begin] = faultOf(`x ${"b".repeat(300)}`).split("\n");
  t.is(begin, `x ${"b".repeat(98)}…`);
});

test("long input is shortened in the message", (t) => {
  t.regex(faultOf(`GET ${"x".repeat(1000)}`), /found "x{40}…"\./);
});

test("a suggestion differs by a typing error, and is never the word itself", (t) => {
  t.is(didYouMean("tkae", ["TAKE"]), "Did you mean TAKE?");
  t.is(didYouMean("sourrce", ["source", "user"]), "Did you mean source?");
  t.is(didYouMean("TAKE", ["TAKE"]), null);
  t.is(didYouMean("order", ["SORT"]), null);
  t.is(didYouMean("x", ["id"]), null);
  t.is(didYouMean("", ["id"]), null);
});

/** Counts edits as {@link nearest} does, in plain code. */
function editsBetween(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (_, j) => i || j));
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = table[i - 1]![j - 1]! + Number(a[i - 1] !== b[j - 1]);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? table[i - 2]![j - 2]! + 1 : Infinity;
      table[i]![j] = Math.min(replaced, swapped, table[i - 1]![j]! + 1, table[i]![j - 1]! + 1);
    }
  }
  return table[a.length]![b.length]!;
}

test("the nearest name is the first with the fewest edits, for any names", (t) => {
  const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
  const names = fc.array(word, { maxLength: 4 });
  fc.assert(
    fc.property(word, names, fc.constantFrom(1, 2), (written, candidates, edits) => {
      const near = candidates.filter((candidate) => {
        const distance = editsBetween(written, candidate);
        return distance <= edits && (distance === 0 || distance < Math.max(written.length, candidate.length));
      });
      const fewest = Math.min(...near.map((candidate) => editsBetween(written, candidate)));
      return (
        nearest(written, candidates, edits) === (near.find((one) => editsBetween(written, one) === fewest) ?? null)
      );
    }),
    { numRuns: 2_000 },
  );
  t.pass();
});
