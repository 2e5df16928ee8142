import test from "ava";

import { assertFaults } from "./faults.ts";
import type { MarkedFault } from "./faults.ts";

const FAULTS: readonly MarkedFault[] = [
  [
    "GET events WHERE text [LIKE] '%disk%'",
    `expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found "LIKE". Write CONTAINS 'part', or MATCHES 'expression'.`,
  ],
  [
    "GET events WHERE text NOT [LIKE] '%disk%'",
    `expected CONTAINS, MATCHES or IN, found "LIKE". Write CONTAINS 'part', or MATCHES 'expression'.`,
  ],
  ["GET events WHERE text =[~] 'a'", `unexpected character "~". Write MATCHES 'expression'.`],
  [
    "GET events WHERE @took [BETWEEN] 5 AND 10.5",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found "BETWEEN". Write @took >= 5 AND @took <= 10.5.',
  ],
  [
    "GET events WHERE value NOT [BETWEEN] 5 AND 10",
    'expected CONTAINS, MATCHES or IN, found "BETWEEN". Write NOT (value >= 5 AND value <= 10).',
  ],
  [
    "GET events COLUMNS(COUNT(DISTINCT [user]))",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found "user". Write DISTINCT(user).',
  ],
  [
    "GET events COLUMNS(COUNT(DISTINCT[(]@ip)))",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found "(". Write DISTINCT(@ip).',
  ],
  [
    "GET events COLUMNS(COUNT(@took[)])",
    'expected =, !=, <>, <, <=, >, >=, NOT, CONTAINS, MATCHES, IN or IS, found ")". Write COUNT(@took IS NOT NULL).',
  ],
  [
    "GET events OCCURS([YESTERDAY])",
    'expected TODAY, NOW or a date, found "YESTERDAY". Write OCCURS(TODAY - DAYS(1), TODAY).',
  ],
  [
    "GET events WHERE created > [yesterday]",
    'expected a string, a number or a date, found "yesterday". Write TODAY - DAYS(1).',
  ],
  ["GET events OCCURS(NOW - [1h])", 'expected a number or a date, found "1h". Write HOURS(1).'],
  [
    "GET events OCCURS(NOW - [30] minutes)",
    'expected MINUTES, HOURS, DAYS, WEEKS or MONTHS, found "30". Write MINUTES(30).',
  ],
  [
    "GET events WHERE created > NOW-[15s]",
    'expected a number or a date, found "15s". Write a step such as MINUTES(5), HOURS(1) or DAYS(1).',
  ],
  [
    "GET events OCCURS([ago](1h))",
    'expected TODAY, NOW or a date, found "ago". Write a moment with a step, such as NOW - HOURS(1).',
  ],
  [
    "GET events WHERE value > -[5x]",
    'expected a number or a date, found "5x". Put strings in quotes, and separate words by a space.',
  ],
];

test("keywords of other languages are answered with their LQL equivalent", (t) => {
  assertFaults(t, FAULTS);
});
