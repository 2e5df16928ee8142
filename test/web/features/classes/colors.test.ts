import fc from "fast-check";
import test from "ava";

import { fitColor, SURFACES } from "../../../../src/web/features/classes/colors.ts";
import { contrast, fromHex } from "../../../../src/web/features/classes/oklch.ts";

const channel = fc.double({ min: 0, max: 1, noNaN: true });

for (const [role, least] of [
  ["label", 4.5],
  ["mark", 3],
] as const) {
  for (const scheme of ["light", "dark"] as const) {
    test(`any colour, as a ${role} in ${scheme}, is readable on every surface`, (t) => {
      fc.assert(
        fc.property(channel, channel, channel, (red, green, blue) => {
          const fitted = fromHex(fitColor([red, green, blue], role, scheme));
          return SURFACES[scheme].every((surface) => contrast(fitted, fromHex(surface)) >= least);
        }),
      );
      t.pass();
    });
  }
}

test("the contrast of black and white is 21 to 1", (t) => {
  t.is(Math.round(contrast([0, 0, 0], [1, 1, 1]) * 100) / 100, 21);
});
