import test from "ava";

import { printable, table } from "../../src/cli/terminal.ts";

test("no control sequence reaches the terminal", (t) => {
  t.is(
    printable("\u001b[31mred\u0007 \u009b2J \u202eback\u2028"),
    "\\u001b[31mred\\u0007 \\u009b2J \\u202eback\\u2028",
  );
  t.is(printable("two\nlines\tand tabs"), "two lines and tabs");
  t.is(printable("größe 😀"), "größe 😀");
});

test("columns are as wide as necessary", (t) => {
  t.is(
    table(
      ["KEY", "N"],
      [
        ["errors", "1"],
        ["x", "22"],
      ],
    ),
    "KEY     N\nerrors  1\nx       22",
  );
});
