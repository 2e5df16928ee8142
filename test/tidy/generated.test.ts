import test from "ava";

import { generate, GENERATED } from "../../infra/generate/files.ts";
import { MARKDOWN, replaceSection } from "../../infra/generate/section.ts";

for (const file of GENERATED) {
  test(`${file.name} is what its sources say`, async (t) => {
    const { current, expected } = await generate(file);
    t.is(current, expected, "run make generate");
  });
}

test("a file without the markers of its section is refused", (t) => {
  t.throws(() => replaceSection("# A page\n", "| a |", MARKDOWN), { message: /no section from <!-- generated/ });
});
