import test from "ava";

import { generatedFiles } from "../../infra/generate/files.ts";
import { replaceSection } from "../../infra/generate/section.ts";

for (const { path, current, expected } of generatedFiles()) {
  test(`${path.split("/").slice(-2).join("/")} is what its source says`, (t) => {
    t.is(current, expected, "run make generate");
  });
}

test("a page without the markers of its section is refused", (t) => {
  t.throws(() => replaceSection("# A page\n", "| a |"), { message: /has no <!-- generated/ });
});
