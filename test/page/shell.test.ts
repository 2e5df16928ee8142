import test from "ava";

import { ADMIN, LOG } from "../support/service.ts";
import { assertAccessible } from "./support/accessibility.ts";
import { sharePages } from "./support/pages.ts";

const pages = sharePages();

test("a wrong password is said beside the field, and the right one opens the page", async (t) => {
  const { page } = await pages.open(t, { signedIn: false });
  await page.getByLabel("E-mail").fill(ADMIN.email);
  await page.getByLabel("Password").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("E-mail and password do not match.").waitFor();
  t.is(await page.getByLabel("E-mail").inputValue(), ADMIN.email);
  await assertAccessible(t, page, "a wrong password");
  await page.getByLabel("Password").fill(ADMIN.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Search" }).waitFor();
  t.is(new URL(page.url()).hash, `#/${LOG}`);
});
