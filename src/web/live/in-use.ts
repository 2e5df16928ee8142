/** Whether bars or fields are under the pointer or the keyboard's focus, or nobody sees the page. */
export function isCountInUse(page: Document): boolean {
  return page.hidden || page.querySelector(":is(.hist, .side):is(:hover, :has(:focus-visible))") !== null;
}
