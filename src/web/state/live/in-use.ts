/** Reports whether bars or fields are in use by pointer or keyboard, or the page is hidden. */
export function isCountInUse(page: Document): boolean {
  return page.hidden || page.querySelector(":is(.hist, .side):is(:hover, :has(:focus-visible))") !== null;
}
